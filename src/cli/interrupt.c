#include "cli/interrupt.h"

#include "base/out_file.h"

#include <signal.h>
#include <stddef.h>

static const int wishes[] = { SIGINT, SIGTERM, SIGHUP };
static const int ends[] = { SIGQUIT, SIGPIPE, SIGXCPU }; /* nothing can be saved: only cleaned up */
enum { N_WISHES = sizeof wishes / sizeof *wishes, N_ENDS = sizeof ends / sizeof *ends };

static atomic_bool is_asked, is_watching, again_ends_it;
static atomic_int which;
static void (*_Atomic restore)(void);

static void end_by(int number)
{
    void (*const call)(void) = atomic_load(&restore);
    if (call)
        call();
    hn_out_files_remove();
    struct sigaction usual = { .sa_handler = SIG_DFL };
    sigset_t one;
    sigemptyset(&usual.sa_mask);
    sigaction(number, &usual, NULL);
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
}

static void on_signal(int number)
{
    const bool is_wish = number == SIGINT || number == SIGTERM || number == SIGHUP;
    if (!is_wish || !atomic_load(&is_watching) ||
        (atomic_load(&is_asked) && atomic_load(&again_ends_it)))
        end_by(number);
    atomic_store(&which, number);
    atomic_store(&is_asked, true);
}

static void install(int number)
{
    /* SA_RESTART: a write that is interrupted would lose what it was to write. */
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_IGN)
        return;
    sigaction(number, &action, NULL);
}

void hn_interrupt_install(void)
{
    for (int i = 0; i < N_WISHES; i++)
        install(wishes[i]);
    for (int i = 0; i < N_ENDS; i++)
        install(ends[i]);
}

void hn_interrupt_begin(bool again_ends)
{
    atomic_store(&is_asked, false);
    atomic_store(&again_ends_it, again_ends);
    atomic_store(&is_watching, true);
}

void hn_interrupt_end(void) { atomic_store(&is_watching, false); }

const atomic_bool *hn_interrupt_flag(void) { return &is_asked; }

bool hn_interrupt_is_asked(void) { return atomic_load(&is_asked); }

int hn_interrupt_signal(void) { return atomic_load(&which); }

void hn_interrupt_restore_by(void (*call)(void)) { atomic_store(&restore, call); }
