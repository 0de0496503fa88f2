/* Two passes: forward, which nodes lead from a parameter to the loss; backward, the gradients.
 *
 *     applications   0 . . . . . . n_forward - 1 | what is emitted here: gradients, clones, sums
 *     find_leads     ---------------------->     |
 *     go_back        <----------------------     |   each asks its op's backward for nodes, which stand behind the bar
 *
 * An application stands after those that made its inputs. So when go_back comes to one, all that reads its outputs was there, and
 * their gradients are complete; what backward emits is never gone back through. `leads` and `sums` are by ids of the forward graph
 * alone: a node that is newer has no entry, and leads_to asks before it looks.
 *
 * A node that is used k times gets k contributions. They are kept apart until its own turn and then added in the order of use, each
 * put before the later ones: f32's sum depends on the order, and so it is the graph's, not that of this walk. A contribution to
 * something that leads nowhere is not asked for.
 *
 * Sums over tokens (`accumulate`). A gradient of a weight sums over the batch, and the batch is cut into micro-batches. Sums of
 * sums would have other bits for another cut, so the op that sums goes on from an accumulator, a leaf of its own (bring_to_rest):
 *
 *     a micro-batch    x, dy (per batch) --> outer --> scale --> gradient
 *                                             ^ `--> acc, where the next one begins
 *
 * What stands between the sum and the weight then runs once, after the last micro-batch. That is the same only where it is affine in
 * what depends on the batch (may_follow_sum); what is not is refused by name: it needs all sequences of a step at once.
 *
 * Every refusal is made while the graph is built and names what is in the way, an op with the parameters that it cuts off; the
 * graph is failed with it, for nodes of half a backward must not be run. */
#include "diff/diff.h"

#include "base/work.h"
#include "diff/recompute.h"

#include <stdio.h>
#include <string.h>

typedef struct contribution {
    struct contribution *next; /* an earlier use */
    hn_node *node;
} contribution;

typedef struct reverse {
    hn_graph *g;
    const hn_diff_options *options;
    int n_params;
    hn_node *const *params;
    int n_nodes;           /* of the forward graph */
    bool *leads;           /* by node id: a parameter is among its ancestors */
    contribution **sums;   /* by node id */
    hn_recompute recompute;
} reverse;

/* ---- which nodes need a gradient ---- */

/* Accumulators join the forward graph while the loss is brought to rest: nothing leads to them. */
static bool leads_to(const reverse *r, const hn_node *node)
{
    return node->id < r->n_nodes && r->leads[node->id];
}

static bool passes(const hn_node *x, const hn_input_info *info)
{
    return info->has_gradient && hn_is_float(x->type.dtype);
}

/* The parameters that can be reached from `apply`, for a refusal. */
static void name_cut_off(const reverse *r, const hn_apply *apply, char *text, size_t bytes)
{
    bool *above = hn_alloc_array(r->g->heap, HN_TAG_GRAPH, (size_t)r->n_nodes, sizeof *above);
    size_t used = 0;
    text[0] = 0;
    if (!above)
        return;
    for (int i = 0; i < apply->n_in; i++)
        if (apply->in[i] && apply->in[i]->id < r->n_nodes)
            above[apply->in[i]->id] = true;
    for (int i = apply->id - 1; i >= 0; i--)
        for (int o = 0; o < r->g->applies[i]->n_out; o++)
            for (int j = 0; above[r->g->applies[i]->out[o]->id] && j < r->g->applies[i]->n_in; j++)
                if (r->g->applies[i]->in[j] && r->g->applies[i]->in[j]->id < r->n_nodes)
                    above[r->g->applies[i]->in[j]->id] = true;
    for (int p = 0; p < r->n_params && used < bytes; p++)
        if (above[r->params[p]->id])
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                                     r->params[p]->leaf ? r->params[p]->leaf->name : "?");
    hn_free(r->g->heap, above);
}

static hn_status refuse(const reverse *r, const hn_apply *a, const char *why)
{
    char name[HN_NODE_TEXT], cut[200];
    name_cut_off(r, a, cut, sizeof cut);
    return hn_fail(HN_ERR_UNSUPPORTED, "%s has no gradient (%s); it cuts off %s",
                   hn_apply_text(a, name), why, cut);
}

static bool makes_floats(const hn_apply *a)
{
    for (int o = 0; o < a->n_out; o++)
        if (hn_is_float(a->out[o]->type.dtype))
            return true;
    return false;
}

static void find_leads(reverse *r)
{
    for (int p = 0; p < r->n_params; p++)
        r->leads[r->params[p]->id] = true;
    for (int i = 0; i < r->g->n_applies; i++) {
        const hn_apply *a = r->g->applies[i];
        bool leads = false;
        for (int j = 0; j < a->n_in; j++)
            leads = leads || (a->in[j] && r->leads[a->in[j]->id] && hn_op_reads(a->op, j));
        for (int o = 0; leads && !a->op->stops_gradient && o < a->n_out; o++)
            if (hn_is_float(a->out[o]->type.dtype))
                r->leads[a->out[o]->id] = true;
    }
}

/* ---- sums over tokens ---- */

static bool reads_batch(const hn_apply *a, int input)
{
    return a->in[input] && a->in[input]->is_per_batch && hn_op_reads(a->op, input);
}

/* Whether f(sum) = sum of f's parts: `a` is affine in everything that depends on the batch. */
static bool may_follow_sum(const hn_apply *a)
{
    int n = 0;
    for (int i = 0; i < a->n_in; i++) {
        if (!reads_batch(a, i))
            continue;
        if (!(a->op->affine_in & HN_IN(i)) && a->op->view_of != HN_INPUT(i))
            return false;
        n++;
    }
    return n == 1 || (n > 1 && a->op->is_jointly_affine);
}

/* A loss is summed where the weight lies that its op reads. */
static hn_leaf *weight_of(const hn_apply *a)
{
    for (int i = 0; i < a->n_in; i++)
        if (a->in[i] && a->in[i]->leaf && a->in[i]->leaf->kind == HN_LEAF_WEIGHT)
            return a->in[i]->leaf;
    return NULL;
}

/* Lets the sum that `node` stands for continue from micro-batch to micro-batch. What follows the
 * sum and depends on no token (a reshape, a factor) then runs once, after the last one. */
static hn_status bring_to_rest(reverse *r, hn_node *node, hn_leaf *beside, const char *what)
{
    char name[HN_NODE_TEXT], text[HN_NODE_TEXT + 16];
    if (!node->is_per_batch)
        return HN_OK;
    hn_apply *a = node->by;
    const int acc = a ? hn_op_acc_input(a->op, node->out_index) : -1;
    if (acc >= 0 && !a->in[acc]) {
        snprintf(text, sizeof text, "%s.acc", hn_apply_text(a, name));
        hn_node *leaf = hn_graph_leaf(r->g, HN_LEAF_ACC, text, HN_F32, node->type.rank,
                                      node->type.dim);
        HN_TRY(hn_graph_finish(r->g));
        leaf->leaf->beside = beside ? beside : weight_of(a);
        return hn_graph_attach_acc(r->g, node, leaf);
    }
    HN_REQUIRE(a && may_follow_sum(a), HN_ERR_UNSUPPORTED,
               "%s sums over the batch and cannot continue from one micro-batch to the next: "
               "%s needs all sequences of a step at once",
               hn_node_text(node, name), what);
    for (int i = 0; i < a->n_in; i++)
        if (reads_batch(a, i))
            HN_TRY(bring_to_rest(r, a->in[i], beside, what));
    return HN_OK;
}

static hn_status contribute(reverse *r, hn_node *to, hn_node *gradient)
{
    if (r->options->accumulate && !to->is_per_batch && gradient->is_per_batch) {
        char name[HN_NODE_TEXT];
        hn_leaf *beside = to->leaf && to->leaf->kind == HN_LEAF_WEIGHT ? to->leaf : NULL;
        HN_TRY(bring_to_rest(r, gradient, beside, hn_node_text(to, name)));
    }
    contribution *c = hn_graph_alloc(r->g, sizeof *c);
    if (!c)
        return HN_ERR_MEMORY;
    *c = (contribution){ .next = r->sums[to->id], .node = gradient };
    r->sums[to->id] = c;
    return HN_OK;
}

/* Reverse mode meets the last use first, so the list runs in the order of use. */
static hn_node *total(reverse *r, const hn_node *node)
{
    hn_node *sum = NULL;
    for (contribution *c = r->sums[node->id]; c; c = c->next)
        sum = sum ? hn_add(r->g, sum, c->node) : c->node;
    return sum;
}

/* ---- one application ---- */

static void prepare(reverse *r, const hn_apply *a, hn_grad *d)
{
    hn_input_info info[HN_MAX_IN];
    hn_op_inputs(a->op, info);
    *d = (hn_grad){ .g = r->g, .attrs = a->attrs, .n_in = a->n_in, .n_out = a->n_out };
    for (int i = 0; i < a->n_in; i++) {
        if (!a->in[i])
            continue;
        d->in[i] = info[i].is_shape_only ? a->in[i] : hn_recompute_saved(&r->recompute, a->in[i]);
        d->wants[i] = leads_to(r, a->in[i]) && passes(a->in[i], &info[i]);
    }
    for (int o = 0; o < a->n_out; o++)
        d->out[o] = hn_recompute_saved(&r->recompute, a->out[o]);
}

static hn_status check_inputs_pass(const reverse *r, const hn_apply *a)
{
    hn_input_info info[HN_MAX_IN];
    hn_op_inputs(a->op, info);
    for (int i = 0; i < a->n_in; i++) {
        const hn_node *x = a->in[i];
        if (!x || !leads_to(r, x) || info[i].is_shape_only || !hn_is_float(x->type.dtype))
            continue;
        if (!info[i].has_gradient) {
            char why[80];
            snprintf(why, sizeof why, "for its input %s", info[i].name);
            return refuse(r, a, why);
        }
    }
    return HN_OK;
}

static hn_status go_back(reverse *r, hn_apply *a)
{
    hn_node *dout[HN_MAX_OUT] = { NULL };
    bool any = false, leads = false;
    hn_input_info outputs[HN_MAX_OUT];
    hn_op_outputs(a->op, outputs);
    for (int o = 0; o < a->n_out; o++) {
        dout[o] = total(r, a->out[o]);
        if (dout[o] && !outputs[o].has_gradient && r->leads[a->out[o]->id])
            return refuse(r, a, "through its second output");
        any = any || dout[o];
        leads = leads || r->leads[a->out[o]->id];
    }
    if (!any || !leads || a->op->stops_gradient || !makes_floats(a))
        return HN_OK;
    if (!a->op->backward)
        return refuse(r, a, a->op->no_gradient ? a->op->no_gradient : "not provided");
    HN_TRY(check_inputs_pass(r, a));
    hn_grad d;
    r->g->scope = a->scope;
    prepare(r, a, &d);
    memcpy(d.dout, dout, sizeof dout);
    a->op->backward(&d);
    HN_TRY(hn_graph_finish(r->g));
    for (int i = 0; i < a->n_in; i++) {
        if (!d.wants[i])
            continue;
        if (!d.din[i])
            return refuse(r, a, "its backward left an input out");
        if (!hn_same_shape(&d.din[i]->type, &a->in[i]->type))
            return refuse(r, a, "its backward gave a gradient of another shape");
        HN_TRY(contribute(r, a->in[i], d.din[i]));
    }
    return HN_OK;
}

static hn_status check_arguments(const reverse *r, const hn_node *loss)
{
    HN_TRY(hn_graph_finish(r->g));
    HN_REQUIRE(hn_count(&loss->type) == 1 && hn_is_float(loss->type.dtype), HN_ERR_SHAPE,
               "the loss has %lld elements: expected one", (long long)hn_count(&loss->type));
    for (int p = 0; p < r->n_params; p++)
        HN_REQUIRE(hn_is_float(r->params[p]->type.dtype), HN_ERR_UNSUPPORTED,
                   "%s is %s: only floating-point tensors can be trained",
                   r->params[p]->leaf ? r->params[p]->leaf->name : "a parameter",
                   hn_dtype_name(r->params[p]->type.dtype));
    return HN_OK;
}

static hn_status run(reverse *r, hn_node *loss, hn_node **grads)
{
    const int n_forward = r->g->n_applies;
    find_leads(r);
    if (r->options->accumulate)
        HN_TRY(bring_to_rest(r, loss, NULL, "the loss"));
    hn_node *one = hn_reshape_like(r->g, hn_graph_scalar(r->g, 1), loss);
    HN_TRY(hn_graph_finish(r->g));
    HN_TRY(contribute(r, loss, one));
    for (int i = n_forward - 1; i >= 0; i--) {
        HN_TRY(hn_work_look("gradients"));
        HN_TRY(go_back(r, r->g->applies[i]));
    }
    for (int p = 0; p < r->n_params; p++) {
        grads[p] = total(r, r->params[p]);
        HN_REQUIRE(grads[p], HN_ERR_ARGUMENT, "the loss does not depend on %s",
                   r->params[p]->leaf ? r->params[p]->leaf->name : "a parameter");
    }
    return hn_graph_finish(r->g);
}

hn_status hn_diff(hn_graph *g, hn_node *loss, int n_params, hn_node *const *params,
                  const hn_diff_options *options, hn_node **grads)
{
    static const hn_diff_options none = { 0 };
    reverse r = { .g = g, .options = options ? options : &none, .n_params = n_params,
                  .params = params, .n_nodes = g->n_nodes };
    HN_TRY(check_arguments(&r, loss));
    const char *scope = g->scope;
    g->is_backward = true;
    r.leads = hn_alloc_array(g->heap, HN_TAG_GRAPH, (size_t)r.n_nodes, sizeof *r.leads);
    r.sums = hn_alloc_array(g->heap, HN_TAG_GRAPH, (size_t)r.n_nodes, sizeof *r.sums);
    hn_status status = r.leads && r.sums ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = hn_recompute_init(&r.recompute, g, r.options->recompute_every);
    if (status == HN_OK) {
        status = run(&r, loss, grads);
        hn_recompute_free(&r.recompute);
    }
    hn_free(g->heap, r.leads);
    hn_free(g->heap, r.sums);
    g->scope = scope;
    g->is_backward = false;
    if (status != HN_OK)
        hn_graph_failed(g, status);
    return status;
}
