/* The message lives in the thread: workers cannot fail, so the thread that reads it is the
 * thread that failed. */
#include "base/status.h"

#include "base/host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 1024 };

static _Thread_local char message[MESSAGE_BYTES];

/* The words of each name, and its number once more: what the header's list has and this has not, or the other way, or with
 * another number, is not compiled. */
#define STATUSES(X)                                                                                                            \
    X(HN_OK, 0, "ok")                                                                                                          \
    X(HN_ERR_ARGUMENT, 1, "bad argument")                                                                                      \
    X(HN_ERR_SHAPE, 2, "shapes do not fit")                                                                                    \
    X(HN_ERR_IO, 3, "input or output error")                                                                                   \
    X(HN_ERR_FORMAT, 4, "malformed data")                                                                                      \
    X(HN_ERR_MEMORY, 5, "out of memory")                                                                                       \
    X(HN_ERR_UNSUPPORTED, 6, "unsupported")                                                                                    \
    X(HN_ERR_DEVICE, 7, "device error")                                                                                        \
    X(HN_ERR_CANCELLED, 8, "cancelled")                                                                                        \
    X(HN_ERR_BUSY, 9, "busy")                                                                                                  \
    X(HN_ERR_NUMERIC, 10, "not a finite number")                                                                               \
    X(HN_ERR_PROOF, 11, "a check did not hold")

#define CHECK_NUMBER(name, number, text) _Static_assert(name == (number), #name);
STATUSES(CHECK_NUMBER)

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
const char *hn_status_text(hn_status status)
{
    switch (status) {
#define TEXT(name, number, text) \
    case name: return text;
        STATUSES(TEXT)
    }
    return "unknown status";
}
#pragma GCC diagnostic pop

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
    if (n > 0 && n < MESSAGE_BYTES && !strncmp(message, built, (size_t)n)) /* said already, further in */
        return code;
    if (n >= 0 && n < MESSAGE_BYTES)
        snprintf(built + n, sizeof built - (size_t)n, "%s", message);
    memcpy(message, built, sizeof message);
    return code;
}
