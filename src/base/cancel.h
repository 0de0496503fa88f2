/* cancel.h: a wish that work ends. A flag, and those that count as well: a call's own, then its engine's. Set by
 * any thread, or by a handler of signals. */
#ifndef HN_BASE_CANCEL_H
#define HN_BASE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hn_cancel_flag {
    atomic_bool is_set;
    const struct hn_cancel_flag *also; /* NULL: none */
    _Atomic int64_t *looks; /* for tests: how many find nothing before one finds it set, and one; -1: one did, and all after it;
                             * of 0, and NULL, all are true */
} hn_cancel_flag;

/* As it stays then. */
static inline bool hn_cancel_is_counted_out(_Atomic int64_t *looks)
{
    int64_t left = looks ? atomic_load_explicit(looks, memory_order_relaxed) : 0;
    while (left > 0 && !atomic_compare_exchange_weak(looks, &left, left > 1 ? left - 1 : -1)) {
    }
    return left == 1 || left == -1;
}

static inline bool hn_is_cancelled(const hn_cancel_flag *flag_or_null)
{
    for (const hn_cancel_flag *f = flag_or_null; f; f = f->also)
        if (atomic_load(&f->is_set) || hn_cancel_is_counted_out(f->looks))
            return true;
    return false;
}

#endif
