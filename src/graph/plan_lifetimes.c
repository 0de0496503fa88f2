/* How long each root is alive, and which outputs take an input's memory over.
 *
 * Roots are counted, not views: a root lives from the step that first writes it to the last step
 * that reads any value in it. An output takes over input i only where the contract of the op and
 * the kernel both name i, this step is the root's last reader, the input covers the whole root,
 * and every other input in that root is named too and lies exactly there. */
#include "graph/plan.h"

#include <string.h>

static void find_lifetimes(hn_plan *plan)
{
    for (int r = 0; r < plan->n_roots; r++) {
        plan->roots[r].first = plan->roots[r].leaf ? 0 : plan->n_steps;
        plan->roots[r].last = plan->roots[r].leaf ? plan->n_steps : 0;
    }
    for (int s = 0; s < plan->n_steps; s++) {
        const hn_step *step = &plan->steps[s];
        for (int i = 0; i < step->n_in; i++)
            if (step->in[i] != HN_NO_VALUE && hn_op_reads(step->op, i)) {
                hn_root *root = &plan->roots[plan->values[step->in[i]].root];
                if (root->last < s)
                    root->last = s;
            }
        for (int o = 0; o < step->n_out; o++)
            if (step->out[o] != HN_NO_VALUE) {
                hn_root *root = &plan->roots[plan->values[step->out[o]].root];
                if (root->first > s)
                    root->first = s;
                if (root->last < s)
                    root->last = s;
            }
        if (step->scratch >= 0)
            plan->roots[step->scratch].first = plan->roots[step->scratch].last = s;
    }
    for (int i = 0; i < plan->n_results; i++)
        plan->roots[plan->values[plan->result[i]].root].last = plan->n_steps;
}

static bool is_exactly(const hn_value *a, const hn_value *b)
{
    return a->root == b->root && a->at == b->at && hn_same_shape(&a->type, &b->type) &&
           hn_is_contiguous(&a->type) && hn_is_contiguous(&b->type);
}

static bool may_take(const hn_plan *plan, int s, int o, int i)
{
    const hn_step *step = &plan->steps[s];
    const unsigned named = step->op->may_overwrite[o] & step->support.may_overwrite[o];
    if (!(named & HN_IN(i)) || step->in[i] == HN_NO_VALUE)
        return false;
    const hn_value *x = &plan->values[step->in[i]], *y = &plan->values[step->out[o]];
    const hn_root *root = &plan->roots[x->root];
    if (root->leaf || root->last != s || root->device != step->device || root->is_scratch)
        return false;
    if (x->at != 0 || !hn_is_contiguous(&x->type) || hn_type_bytes(&x->type) != root->bytes)
        return false;
    if (!hn_same_shape(&x->type, &y->type) ||
        hn_dtype_bytes(x->type.dtype) != hn_dtype_bytes(y->type.dtype))
        return false;
    for (int j = 0; j < step->n_in; j++) {
        if (j == i || step->in[j] == HN_NO_VALUE || !hn_op_reads(step->op, j))
            continue;
        const hn_value *other = &plan->values[step->in[j]];
        if (other->root == x->root && (!(named & HN_IN(j)) || !is_exactly(other, x)))
            return false;
    }
    for (int other = 0; other < o; other++) /* taken already */
        if (step->took[other] >= 0 && plan->values[step->in[step->took[other]]].root == x->root)
            return false;
    return true;
}

/* Everything in `from` moves into `to`. Views of an output come later, so all values are walked
 * once at the end; until then `moved` says where a root went. */
static int settled(const int *moved, int root)
{
    while (moved[root] != root)
        root = moved[root];
    return root;
}

static void take_over(hn_plan *plan, int *moved)
{
    for (int r = 0; r < plan->n_roots; r++)
        moved[r] = r;
    for (int s = 0; s < plan->n_steps; s++) {
        hn_step *step = &plan->steps[s];
        for (int i = 0; i < step->n_in; i++)
            if (step->in[i] != HN_NO_VALUE)
                plan->values[step->in[i]].root = settled(moved, plan->values[step->in[i]].root);
        if (step->op->view_of)
            continue;
        for (int o = 0; o < step->n_out; o++) {
            if (step->out[o] == HN_NO_VALUE || plan->roots[plan->values[step->out[o]].root].leaf)
                continue;
            for (int i = 0; i < step->n_in && step->took[o] < 0; i++) {
                if (!may_take(plan, s, o, i))
                    continue;
                const int own = plan->values[step->out[o]].root;
                const int taken = plan->values[step->in[i]].root;
                step->took[o] = i;
                moved[own] = taken;
                if (plan->roots[taken].last < plan->roots[own].last)
                    plan->roots[taken].last = plan->roots[own].last;
                plan->roots[own].bytes = 0; /* nothing is left to place */
            }
        }
    }
    for (int v = 0; v < plan->n_values; v++)
        plan->values[v].root = settled(moved, plan->values[v].root);
}

hn_status hn_plan_lifetimes(hn_plan *plan)
{
    find_lifetimes(plan);
    if (plan->options.mode != HN_PLAN_INPLACE && plan->options.mode != HN_PLAN_POISON)
        return HN_OK;
    int *moved =
        hn_alloc_array(plan->heap, HN_TAG_PLAN, (size_t)plan->n_roots + 1, sizeof *moved);
    if (!moved)
        return HN_ERR_MEMORY;
    take_over(plan, moved);
    hn_free(plan->heap, moved);
    return HN_OK;
}
