/* Two threads: one listens at the input, whose end is the end of the process, the other says again and again that
 * the work is to end, since a command that begins to watch forgets what was said before. */
#include "cli/tied.h"

#include "base/os/child.h"
#include "base/os/signals.h"
#include "base/os/threads.h"
#include "base/out_file.h"
#include "cli/interrupt.h"

#include <stdatomic.h>
#include <string.h>

static hn_os_thread listener, speaker;
static atomic_bool is_asked;

/* Whoever begins to watch forgets what was asked before: it is said until this process has ended. */
static void speak(void *context)
{
    enum { AGAIN_MS = 50 };
    (void)context;
    for (;;) {
        hn_interrupt_ask();
        hn_os_thread_rest(AGAIN_MS);
    }
}

static void listen(void *context)
{
    enum { TERMINATE = 15 }; /* on every system */
    char byte;
    (void)context;
    while (hn_os_input_byte(&byte))
        if (!atomic_exchange(&is_asked, true))
            hn_os_thread_start(&speaker, speak, NULL);
    hn_out_files_remove();
    hn_os_signal_end(TERMINATE);
}

hn_status hn_tied_begin(void)
{
    hn_os_give_way();
    const int error = hn_os_thread_start(&listener, listen, NULL);
    return error ? hn_fail(HN_ERR_MEMORY, "a thread to listen with: %s", strerror(error)) : HN_OK;
}
