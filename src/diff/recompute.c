/* Clones are made when first asked for, so they run just before the backward that reads them. */
#include "diff/recompute.h"

hn_status hn_recompute_init(hn_recompute *r, hn_graph *g, int every)
{
    *r = (hn_recompute){ .g = g, .every = every, .n_nodes = g->n_nodes };
    if (every <= 0)
        return HN_OK;
    r->clone = hn_alloc_array(g->heap, HN_TAG_GRAPH, (size_t)r->n_nodes, sizeof *r->clone);
    r->is_kept = hn_alloc_array(g->heap, HN_TAG_GRAPH, (size_t)r->n_nodes, sizeof *r->is_kept);
    if (!r->clone || !r->is_kept) {
        hn_recompute_free(r);
        return HN_ERR_MEMORY;
    }
    for (int k = 0; k < g->segment; k++)
        if ((k + 1) % every == 0)
            r->is_kept[g->boundaries[k]->id] = true;
    r->last_group = g->segment / every;
    return HN_OK;
}

void hn_recompute_free(hn_recompute *r)
{
    hn_free(r->g->heap, r->clone);
    hn_free(r->g->heap, r->is_kept);
    r->clone = NULL;
    r->is_kept = NULL;
}

static bool has_state(const hn_apply *a)
{
    for (int o = 0; o < a->n_out; o++)
        if (a->out[o]->leaf && !a->op->view_of)
            return true;
    return false;
}

hn_node *hn_recompute_saved(hn_recompute *r, hn_node *node)
{
    if (!node || !node->by || r->every <= 0 || node->id >= r->n_nodes || r->is_kept[node->id])
        return node;
    hn_apply *a = node->by;
    if (a->segment / r->every >= r->last_group || has_state(a))
        return node;
    if (!r->clone[node->id]) {
        hn_node *in[HN_MAX_IN] = { NULL };
        for (int i = 0; i < a->n_in; i++) /* a shape needs no data: nothing to compute again */
            in[i] = hn_op_reads(a->op, i) ? hn_recompute_saved(r, a->in[i]) : a->in[i];
        hn_node *first = hn_graph_apply(r->g, a->op, a->attrs, a->n_in, in);
        for (int o = 0; o < a->n_out; o++)
            r->clone[a->out[o]->id] = hn_output(first, o);
    }
    return r->clone[node->id];
}
