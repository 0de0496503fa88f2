#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static atomic_bool is_asked;

static void on_interrupt(int number)
{
    (void)number;
    atomic_store(&is_asked, true);
}

void hn_interrupt_begin(bool again_ends)
{
    /* SA_RESTART: a write that is interrupted would lose what it was to write. */
    struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };
    if (again_ends)
        action.sa_flags = (int)(SA_RESTART | SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    atomic_store(&is_asked, false);
    sigaction(SIGINT, &action, NULL);
}

void hn_interrupt_end(void) { signal(SIGINT, SIG_DFL); }

const atomic_bool *hn_interrupt_flag(void) { return &is_asked; }

bool hn_interrupt_is_asked(void) { return atomic_load(&is_asked); }
