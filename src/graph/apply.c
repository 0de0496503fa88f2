/* Applying an op: what can be refused is refused here, while the graph is built. */
#include "graph/apply.h"

#include "graph/layout.h"

#include <string.h>

hn_status hn_call_infer(const hn_call *call, hn_type *out, int64_t *view_at)
{
    HN_TRY(call->op->infer(call, out));
    for (int o = 0; o < call->n_out; o++) /* types are often copied: layouts are not inherited */
        if (out[o].layout)
            out[o] = hn_type_plain(&out[o]);
    *view_at = call->op->view_of && call->op->view_at ? call->op->view_at(call) : 0;
    return HN_OK;
}

static hn_status check_inputs(const hn_graph *g, const hn_op *op, int n_in, hn_node *const *in)
{
    hn_input_info info[HN_MAX_IN];
    const int n = hn_op_inputs(op, info);
    HN_REQUIRE(n_in <= n, HN_ERR_ARGUMENT, "%s: %d inputs given: expected at most %d (%s)",
               op->name, n_in, n, op->inputs);
    for (int i = 0; i < n_in; i++)
        HN_REQUIRE(!in[i] || in[i]->graph == g, HN_ERR_ARGUMENT,
                   "%s: input %s is a node of another graph", op->name, info[i].name);
    for (int i = 0; i < n; i++)
        HN_REQUIRE((i < n_in && in[i]) || info[i].is_optional, HN_ERR_ARGUMENT,
                   "%s: input %s is missing", op->name, info[i].name);
    return HN_OK;
}

/* Whether output `out` is stored in a leaf: by `updates`, or by acc on a state. */
static hn_leaf *updated_leaf(const hn_apply *a, int out)
{
    const int acc = hn_op_acc_input(a->op, out);
    const int input = a->op->updates[out] ? a->op->updates[out] - 1 : acc;
    if (input < 0 || input >= a->n_in || !a->in[input])
        return NULL;
    const hn_leaf *leaf = a->in[input]->leaf;
    const bool is_state = leaf && leaf->kind >= HN_LEAF_WEIGHT;
    return is_state ? a->in[input]->leaf : NULL;
}

static hn_status check_versions(const hn_apply *a)
{
    char name[HN_NODE_TEXT], by[HN_NODE_TEXT];
    for (int i = 0; i < a->n_in; i++) {
        const hn_node *x = a->in[i];
        if (!x || !x->leaf || x->version == x->leaf->version || !hn_op_reads(a->op, i))
            continue;
        return hn_fail(HN_ERR_ARGUMENT,
                       "%s reads %s at version %d, after %s updated it to version %d",
                       hn_apply_text(a, name), x->leaf->name, x->version,
                       hn_node_text(x->leaf->node, by), x->leaf->version);
    }
    return HN_OK;
}

static hn_status check_update(const hn_apply *a, int out)
{
    if (!a->op->updates[out])
        return HN_OK;
    const int input = a->op->updates[out] - 1;
    const hn_node *x = a->in[input];
    if (!x) /* an optional state that is absent */
        return HN_OK;
    HN_REQUIRE(x->leaf && x->leaf->kind >= HN_LEAF_WEIGHT, HN_ERR_ARGUMENT,
               "%s: input %d would be updated: expected a weight or a state", a->op->name, input);
    HN_REQUIRE(x == x->leaf->node, HN_ERR_ARGUMENT,
               "%s: input %d is a view of %s: expected the whole state", a->op->name, input,
               x->leaf->name);
    return HN_OK;
}

/* Packed weights are frozen, and no view can show them. */
static hn_status check_layouts(const hn_apply *a)
{
    char type[HN_TYPE_TEXT];
    for (int i = 0; i < a->n_in; i++) {
        const hn_node *x = a->in[i];
        if (!x || !x->type.layout)
            continue;
        bool is_state = false;
        for (int o = 0; o < a->n_out; o++)
            is_state = is_state || a->op->updates[o] == HN_INPUT(i) ||
                       hn_op_acc_input(a->op, o) == i;
        HN_REQUIRE(!is_state && a->op->view_of != HN_INPUT(i), HN_ERR_UNSUPPORTED,
                   "%s: %s is %s: a packed weight %s", a->op->name, x->leaf->name,
                   hn_type_text(&x->type, type),
                   is_state ? "is frozen and cannot be updated" : "has no views");
    }
    return HN_OK;
}

static hn_node *new_output(hn_graph *g, hn_apply *a, int out, const hn_type *type, bool per_batch)
{
    hn_node *node = hn_graph_alloc(g, sizeof *node);
    if (!node)
        return NULL;
    *node = (hn_node){ .type = *type, .by = a, .out_index = out, .id = g->n_nodes++,
                       .is_per_batch = per_batch, .graph = g };
    hn_leaf *leaf = updated_leaf(a, out);
    if (leaf) {
        leaf->version++;
        leaf->node = node;
        node->leaf = leaf;
        node->version = leaf->version;
        node->is_per_batch = false;
    } else if (a->op->view_of) {
        const hn_node *source = a->in[a->op->view_of - 1];
        node->leaf = source->leaf;
        node->version = source->version;
    }
    return node;
}

static bool reads_batch(const hn_apply *a, int input)
{
    return a->in[input] && a->in[input]->is_per_batch && hn_op_reads(a->op, input);
}

static hn_status infer_types(const hn_apply *a, hn_type out[HN_MAX_OUT])
{
    hn_tensor in[HN_MAX_IN];
    hn_call call = { .op = a->op, .attrs = a->attrs, .n_in = a->n_in, .n_out = a->n_out };
    for (int i = 0; i < a->n_in; i++) {
        if (!a->in[i])
            continue;
        in[i] = hn_tensor_at(&a->in[i]->type, NULL);
        call.in[i] = &in[i];
    }
    int64_t view_at;
    return hn_call_infer(&call, out, &view_at);
}

static hn_status fill(hn_graph *g, hn_apply *a, const void *attrs, int n_in, hn_node *const *in)
{
    hn_input_info outputs[HN_MAX_OUT];
    a->n_in = hn_op_n_in(a->op);
    a->n_out = hn_op_outputs(a->op, outputs);
    a->scope = g->scope;
    a->segment = g->segment;
    a->is_backward = g->is_backward;
    a->id = g->n_applies;
    for (int i = 0; i < n_in; i++)
        a->in[i] = in[i];
    if (a->op->attrs_size) {
        a->attrs = hn_graph_alloc(g, a->op->attrs_size);
        if (!a->attrs)
            return HN_ERR_MEMORY;
        memcpy(a->attrs, attrs, a->op->attrs_size);
    }
    HN_TRY(check_versions(a));
    for (int o = 0; o < a->n_out; o++)
        HN_TRY(check_update(a, o));
    return check_layouts(a);
}

hn_node *hn_graph_apply(hn_graph *g, const hn_op *op, const void *attrs, int n_in,
                        hn_node *const *in)
{
    if (g->status != HN_OK)
        return &g->poison;
    for (int i = 0; i < n_in; i++)
        if (in[i] && hn_is_poison(g, in[i]))
            return &g->poison;
    hn_status status = check_inputs(g, op, n_in, in);
    hn_apply *a = status == HN_OK ? hn_graph_alloc(g, sizeof *a) : NULL;
    if (!a)
        return hn_graph_failed(g, status == HN_OK ? HN_ERR_MEMORY : status);
    a->op = op;
    hn_type types[HN_MAX_OUT];
    status = fill(g, a, attrs, n_in, in);
    if (status == HN_OK)
        status = infer_types(a, types);
    if (status != HN_OK) {
        if (status != HN_ERR_MEMORY && *g->scope)
            hn_fail_within(status, "%s: ", g->scope);
        return hn_graph_failed(g, status);
    }
    bool per_batch = false;
    for (int i = 0; i < a->n_in; i++)
        per_batch = per_batch || reads_batch(a, i);
    for (int o = 0; o < a->n_out; o++) {
        a->out[o] = new_output(g, a, o, &types[o], per_batch);
        if (!a->out[o])
            return &g->poison;
    }
    return hn_graph_add_apply(g, a) ? a->out[0] : &g->poison;
}

/* What depends on a batch changes when a sum over tokens comes to rest in a state. */
static void refresh_batch(hn_graph *g, int first)
{
    for (int i = first; i < g->n_applies; i++) {
        hn_apply *a = g->applies[i];
        bool per_batch = false;
        for (int j = 0; j < a->n_in; j++)
            per_batch = per_batch || reads_batch(a, j);
        for (int o = 0; o < a->n_out; o++)
            a->out[o]->is_per_batch = per_batch && !updated_leaf(a, o);
        if (a->op->view_of) {
            a->out[0]->leaf = a->in[a->op->view_of - 1]->leaf;
            a->out[0]->version = a->in[a->op->view_of - 1]->version;
        }
    }
}

hn_status hn_graph_attach_acc(hn_graph *g, hn_node *sum, hn_node *acc)
{
    hn_apply *a = sum->by;
    char name[HN_NODE_TEXT];
    const int input = a ? hn_op_acc_input(a->op, sum->out_index) : -1;
    HN_REQUIRE(input >= 0 && !a->in[input], HN_ERR_ARGUMENT, "%s cannot continue a sum",
               hn_node_text(sum, name));
    a->in[input] = acc;
    hn_type types[HN_MAX_OUT];
    HN_TRY(infer_types(a, types));
    acc->leaf->version++;
    acc->leaf->node = sum;
    sum->leaf = acc->leaf;
    sum->version = acc->leaf->version;
    refresh_batch(g, a->id);
    return HN_OK;
}
