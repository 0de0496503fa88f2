/* interrupt.h: Ctrl-C as a wish to stop, which long work looks at. */
#ifndef HN_CLI_INTERRUPT_H
#define HN_CLI_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>

/* Watches from here to the end: Ctrl-C sets the flag. Where `again_ends`, another one before the
 * work has stopped ends the program as usual. */
void hn_interrupt_begin(bool again_ends);
void hn_interrupt_end(void);

/* For hn_run_options.cancel. */
const atomic_bool *hn_interrupt_flag(void);
bool hn_interrupt_is_asked(void);

#endif
