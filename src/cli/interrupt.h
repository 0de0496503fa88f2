/* interrupt.h: signals that ask the program to end: SIGINT, SIGTERM and SIGHUP. The one place that
 * handles them.
 *
 * While a command watches they are a wish, which long work looks at: it finishes its step, saves and
 * ends. Otherwise they end the program as usual, but what is being written is removed first. What the
 * parent ignores stays ignored (nohup; a shell's background jobs). */
#ifndef HN_CLI_INTERRUPT_H
#define HN_CLI_INTERRUPT_H

#include "base/cancel.h"
#include "hone/engine.h"

/* At the start of the program. */
void hn_interrupt_install(void);

/* Watches from here to the end. Where `again_ends`, another signal before the work has
 * stopped ends the program as usual. */
void hn_interrupt_begin(bool again_ends);
void hn_interrupt_end(void);

/* The same wish without a signal; any thread. Whoever begins to watch later has not heard it. */
void hn_interrupt_ask(void);

/* For hn_run_options.cancel. */
const hn_cancel_flag *hn_interrupt_flag(void);
bool hn_interrupt_is_asked(void);

/* Whose work is cancelled by it too, from here on; NULL: nobody's. It outlives that. */
void hn_interrupt_engine(hn_engine *engine);

/* From here on SIGHUP is no wish for an end but another, which is heard of once. */
void hn_interrupt_hear_hangups(bool hears);
bool hn_interrupt_take_hangup(void);

/* Which it was; 0: none. Not only the work at hand is to end but the program, unless it was SIGINT. */
int hn_interrupt_signal(void);

/* Called before a signal ends the program, and NULL again: puts a terminal back as it was. It may
 * call what handlers of signals may. */
void hn_interrupt_restore_by(void (*restore)(void));

#endif
