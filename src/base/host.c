#include "base/host.h"

#include <stdio.h>

static _Thread_local hn_host *innermost;

/* The C locale is made of constants: nothing is allocated, and nothing is to be freed. */
static locale_t plain_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

int hn_text_vprint(char *out, size_t room, const char *format, va_list args)
{
    const locale_t plain = plain_locale();
    const locale_t before = plain ? uselocale(plain) : (locale_t)0;
    const int n = vsnprintf(out, room, format, args);
    if (before)
        uselocale(before);
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
    const locale_t plain = plain_locale();
    host->outer = innermost;
    host->locale = plain ? uselocale(plain) : (locale_t)0;
    hn_fp_set(&host->fp);
    innermost = host;
}

void hn_host_leave(hn_host *host)
{
    innermost = host->outer;
    if (host->locale)
        uselocale(host->locale);
    hn_fp_restore(&host->fp);
}

void hn_host_call_begin(hn_host_call *call)
{
    call->host = innermost;
    if (!call->host)
        return;
    innermost = NULL;
    call->locale = call->host->locale ? uselocale(call->host->locale) : (locale_t)0;
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
        call->host->locale = uselocale(call->locale);
    innermost = call->host;
}
