/* One entry a thread has the host's state: the outermost. Entries within it change nothing, and while the host is
 * called back there is none, so that what it calls of hone in turn is an outermost one again. */
#include "base/host.h"

#include "base/map_file.h"
#include "base/os/locale.h"

#include <stdio.h>

/* Who has the host's state of this thread: the entry that is not nested; NULL outside, and while the host is called. */
static _Thread_local hn_host *entered;

int hn_text_vprint(char *out, size_t room, const char *format, va_list args)
{
    void *before = hn_os_locale_set_plain();
    const int n = vsnprintf(out, room, format, args);
    hn_os_locale_set(before);
    return n;
}

int hn_text_print(char *out, size_t room, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = hn_text_vprint(out, room, format, args);
    va_end(args);
    return n;
}

void hn_host_enter(hn_host *host)
{
    host->is_nested = entered != NULL;
    if (host->is_nested)
        return;
    host->locale = hn_os_locale_set_plain();
    hn_fp_set(&host->fp);
    host->work = (hn_work){ 0 };
    entered = host;
}

hn_work *hn_host_work(void)
{
    return entered ? &entered->work : NULL;
}

void hn_host_leave(hn_host *host)
{
    if (host->is_nested)
        return;
    if (host->work.has_inputs)
        hn_inputs_forget(&host->work);
    entered = NULL;
    hn_os_locale_set(host->locale);
    hn_fp_restore(&host->fp);
}

void hn_host_call_begin(hn_host_call *call)
{
    call->host = entered;
    if (!call->host)
        return;
    entered = NULL;
    call->locale = hn_os_locale_set(call->host->locale);
    hn_fp_state ours;
    hn_fp_set(&ours); /* saves it; the next line makes the host's of it */
    call->fp = ours;
    hn_fp_restore(&call->host->fp);
}

void hn_host_call_end(hn_host_call *call)
{
    if (!call->host)
        return;
    hn_fp_set(&call->host->fp);
    hn_fp_restore(&call->fp);
    if (call->locale)
        call->host->locale = hn_os_locale_set(call->locale);
    entered = call->host;
}
