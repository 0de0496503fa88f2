/* The list of ops as data, and the pieces that several backwards share. */
#include "ops/ops.h"

#include <string.h>

const hn_op *const hn_ops[] = {
#define HN_OP(op, ...) &hn_op_##op,
#include "ops/ops.def"
#undef HN_OP
    NULL,
};

const hn_op *hn_op_find(const char *name)
{
    for (int i = 0; hn_ops[i]; i++)
        if (!strcmp(hn_ops[i]->name, name))
            return hn_ops[i];
    return NULL;
}

enum { ATTRS_BYTES = 512 };

/* Attributes as text, or as values where there is none. */
typedef struct given {
    const char *text;
    int n;
    const hn_attr_value *values;
} given;

static hn_node *apply(hn_graph *g, const char *name, const given *attrs, int n_in, hn_node *const *in)
{
    const hn_op *op = hn_op_find(name);
    if (op && op->with_one_input && n_in == 1)
        op = hn_op_find(op->with_one_input);
    if (!op)
        return hn_graph_fail(g, HN_ERR_ARGUMENT, "unknown op '%.60s'", name);
    _Alignas(16) char parsed[ATTRS_BYTES] = { 0 };
    if (op->attrs_size > sizeof parsed)
        return hn_graph_fail(g, HN_ERR_ARGUMENT, "%s: attributes too large", name);
    const hn_status status =
        attrs->values ? hn_attrs_take(op->name, op->attrs, attrs->n, attrs->values, parsed)
                      : hn_attrs_parse(op->name, op->attrs, attrs->text, parsed);
    if (status != HN_OK)
        return hn_graph_failed(g, status);
    hn_node *ready[HN_MAX_IN] = { NULL };
    for (int i = 0; i < n_in && i < HN_MAX_IN; i++)
        ready[i] = i == 0 && in[0] && op->needs_contiguous ? hn_packed(g, in[0]) : in[i];
    return hn_graph_apply(g, op, parsed, n_in, ready);
}

hn_node *hn_apply_named(hn_graph *g, const char *name, const char *attrs, int n_in,
                        hn_node *const *in)
{
    return apply(g, name, &(given){ .text = attrs }, n_in, in);
}

hn_node *hn_apply_values(hn_graph *g, const char *name, int n_values, const hn_attr_value *values,
                         int n_in, hn_node *const *in)
{
    static const hn_attr_value none;
    return apply(g, name, &(given){ .n = n_values, .values = n_values ? values : &none }, n_in, in);
}

hn_status hn_infer_like(const hn_call *call, int i, hn_type *out)
{
    HN_TRY(hn_expect_float(call, i));
    *out = call->in[i]->type;
    hn_type_pack(out);
    return HN_OK;
}

hn_node *hn_unbroadcast(hn_graph *g, hn_node *dy, hn_node *x)
{
    if (hn_same_shape(&dy->type, &x->type))
        return dy;
    return hn_sum_to(g, dy, x, NULL);
}

hn_node *hn_as_rows(hn_graph *g, hn_node *x)
{
    if (x->type.rank == 2)
        return x;
    return hn_reshape(g, x, (hn_ints){ .n = 2, .at = { -1, hn_last_dim(&x->type) } });
}

hn_node *hn_reshape_like(hn_graph *g, hn_node *x, hn_node *like)
{
    if (hn_same_shape(&x->type, &like->type))
        return x;
    return hn_reshape_as(g, x, like);
}

hn_node *hn_packed(hn_graph *g, hn_node *x)
{
    return hn_is_contiguous(&x->type) ? x : hn_contiguous(g, x);
}
