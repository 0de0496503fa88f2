/* An update writes where its leaf lies. Where the leaf's device cannot run it, all leaves that the
 * update writes go to the host together, which may bring others along: until nothing moves. Leaves move to the host
 * alone and never back, so this ends after as many rounds as there are leaves; and what it ends in does not depend
 * on the order, because a leaf moves for a reason that no other move takes away. That is why planner, verifier and
 * storage may each ask for themselves and get one answer. */
#include "graph/place.h"

#include "graph/layout.h"

int hn_host_target(int n_targets, const hn_target *targets)
{
    for (int i = 0; i < n_targets; i++)
        if (targets[i].is_host)
            return i;
    return -1;
}

bool hn_target_reads(const hn_target *target, const hn_layout *layout)
{
    int i = 0;
    while (layout && target->layouts[i] && target->layouts[i] != layout)
        i++;
    return !layout || target->layouts[i];
}

hn_type hn_type_on(const hn_target *target, const hn_type *type)
{
    return hn_target_reads(target, type->layout) ? *type : hn_type_plain(type);
}

int hn_leaf_asked(const hn_leaf *leaf, int n_targets, const hn_target *targets)
{
    while (leaf->device == HN_ANY_DEVICE && leaf->beside)
        leaf = leaf->beside;
    return leaf->device == HN_ANY_DEVICE || leaf->device >= n_targets || targets[leaf->device].is_spare
               ? 0 : leaf->device;
}

static bool runs_on(const hn_apply *a, const hn_target *target)
{
    hn_tensor in[HN_MAX_IN], out[HN_MAX_OUT];
    hn_call call = { .op = a->op, .attrs = a->attrs, .n_in = a->n_in, .n_out = a->n_out };
    hn_support support = { 0 };
    for (int i = 0; i < a->n_in; i++)
        if (a->in[i]) {
            in[i] = hn_tensor_at(&a->in[i]->type, NULL);
            call.in[i] = &in[i];
        }
    for (int o = 0; o < a->n_out; o++) {
        out[o] = hn_tensor_at(&a->out[o]->type, NULL);
        call.out[o] = &out[o];
    }
    target->supports(target->device, &call, &support);
    return support.runs;
}

/* Whether a leaf moved. */
static bool settle(const hn_apply *a, const hn_target *targets, int host, int *place)
{
    bool goes = false, moved = false;
    for (int o = 0; o < a->n_out; o++)
        goes = goes || (a->out[o]->leaf && (place[a->out[o]->leaf->id] == host ||
                                            !runs_on(a, &targets[place[a->out[o]->leaf->id]])));
    for (int o = 0; goes && o < a->n_out; o++) {
        const hn_leaf *leaf = a->out[o]->leaf;
        if (!leaf || targets[place[leaf->id]].is_host)
            continue;
        place[leaf->id] = host;
        moved = true;
    }
    return moved;
}

hn_status hn_place_leaves(const hn_graph *g, int n_targets, const hn_target *targets, int *place)
{
    const int host = hn_host_target(n_targets, targets);
    bool all_are_host = true;
    HN_REQUIRE(host >= 0, HN_ERR_ARGUMENT, "no device has the host's memory");
    for (int d = 0; d < n_targets; d++)
        all_are_host = all_are_host && targets[d].is_host;
    for (int i = 0; i < g->n_leaves; i++) {
        place[i] = hn_leaf_asked(g->leaves[i], n_targets, targets);
        const bool is_sent = g->leaves[i]->kind < HN_LEAF_WEIGHT || g->leaves[i]->stretch;
        if (is_sent && !targets[place[i]].is_host)
            place[i] = host;
    }
    for (bool moved = !all_are_host; moved;) {
        moved = false;
        for (int i = 0; i < g->n_applies; i++)
            if (!g->applies[i]->op->view_of)
                moved = settle(g->applies[i], targets, host, place) || moved;
    }
    return HN_OK;
}
