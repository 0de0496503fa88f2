/* signals.h: what asks a program to end, and what ends it. */
#ifndef HN_BASE_OS_SIGNALS_H
#define HN_BASE_OS_SIGNALS_H

#include <stdbool.h>

/* From here on `on` is called instead of what would happen: with the signal's number, and whether it is a wish
 * (an interrupt from the keyboard, a request, a terminal that is gone) or an end at which nothing can be saved.
 * It may do what handlers of signals may. What the parent ignores stays ignored. */
void hn_os_signals_watch(void (*on)(int number, bool is_wish));
/* Ends the process as the signal would have, had nobody watched. */
void hn_os_signal_end(int number);
bool hn_os_signal_is_interrupt(int number); /* Ctrl-C */
bool hn_os_signal_is_hangup(int number);    /* SIGHUP; there is none on Windows */

/* A file beyond a limit of the process is an error like others. */
void hn_os_signals_spare_large_files(void);

#endif
