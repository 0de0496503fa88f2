/* slice_of: as many elements of one dimension of x as `like` has, after as many as `before`
 * has; a view. The way back from concat where sizes are known only while running. */
#include "ops/axis.h"

enum { X, LIKE, BEFORE };

static const hn_attr attrs[] = { HN_ATTR_INT(axis_attrs, dim, "0"), HN_ATTR_END };

static int64_t size_of(const hn_call *call, int input)
{
    const hn_type *t = &call->in[input]->type;
    return t->dim[axis_number(t, ((const axis_attrs *)call->attrs)->dim)];
}

static hn_status infer(const hn_call *call, hn_type *out)
{
    const int64_t dim = ((const axis_attrs *)call->attrs)->dim;
    for (int i = LIKE; i <= BEFORE; i++)
        if (call->in[i])
            HN_TRY(hn_expect_rank(call, i, call->in[X]->type.rank));
    HN_TRY(axis_check(call, X, dim));
    HN_TRY(axis_refuse_blocks(call, X));
    const int64_t before = call->in[BEFORE] ? size_of(call, BEFORE) : 0;
    const int64_t n = size_of(call, LIKE), all = size_of(call, X);
    if (before + n > all)
        return hn_refuse(call, "%lld elements after %lld of %lld", (long long)n,
                         (long long)before, (long long)all);
    *out = call->in[X]->type;
    out->dim[axis_number(out, dim)] = n;
    return HN_OK;
}

static int64_t view_at(const hn_call *call)
{
    const hn_type *x = &call->in[X]->type;
    const int dim = axis_number(x, ((const axis_attrs *)call->attrs)->dim);
    return call->in[BEFORE] ? size_of(call, BEFORE) * x->stride[dim] : 0;
}

static void forward(const hn_call *call)
{
    hn_type shown;
    infer(call, &shown);
    const hn_tensor x = hn_tensor_at(&shown, (char *)call->in[X]->data + view_at(call));
    hn_tensor_copy(call->out[0], &x);
}

static void backward(hn_grad *d)
{
    const int64_t dim = ((const axis_attrs *)d->attrs)->dim;
    d->din[X] = hn_slice_grad(d->g, d->dout[0], d->in[X], d->in[BEFORE], dim, 0, 1);
}

static const char *const cases[] = { "f32[5] f32[2]",
                                     "f32[5] f32[2] f32[3]",
                                     "f32[3,9,2] f32[3,4,2] f32[3,5,2] dim=1",
                                     "f32[4,6] f32[4,1] f32[4,2] dim=-1",
                                     "bf16[7,3] f32[2,3] f32[1,3]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_slice_of = {
    .name = "slice_of", .summary = "y = x[n(before) : n(before) + n(like)] along dim",
    .inputs = "x like~ before?~", .attrs = attrs, .attrs_size = sizeof(axis_attrs),
    .infer = infer, .forward = forward, .backward = backward,
    .view_of = HN_INPUT(X), .view_at = view_at, .cases = cases,
};
/* clang-format on */
hn_node *hn_slice_of(hn_graph *g, hn_node *x, hn_node *like, hn_node *before, int64_t dim)
{
    return HN_APPLY(g, &hn_op_slice_of, &((axis_attrs){ dim }), x, like, before);
}
