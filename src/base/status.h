/* status.h: the only ways to fail. A message names the thing, the expected and the found. */
#ifndef HN_BASE_STATUS_H
#define HN_BASE_STATUS_H

#include "hone/status.h"

#include <stdbool.h>

/* Sets this thread's message and returns `code`: `return hn_fail(...)` is the only way to fail. */
hn_status hn_fail(hn_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts words before the present message: "file.npy: ...", unless it begins with them. Returns `code` unchanged. */
hn_status hn_fail_within(hn_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether a failure tells nothing of what was tried: there was no memory for it, or it was cancelled. Who takes another for
 * an answer passes these on. */
static inline bool hn_is_no_answer(hn_status status)
{
    return status == HN_ERR_MEMORY || status == HN_ERR_CANCELLED;
}

#define HN_TRY(expr)                                                                           \
    do {                                                                                       \
        const hn_status hn_try_status = (expr);                                                \
        if (hn_try_status != HN_OK)                                                            \
            return hn_try_status;                                                              \
    } while (0)

#define HN_REQUIRE(condition, code, ...)                                                       \
    do {                                                                                       \
        if (!(condition))                                                                      \
            return hn_fail(code, __VA_ARGS__);                                                 \
    } while (0)

#endif
