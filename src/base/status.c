/* The message lives in the thread: workers cannot fail, so the thread that reads it is the
 * thread that failed. */
#include "base/status.h"

#include "base/host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024 };

static _Thread_local char message[MESSAGE_BYTES];

const char *hn_status_text(hn_status status)
{
    static const char *const texts[] = {
#define HN_STATUS_TEXT(name, number, text) [HN_##name] = text,
        HN_STATUS_LIST(HN_STATUS_TEXT)
#undef HN_STATUS_TEXT
    };
    if ((unsigned)status >= sizeof texts / sizeof *texts)
        return "unknown status";
    return texts[status];
}

const char *hn_error_message(void)
{
    return message;
}

hn_status hn_fail(hn_status code, const char *format, ...)
{
    /* Arguments may point into the message itself, so it is built aside. */
    char built[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    hn_text_vprint(built, sizeof built, format, args);
    va_end(args);
    memcpy(message, built, sizeof message);
    return code;
}

hn_status hn_fail_within(hn_status code, const char *format, ...)
{
    char built[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    const int n = hn_text_vprint(built, sizeof built, format, args);
    va_end(args);
    if (n >= 0 && n < MESSAGE_BYTES)
        snprintf(built + n, sizeof built - (size_t)n, "%s", message);
    memcpy(message, built, sizeof message);
    return code;
}
