/* cancel.h: a wish that work ends. A flag, and those that count as well: a call's own, then its engine's. Set by
 * any thread, or by a handler of signals. */
#ifndef HN_BASE_CANCEL_H
#define HN_BASE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct hn_cancel_flag {
    atomic_bool is_set;
    const struct hn_cancel_flag *also; /* NULL: none */
} hn_cancel_flag;

static inline bool hn_is_cancelled(const hn_cancel_flag *flag_or_null)
{
    for (const hn_cancel_flag *f = flag_or_null; f; f = f->also)
        if (atomic_load(&f->is_set))
            return true;
    return false;
}

#endif
