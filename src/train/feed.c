/* One walk over all that an objective's graph reads, in one order, whatever is done with it: bound, or listed. A
 * part that the graph was built without has no node, and is passed over. */
#include "train/feed.h"

typedef struct feed {
    hn_feed_visitor *visit;
    void *context;
} feed;

/* A node the graph was built without has nothing to read; `n`: of four bytes each. */
static hn_status tell(const feed *f, const hn_node *node, const void *data, int64_t n)
{
    return node ? f->visit(f->context, node->leaf, data, 4 * (size_t)n) : HN_OK;
}

static hn_status visit_weights(const feed *f, const nn_build *b)
{
    for (int i = 0; i < b->n_bound; i++) {
        const nn_weight *w = b->bound[i].weight;
        HN_TRY(f->visit(f->context, b->bound[i].leaf->leaf, w->data, hn_type_bytes(&w->type)));
    }
    return HN_OK;
}

static hn_status visit_rows(const feed *f, const hn_objective *o, const hn_micro *m, int64_t from)
{
    const int64_t n = m->max_rows - from;
    HN_TRY(tell(f, o->policy.rows, m->rows + from, n));
    HN_TRY(tell(f, o->labels, m->labels + from, n));
    HN_TRY(tell(f, o->weights, m->weights + from, n));
    if (!o->pair_of)
        return HN_OK;
    HN_TRY(tell(f, o->pair_of, m->pair_of + from, n));
    HN_TRY(tell(f, o->share[0], m->share[0] + from, n));
    HN_TRY(tell(f, o->share[1], m->share[1] + from, n));
    return tell(f, o->sign, m->sign + from, n);
}

hn_status hn_feed_visit(const hn_objective *o, hn_micro *m, hn_step_numbers *numbers,
                        hn_feed_visitor *visit, void *context)
{
    const nn_build *b = &o->policy;
    const feed f = { visit, context };
    const int64_t t = m->max_tokens, p = m->max_pairs;
    HN_TRY(visit_weights(&f, b));
    HN_TRY(visit_weights(&f, &o->base)); /* empty where the goal needs none */
    HN_TRY(tell(&f, b->tokens, m->pack.ids, t));
    HN_TRY(tell(&f, b->positions, m->pack.positions, t));
    HN_TRY(tell(&f, b->segments, m->pack.segments, t));
    HN_TRY(tell(&f, b->places, m->places, 2 * t));
    HN_TRY(tell(&f, b->step, &numbers->step, 1));
    HN_TRY(tell(&f, o->no_pairs, m->no_pairs, p));
    HN_TRY(tell(&f, o->pair_weights, m->pair_weights, p));
    HN_TRY(tell(&f, o->example_labels, m->example_labels, p));
    HN_TRY(tell(&f, o->anchor, &numbers->anchor, 1));
    HN_TRY(tell(&f, o->count, &numbers->count, 1));
    HN_TRY(tell(&f, o->n_sequences, &numbers->n_sequences, 1));
    HN_TRY(tell(&f, o->n_tokens, &numbers->n_tokens, 1));
    return visit_rows(&f, o, m, 0);
}

static hn_status bind(void *storage, const hn_leaf *leaf, const void *data, size_t bytes)
{
    return hn_storage_bind(storage, leaf, data, bytes);
}

hn_status hn_feed_bind_weights(hn_storage *storage, const hn_objective *o)
{
    const feed f = { bind, storage };
    HN_TRY(visit_weights(&f, &o->policy));
    return visit_weights(&f, &o->base);
}

hn_status hn_feed_bind_rows(hn_storage *storage, const hn_objective *o, hn_micro *m, int64_t from)
{
    return visit_rows(&(feed){ bind, storage }, o, m, from);
}

hn_status hn_feed_bind(hn_storage *storage, const hn_objective *o, hn_micro *m,
                       hn_step_numbers *numbers)
{
    return hn_feed_visit(o, m, numbers, bind, storage);
}
