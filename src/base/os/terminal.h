/* terminal.h: what a terminal is beside a stream. */
#ifndef HN_BASE_OS_TERMINAL_H
#define HN_BASE_OS_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum { HN_OS_STDIN = 0, HN_OS_STDOUT = 1 }; /* for hn_os_read and hn_os_write */

bool hn_os_is_terminal(FILE *stream);
int hn_os_terminal_columns(FILE *stream); /* 0: not known, or it is none */

/* From here on standard input gives single keys as they are pressed, unseen, each as terminals encode it. */
bool hn_os_keys_begin(void);
void hn_os_keys_end(void);
void hn_os_keys_put_back(void); /* the same for a handler of signals, at once; before the first begin, nothing */
bool hn_os_keys_wait(int milliseconds); /* whether more has come by then */

#endif
