#include "train/feed.h"

typedef struct feed {
    hn_feed_visitor *visit;
    void *context;
} feed;

/* A node the graph was built without has nothing to read. */
static hn_status tell(const feed *f, const hn_node *node, const void *data)
{
    return node ? f->visit(f->context, node->leaf, data) : HN_OK;
}

static hn_status visit_weights(const feed *f, const nn_build *b)
{
    for (int i = 0; i < b->n_bound; i++)
        HN_TRY(tell(f, b->bound[i].leaf, b->bound[i].weight->data));
    return HN_OK;
}

static hn_status visit_rows(const feed *f, const hn_objective *o, const hn_micro *m, int64_t from)
{
    HN_TRY(tell(f, o->policy.rows, m->rows + from));
    HN_TRY(tell(f, o->labels, m->labels + from));
    HN_TRY(tell(f, o->weights, m->weights + from));
    if (!o->pair_of)
        return HN_OK;
    HN_TRY(tell(f, o->pair_of, m->pair_of + from));
    HN_TRY(tell(f, o->share[0], m->share[0] + from));
    HN_TRY(tell(f, o->share[1], m->share[1] + from));
    return tell(f, o->sign, m->sign + from);
}

hn_status hn_feed_visit(const hn_objective *o, hn_micro *m, hn_step_numbers *numbers,
                        hn_feed_visitor *visit, void *context)
{
    const nn_build *b = &o->policy;
    const feed f = { visit, context };
    HN_TRY(visit_weights(&f, b));
    HN_TRY(visit_weights(&f, &o->base)); /* empty where the goal needs none */
    HN_TRY(tell(&f, b->tokens, m->pack.ids));
    HN_TRY(tell(&f, b->positions, m->pack.positions));
    HN_TRY(tell(&f, b->segments, m->pack.segments));
    HN_TRY(tell(&f, b->places, m->places));
    HN_TRY(tell(&f, b->step, &numbers->step));
    HN_TRY(tell(&f, o->no_pairs, m->no_pairs));
    HN_TRY(tell(&f, o->pair_weights, m->pair_weights));
    HN_TRY(tell(&f, o->example_labels, m->example_labels));
    HN_TRY(tell(&f, o->anchor, &numbers->anchor));
    HN_TRY(tell(&f, o->count, &numbers->count));
    HN_TRY(tell(&f, o->n_sequences, &numbers->n_sequences));
    HN_TRY(tell(&f, o->n_tokens, &numbers->n_tokens));
    return visit_rows(&f, o, m, 0);
}

/* Mapped weights are only read: no leaf of them is updated. */
static hn_status bind(void *storage, const hn_leaf *leaf, const void *data)
{
    return hn_storage_bind(storage, leaf, (void *)(uintptr_t)data);
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
