/* Equal examples, by the first 64 bits of a SHA-256 of their tokens and masks: sorted, so that
 * equal ones lie together. */
#include "data/preflight.h"

#include <stdlib.h>

typedef struct entry {
    uint64_t digest, example;
} entry;

static int by_digest(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->digest != y->digest)
        return x->digest < y->digest ? -1 : 1;
    return x->example < y->example ? -1 : x->example > y->example;
}

static void count(hn_preflight_count *c, uint64_t example)
{
    if (!c->n || example < c->first)
        c->first = example;
    c->n++;
}

static void look_at(const hn_dataset *d, const entry *group, size_t n, hn_preflight *out)
{
    bool was_trained = false, was_held = false;
    for (size_t i = 0; i < n; i++)
        was_held |= d->fates[group[i].example] == HN_FATE_HELD;
    uint64_t held = 0;
    bool held_before = false;
    for (size_t i = n; i-- > 0;)
        held = d->fates[group[i].example] == HN_FATE_HELD ? group[i].example : held;
    for (size_t i = 0; i < n; i++) {
        const uint64_t e = group[i].example;
        if (d->fates[e] == HN_FATE_HELD) {
            if (held_before)
                count(&out->repeated_held, e);
            held_before = true;
            continue;
        }
        if (was_trained)
            count(&out->repeated, e);
        if (was_held && (!out->shared.n || e < out->shared.first))
            out->shared_held = held;
        if (was_held)
            count(&out->shared, e);
        was_trained = true;
    }
}

hn_status hn_preflight_duplicates(const hn_dataset *d, const uint64_t *digests,
                                  hn_preflight *out)
{
    entry *all = hn_alloc_array(d->heap, HN_TAG_FILE, d->n, sizeof *all);
    size_t n = 0;
    if (!all)
        return HN_ERR_MEMORY;
    for (uint64_t i = 0; i < d->n; i++)
        if (d->fates[i] == HN_FATE_TRAINED || d->fates[i] == HN_FATE_HELD)
            all[n++] = (entry){ digests[i], i };
    qsort(all, n, sizeof *all, by_digest);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && all[end].digest == all[i].digest;)
            end++;
        if (end > i + 1)
            look_at(d, all + i, end - i, out);
    }
    hn_free(d->heap, all);
    return HN_OK;
}
