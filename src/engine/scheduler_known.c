/* A scheduler's beginnings: what a request can begin with, and what it leaves behind. */
#include "engine/scheduler.h"

static hn_whose whose(const hn_request *r) { return (hn_whose){ r->r.owner, r->adapter }; }

/* ---- what is known ---- */

static void on_leave(void *context, hn_beginning *leaving)
{
    hn_lm_scheduler *s = context;
    hn_scheduler_write(s, leaving);
    hn_sequences_take_back(hn_lm_batch_inner(s->batch, leaving->whose.adapter), &leaving->keys);
}

hn_status hn_scheduler_known_new(hn_lm_scheduler *s)
{
    hn_heap *heap = &s->lm->engine->heap;
    const int64_t blocks = (hn_lm_batch_context(s->batch) + HN_KEY_BLOCK_IDS - 1) / HN_KEY_BLOCK_IDS;
    s->way = hn_alloc_array(heap, HN_TAG_STATE, (size_t)blocks, sizeof *s->way);
    s->nodes = hn_alloc_array(heap, HN_TAG_STATE, (size_t)blocks, sizeof *s->nodes);
    return s->way && s->nodes ? hn_beginnings_new(&s->beginnings, heap, (int32_t)s->o.kept, on_leave, s) : HN_ERR_MEMORY;
}

/* The row after which n ids are known tells of id n: what is to be scored yet is to be run. */
int64_t hn_scheduler_most_shared(const hn_request *r)
{
    return r->n_scored < r->n_prompt ? r->n_scored - 1 : r->n_ids - 1;
}

/* Into s->way, from the top. */
static int64_t take_way(hn_lm_scheduler *s, int32_t node)
{
    const hn_beginning *at = s->beginnings.at;
    const int64_t n = node == HN_NO_BEGINNING ? 0 : at[node].depth;
    for (int64_t i = n; i > 0; i--, node = at[node].parent)
        s->way[i - 1] = &at[node].keys;
    return n;
}

int64_t hn_scheduler_known(hn_lm_scheduler *s, const hn_request *r, int32_t *node)
{
    *node = hn_beginnings_find(&s->beginnings, whose(r), r->ids, hn_scheduler_most_shared(r));
    const int64_t n = take_way(s, *node);
    const int64_t usable = hn_sequences_can_begin(hn_lm_batch_inner(s->batch, r->adapter), s->way, n);
    for (int64_t i = n; i > usable; i--)
        *node = s->beginnings.at[*node].parent;
    return usable * HN_KEY_BLOCK_IDS;
}

void hn_scheduler_begin(hn_lm_scheduler *s, hn_request *r, int32_t node)
{
    const int64_t n = take_way(s, node);
    hn_sequences_begin(hn_lm_batch_inner(s->batch, r->adapter), r->sequence, r->ids, s->way, n);
    hn_beginnings_use(&s->beginnings, node);
    hn_beginnings_hold(&s->beginnings, node);
    r->known = node;
    r->n_known = n * HN_KEY_BLOCK_IDS;
}

static int64_t common(const int32_t *a, int64_t n_a, const int32_t *b, int64_t n_b)
{
    const int64_t n = n_a < n_b ? n_a : n_b;
    int64_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

bool hn_scheduler_is_being_computed(const hn_lm_scheduler *s, const hn_request *r, int64_t length)
{
    for (int64_t i = 0; i < s->n_running && s->o.kept; i++) {
        const hn_request *other = s->running[i];
        if (other->r.owner == r->r.owner && other->adapter == r->adapter && other->n_ids - other->n_known > 1 &&
            !other->is_forgotten && common(other->ids, other->n_ids, r->ids, hn_scheduler_most_shared(r)) >= length + HN_KEY_BLOCK_IDS)
            return true;
    }
    return false;
}

/* ---- what is left behind ---- */

static void go_on(hn_lm_scheduler *s, hn_request *r, int32_t node)
{
    hn_beginnings_hold(&s->beginnings, node);
    hn_beginnings_let_go(&s->beginnings, r->known);
    r->known = node;
}

/* Block i of its sequence, after those before: one more, or one that somebody left there, whose window may be gone. */
static bool keep_block(hn_lm_scheduler *s, hn_request *r, int64_t i)
{
    hn_sequences *inner = hn_lm_batch_inner(s->batch, r->adapter);
    const int32_t *ids = r->ids + i * HN_KEY_BLOCK_IDS;
    int32_t node = hn_beginnings_child(&s->beginnings, whose(r), r->known, ids);
    if (node == HN_NO_BEGINNING) {
        if (s->beginnings.n == s->beginnings.most && !hn_beginnings_evict(&s->beginnings, NULL, NULL))
            return false;
        const hn_lent_keys none = HN_NO_KEYS;
        node = hn_beginnings_add(&s->beginnings, whose(r), r->known, ids, &none);
    }
    hn_sequences_lend(inner, r->sequence, i, &s->beginnings.at[node].keys);
    go_on(s, r, node);
    return true;
}

static int64_t depth_of(const hn_lm_scheduler *s, const hn_request *r)
{
    return r->known == HN_NO_BEGINNING ? 0 : s->beginnings.at[r->known].depth;
}

void hn_scheduler_keep(hn_lm_scheduler *s, hn_request *r)
{
    for (int64_t i = depth_of(s, r); !r->is_forgotten && s->o.kept && i < r->n_known / HN_KEY_BLOCK_IDS; i++)
        if (!keep_block(s, r, i))
            return;
}

void hn_scheduler_let_go(hn_lm_scheduler *s, hn_request *r) { go_on(s, r, HN_NO_BEGINNING); }

/* ---- giving up blocks ---- */

typedef struct wanted {
    const hn_lm_scheduler *s;
    const hn_sequences *inner;
} wanted;

static bool frees(const void *context, const hn_beginning *node)
{
    const wanted *w = context;
    return hn_lm_batch_inner(w->s->batch, node->whose.adapter) == w->inner && hn_sequences_frees(w->inner, &node->keys);
}

static bool gives_window(hn_lm_scheduler *s, const hn_sequences *inner)
{
    hn_beginning *at = s->beginnings.at;
    for (int32_t i = s->beginnings.oldest; i != HN_NO_BEGINNING; i = at[i].newer) {
        hn_sequences *own = hn_lm_batch_inner(s->batch, at[i].whose.adapter);
        if (own != inner || !hn_sequences_frees_window(own, &at[i].keys))
            continue;
        hn_sequences_take_back_window(own, &at[i].keys);
        return true;
    }
    return false;
}

bool hn_scheduler_gives_block(hn_lm_scheduler *s, const hn_sequences *inner, bool of_windows)
{
    const wanted w = { s, inner };
    return of_windows ? gives_window(s, inner) : hn_beginnings_evict(&s->beginnings, frees, &w);
}
