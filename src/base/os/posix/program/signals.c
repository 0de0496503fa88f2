/* A signal that was ignored when the program began stays so: nohup means it. */
#include "base/os/signals.h"

#include <signal.h>
#include <stddef.h>

static const int wishes[] = { SIGINT, SIGTERM, SIGHUP };
static const int ends[] = { SIGQUIT, SIGPIPE, SIGXCPU };
enum { N_WISHES = sizeof wishes / sizeof *wishes, N_ENDS = sizeof ends / sizeof *ends };

static void (*call)(int number, bool is_wish);

static void on_signal(int number)
{
    call(number, number == SIGINT || number == SIGTERM || number == SIGHUP);
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

void hn_os_signals_watch(void (*on)(int number, bool is_wish))
{
    call = on;
    for (int i = 0; i < N_WISHES; i++)
        install(wishes[i]);
    for (int i = 0; i < N_ENDS; i++)
        install(ends[i]);
}

void hn_os_signal_end(int number)
{
    struct sigaction usual = { .sa_handler = SIG_DFL };
    sigset_t one;
    sigemptyset(&usual.sa_mask);
    sigaction(number, &usual, NULL);
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
}

bool hn_os_signal_is_interrupt(int number) { return number == SIGINT; }

bool hn_os_signal_is_hangup(int number) { return number == SIGHUP; }

void hn_os_signals_spare_large_files(void) { signal(SIGXFSZ, SIG_IGN); }
