#include "train/feed.h"

/* A node the graph was built without has nothing to read. */
static hn_status bind(hn_storage *storage, const hn_node *node, void *data)
{
    return node ? hn_storage_bind(storage, node->leaf, data) : HN_OK;
}

static hn_status bind_weights(hn_storage *storage, const nn_build *b)
{
    for (int i = 0; i < b->n_bound; i++) /* mapped ones are only read: no leaf of them is updated */
        HN_TRY(bind(storage, b->bound[i].leaf, (void *)(uintptr_t)b->bound[i].weight->data));
    return HN_OK;
}

hn_status hn_feed_bind_rows(hn_storage *storage, const hn_objective *o, hn_micro *m, int64_t from)
{
    HN_TRY(bind(storage, o->policy.rows, m->rows + from));
    HN_TRY(bind(storage, o->labels, m->labels + from));
    HN_TRY(bind(storage, o->weights, m->weights + from));
    if (!o->pair_of)
        return HN_OK;
    HN_TRY(bind(storage, o->pair_of, m->pair_of + from));
    HN_TRY(bind(storage, o->share[0], m->share[0] + from));
    HN_TRY(bind(storage, o->share[1], m->share[1] + from));
    return bind(storage, o->sign, m->sign + from);
}

hn_status hn_feed_bind(hn_storage *storage, const hn_objective *o, hn_micro *m,
                       hn_step_numbers *numbers)
{
    const nn_build *b = &o->policy;
    HN_TRY(bind_weights(storage, b));
    HN_TRY(bind_weights(storage, &o->base)); /* empty where the goal needs none */
    HN_TRY(bind(storage, b->tokens, m->pack.ids));
    HN_TRY(bind(storage, b->positions, m->pack.positions));
    HN_TRY(bind(storage, b->segments, m->pack.segments));
    HN_TRY(bind(storage, b->places, m->places));
    HN_TRY(bind(storage, b->step, &numbers->step));
    HN_TRY(bind(storage, o->no_pairs, m->no_pairs));
    HN_TRY(bind(storage, o->pair_weights, m->pair_weights));
    HN_TRY(bind(storage, o->example_labels, m->example_labels));
    HN_TRY(bind(storage, o->anchor, &numbers->anchor));
    HN_TRY(bind(storage, o->count, &numbers->count));
    HN_TRY(bind(storage, o->n_sequences, &numbers->n_sequences));
    HN_TRY(bind(storage, o->n_tokens, &numbers->n_tokens));
    return hn_feed_bind_rows(storage, o, m, 0);
}
