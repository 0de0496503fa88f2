/* The first Ctrl-C asks; a second one ends the program as usual. */
#include "cli/progress.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t is_asked_to_stop;

static void on_interrupt(int signal_number)
{
    is_asked_to_stop = 1;
    signal(signal_number, SIG_DFL);
}

void hn_progress_begin(void)
{
    is_asked_to_stop = 0;
    signal(SIGINT, on_interrupt);
}

bool hn_progress_goes_on(void)
{
    return !is_asked_to_stop;
}

bool hn_progress(void *context, double done, const char *what)
{
    enum { WIDTH = 30 };
    (void)context;
    if (!isatty(STDERR_FILENO))
        return !is_asked_to_stop;
    char bar[WIDTH + 1];
    const int full = done < 0 ? 0 : done > 1 ? WIDTH : (int)(done * WIDTH);
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %3.0f%% %-36.36s", bar, done * 100, what);
    fflush(stderr);
    return !is_asked_to_stop;
}

void hn_progress_end(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    signal(SIGINT, SIG_DFL);
}
