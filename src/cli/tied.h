/* tied.h: a command that another program started, and that is not to outlive it. */
#ifndef HN_CLI_TIED_H
#define HN_CLI_TIED_H

#include "base/status.h"

/* From here on standard input is looked at: a byte asks the work to end, as a signal does (cli/interrupt.h), and its end ends
 * this process at once, what was being written removed. Other programs go first. Before any other thread is there. */
hn_status hn_tied_begin(void);

#endif
