/* progress.h: a bar on stderr, drawn only on a terminal; Ctrl-C and its like ask the work to stop. */
#ifndef HN_CLI_PROGRESS_H
#define HN_CLI_PROGRESS_H

#include "hone/engine.h"

#include <stdbool.h>

/* Begins watching for what asks to stop (cli/interrupt.h). */
void hn_progress_begin(void);
/* The same, and draws the engine's work. */
void hn_progress_of(hn_engine *engine);
/* Draws; false when the work should stop. `context` is not used. */
bool hn_progress(void *context, double done, const char *what);
/* A line of a bar and figures, the most wanted first, within the terminal as wide as it is now: what
 * has no room is left out. Ends with a line end where there is no terminal. */
void hn_progress_line(double done, int n, char figures[][48]);
/* Clears the bar's line. */
void hn_progress_end(void);

#endif
