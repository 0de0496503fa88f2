/* On a terminal a bar is drawn over itself in one line; elsewhere hn_progress draws nothing, and the lines of
 * hn_progress_line stay. Whether a signal asked for the end is looked at here, as the bar moves. */
#include "cli/progress.h"

#include "base/os/terminal.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>

void hn_progress_begin(void)
{
    hn_interrupt_begin(true);
}

enum { MOST_COLUMNS = 400, LEAST_BAR = 10, MOST_BAR = 30 };

static void fill_bar(char *bar, int width, double done)
{
    const int full = done < 0 ? 0 : done > 1 ? width : (int)(done * width);
    for (int i = 0; i < width; i++)
        bar[i] = i < full ? '#' : '.';
    bar[width] = 0;
}

bool hn_progress(void *context, double done, const char *what)
{
    char bar[MOST_BAR + 1];
    (void)context;
    if (!hn_os_is_terminal(stderr))
        return !hn_interrupt_is_asked();
    const int width = hn_terminal_width(stderr) - 1;
    const int wide = width > 60 ? MOST_BAR : width > 30 ? LEAST_BAR : 1;
    const int room = width - wide - 8 > 0 ? width - wide - 8 : 0;
    fill_bar(bar, wide, done);
    fprintf(stderr, "\r[%s] %3.0f%% %.*s\033[K", bar, done * 100, room, what);
    fflush(stderr);
    return !hn_interrupt_is_asked();
}

static void draw(void *context, double done, const char *what)
{
    hn_progress(context, done, what);
}

void hn_progress_of(hn_engine *engine)
{
    hn_engine_on_work(engine, draw, NULL);
    hn_progress_begin();
}

void hn_progress_line(double done, int n, char figures[][48])
{
    char text[MOST_COLUMNS + 1] = "", bar[MOST_BAR + 1];
    const bool is_terminal = hn_os_is_terminal(stderr);
    int width = is_terminal ? hn_terminal_width(stderr) - 1 : 96;
    width = width < MOST_COLUMNS ? width : MOST_COLUMNS;
    int used = 0;
    for (int i = 0; i < n; i++) {
        const int more = (int)strlen(figures[i]) + (i ? 2 : 0);
        if (used + more > width)
            break;
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", i ? "  " : "", figures[i]);
    }
    const int room = width - used - 3;
    const int wide = room > MOST_BAR ? MOST_BAR : room;
    if (wide >= LEAST_BAR) {
        fill_bar(bar, wide, done);
        fprintf(stderr, "%s[%s] %s%s", is_terminal ? "\r" : "", bar, text, is_terminal ? "\033[K" : "\n");
    } else {
        fprintf(stderr, "%s%s%s", is_terminal ? "\r" : "", text, is_terminal ? "\033[K" : "\n");
    }
    fflush(stderr);
}

void hn_progress_end(void)
{
    if (hn_os_is_terminal(stderr))
        fputs("\r\033[K", stderr);
    hn_interrupt_end();
}
