/* The loss of a trial is the sum of all outputs times random factors, so every output element has
 * a slope of its own. */
#include "prove/trial.h"

#include "diff/diff.h"

#include <stdio.h>
#include <string.h>

static bool is_updated(const hn_op *op, int input)
{
    for (int o = 0; o < HN_MAX_OUT; o++)
        if (op->updates[o] == HN_INPUT(input))
            return true;
    return false;
}

static hn_ints reversed(int n)
{
    hn_ints order = { .n = n };
    for (int i = 0; i < n; i++)
        order.at[i] = n - 1 - i;
    return order;
}

static bool is_strided(const hn_trial *t, const hn_trial_options *options, int i)
{
    const hn_type *type = &t->c->in[i].type;
    return options->wrap[i] == HN_WRAP_STRIDED && type->rank >= 2 && !hn_is_block(type->dtype) && !is_updated(t->c->op, i);
}

/* A row then has an element, or a block, before it and one behind. */
static bool is_apart(const hn_trial *t, const hn_trial_options *options, int i)
{
    return options->wrap[i] == HN_WRAP_APART && t->c->in[i].type.rank >= 1 && !is_updated(t->c->op, i);
}

static hn_node *make_input(hn_trial *t, const hn_trial_options *options, int i)
{
    const hn_case_input *in = &t->c->in[i];
    hn_graph *g = t->g;
    hn_input_info info[HN_MAX_IN];
    hn_op_inputs(t->c->op, info);
    int64_t dim[HN_MAX_RANK];
    const bool strided = is_strided(t, options, i), apart = is_apart(t, options, i);
    const int64_t room = hn_dtype_block(in->type.dtype), last = in->type.rank - 1;
    for (int d = 0; d < in->type.rank; d++)
        dim[d] = in->type.dim[strided ? last - d : d] + (apart && d == last ? 2 * room : 0);
    if (options->wrap[i] == HN_WRAP_PACKED) {
        t->leaf[i] = hn_graph_weight(g, info[i].name, in->type.dtype, options->layout, in->type.rank, dim);
        return t->leaf[i];
    }
    const hn_leaf_kind kind = is_updated(t->c->op, i) ? HN_LEAF_STATE
                              : options->stays && !options->wrap[i] ? HN_LEAF_WEIGHT : HN_LEAF_INPUT;
    t->leaf[i] = hn_graph_leaf(g, kind, info[i].name, in->type.dtype, in->type.rank, dim);
    if (hn_is_poison(g, t->leaf[i]))
        return t->leaf[i];
    if (options->on_two_devices)
        t->leaf[i]->leaf->device = kind == HN_LEAF_STATE ? 1 : i % 2; /* what is updated together */
    if (strided)
        return hn_permute(g, t->leaf[i], reversed(in->type.rank));
    if (apart)
        return hn_slice(g, t->leaf[i], last, room, dim[last] - room, 1);
    if (options->wrap[i] == HN_WRAP_COPY && kind == HN_LEAF_INPUT && !hn_is_block(in->type.dtype))
        return hn_contiguous(g, t->leaf[i]);
    return t->leaf[i];
}

/* Between rows is what no op may read: not numbers, and ids of nothing. */
static hn_status fill_apart(const hn_trial *t, int i, uint64_t seed, const hn_tensor *own)
{
    hn_heap *heap = t->g->heap;
    const hn_type *type = &t->c->in[i].type;
    const int64_t room = hn_dtype_block(type->dtype);
    void *data = hn_alloc(heap, HN_TAG_PROVE, hn_type_bytes(type));
    if (!data)
        return HN_ERR_MEMORY;
    const hn_tensor packed = hn_tensor_at(type, data);
    const hn_status status = hn_case_data(t->c, i, seed, heap, &packed);
    if (status == HN_OK) {
        hn_type rows = own->type;
        rows.dim[rows.rank - 1] -= 2 * room;
        memset(own->data, 0xff, hn_type_bytes(&own->type));
        hn_tensor shown = hn_tensor_at(&rows, (char *)own->data + hn_dtype_bytes(type->dtype));
        shown.is_packed = false;
        hn_tensor_copy(&shown, &packed);
    }
    hn_free(heap, data);
    return status;
}

static hn_status fill_leaf(hn_trial *t, const hn_trial_options *options, int i, uint64_t seed)
{
    hn_heap *heap = t->g->heap;
    hn_tensor *own = hn_leaf_values_make(&t->values, heap, t->leaf[i]->leaf);
    if (!own)
        return HN_ERR_MEMORY;
    hn_tensor shown = *own; /* the same numbers, seen through the op's view of the leaf */
    const int rank = own->type.rank;
    for (int d = 0; d < rank && is_strided(t, options, i); d++) {
        shown.type.dim[d] = own->type.dim[rank - 1 - d];
        shown.type.stride[d] = own->type.stride[rank - 1 - d];
        shown.is_packed = false;
    }
    if (!is_apart(t, options, i))
        return hn_case_data(t->c, i, seed, heap, &shown);
    return fill_apart(t, i, seed, own);
}

static hn_status add_loss(hn_trial *t, hn_node *y)
{
    hn_graph *g = t->g;
    hn_input_info outputs[HN_MAX_OUT];
    hn_op_outputs(t->c->op, outputs);
    hn_node *scalar = hn_graph_scalar(g, 0);
    for (int o = 0; o < t->n_outputs; o++) {
        hn_node *out = hn_output(y, o);
        if (!hn_is_float(out->type.dtype) || !outputs[o].has_gradient)
            continue;
        t->weight[o] =
            hn_graph_leaf(g, HN_LEAF_INPUT, "factor", HN_F32, out->type.rank, out->type.dim);
        hn_node *part = hn_sum_to(g, hn_mul(g, t->weight[o], out), scalar, NULL);
        t->loss = t->loss ? hn_add(g, t->loss, part) : part;
    }
    return hn_graph_finish(g);
}

static hn_status add_gradients(hn_trial *t)
{
    const hn_op *op = t->c->op;
    hn_input_info info[HN_MAX_IN];
    hn_op_inputs(op, info);
    hn_node *params[HN_MAX_IN];
    for (int i = 0; i < t->c->n_in; i++)
        if (t->leaf[i] && info[i].has_gradient && hn_is_float(t->leaf[i]->type.dtype)) {
            t->param[t->n_params] = i;
            params[t->n_params++] = t->in[i];
        }
    if (!t->loss || !t->n_params || !op->backward) {
        t->loss = NULL;
        t->n_params = 0;
        return HN_OK;
    }
    HN_TRY(hn_diff(t->g, t->loss, t->n_params, params, NULL, &t->wanted[t->n_outputs]));
    t->n_wanted += t->n_params;
    return HN_OK;
}

static hn_status build(hn_trial *t, const hn_trial_options *options)
{
    const hn_op *op = t->c->op;
    hn_node **in = t->in;
    char attrs[512] = { 0 };
    HN_TRY(hn_attrs_parse(op->name, op->attrs, t->c->attrs, attrs));
    for (int i = 0; i < t->c->n_in; i++) {
        const int same = options->same_as[i] ? options->same_as[i] - 1 : t->c->in[i].same_as;
        if (!t->c->in[i].is_given)
            continue;
        in[i] = same >= 0 ? in[same] : make_input(t, options, i);
    }
    if (op->needs_contiguous && in[0])
        in[0] = hn_packed(t->g, in[0]);
    hn_node *y = hn_graph_apply(t->g, op, attrs, t->c->n_in, in);
    HN_TRY(hn_graph_finish(t->g));
    t->n_outputs = y->by->n_out;
    for (int o = 0; o < t->n_outputs; o++)
        t->wanted[t->n_wanted++] = hn_output(y, o);
    if (!options->with_gradients)
        return HN_OK;
    HN_TRY(add_loss(t, y));
    return add_gradients(t);
}

hn_status hn_trial_new(hn_trial *t, hn_heap *heap, const hn_case *c, uint64_t seed,
                       const hn_trial_options *options)
{
    *t = (hn_trial){ .c = c };
    HN_TRY(hn_graph_new(&t->g, heap));
    hn_status status = build(t, options);
    if (status == HN_OK)
        status = hn_leaf_values_new(&t->values, t->g);
    for (int i = 0; i < c->n_in && status == HN_OK; i++)
        if (t->leaf[i])
            status = fill_leaf(t, options, i, seed);
    for (int o = 0; o < HN_MAX_OUT && status == HN_OK; o++)
        if (t->weight[o]) {
            hn_tensor *own = hn_leaf_values_make(&t->values, heap, t->weight[o]->leaf);
            status = own ? hn_random_data(seed + 77 + (uint64_t)o, -2, 2, heap, own)
                         : HN_ERR_MEMORY;
        }
    if (status != HN_OK)
        hn_trial_free(t);
    return status;
}

void hn_trial_free(hn_trial *t)
{
    if (t->g && t->values.at)
        hn_leaf_values_free(&t->values, t->g->heap);
    hn_graph_free(t->g);
    t->g = NULL;
}

hn_status hn_trial_give(const hn_trial *t, hn_oracle *o)
{
    for (int i = 0; i < t->values.n; i++)
        if (t->values.at[i].data)
            HN_TRY(hn_oracle_give(o, t->g->leaves[i], &t->values.at[i]));
    return HN_OK;
}
