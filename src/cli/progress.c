#include "cli/progress.h"

#include "cli/interrupt.h"

#include <stdio.h>
#include <unistd.h>

void hn_progress_begin(void)
{
    hn_interrupt_begin(true);
}

bool hn_progress_goes_on(void)
{
    return !hn_interrupt_is_asked();
}

bool hn_progress(void *context, double done, const char *what)
{
    enum { WIDTH = 30 };
    (void)context;
    if (!isatty(STDERR_FILENO))
        return !hn_interrupt_is_asked();
    char bar[WIDTH + 1];
    const int full = done < 0 ? 0 : done > 1 ? WIDTH : (int)(done * WIDTH);
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %3.0f%% %-36.36s", bar, done * 100, what);
    fflush(stderr);
    return !hn_interrupt_is_asked();
}

void hn_progress_end(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    hn_interrupt_end();
}
