/* concat: a, then b, along one dimension. */
#include "ops/axis.h"

static const hn_attr attrs[] = { HN_ATTR_INT(axis_attrs, dim, "0"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const int64_t given = ((const axis_attrs *)call->attrs)->dim;
    const hn_type *a = &call->in[0]->type, *b = &call->in[1]->type;
    HN_TRY(axis_check(call, 0, given));
    HN_TRY(axis_refuse_blocks(call, 0));
    HN_TRY(hn_expect_rank(call, 1, a->rank));
    if (a->dtype != b->dtype)
        return hn_refuse(call, "a is %s, b is %s", hn_dtype_name(a->dtype),
                         hn_dtype_name(b->dtype));
    const int dim = axis_number(a, given);
    int64_t dims[HN_MAX_RANK];
    for (int i = 0; i < a->rank; i++) {
        dims[i] = a->dim[i];
        if (i != dim)
            HN_TRY(hn_expect_dim(call, 1, i, a->dim[i]));
    }
    dims[dim] += b->dim[dim];
    return hn_type_make(out, a->dtype, a->rank, dims);
}

static void forward(const hn_call *call)
{
    const int64_t dim = ((const axis_attrs *)call->attrs)->dim;
    const axis y = axis_of(&call->out[0]->type, dim);
    int64_t begin = 0;
    for (int part = 0; part < 2; part++) {
        const axis x = axis_of(&call->in[part]->type, dim);
        const int64_t n = x.n * x.inner;
        for (int64_t o = 0; o < x.outer; o++)
            for (int64_t i = 0; i < n; i++)
                axis_move(call->out[0], (o * y.n + begin) * y.inner + i, call->in[part],
                          o * n + i);
        begin += x.n;
    }
}

static void backward(hn_grad *d)
{
    const int64_t dim = ((const axis_attrs *)d->attrs)->dim;
    if (d->wants[0])
        d->din[0] = hn_slice_of(d->g, d->dout[0], d->in[0], NULL, dim);
    if (d->wants[1])
        d->din[1] = hn_slice_of(d->g, d->dout[0], d->in[1], d->in[0], dim);
}

static const char *const cases[] = { "f32[1] f32[1]",
                                     "f32[3,5] f32[2,5]",
                                     "f32[3,5] f32[3,2] dim=1",
                                     "f32[2,3,4] f32[2,1,4] dim=-2",
                                     "bf16[7,3] bf16[7,9] dim=-1",
                                     "i32[4]{0:9} i32[3]{0:9}",
                                     NULL };
/* clang-format off */
const hn_op hn_op_concat = {
    .name = "concat", .summary = "y = a, then b, along dim", .inputs = "a b", .attrs = attrs,
    .attrs_size = sizeof(axis_attrs), .affine_in = HN_IN(0) | HN_IN(1), .is_jointly_affine = true,
    .infer = infer, .forward = forward, .backward = backward, .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_concat(hn_graph *g, hn_node *a, hn_node *b, int64_t dim)
{
    return HN_APPLY(g, &hn_op_concat, &((axis_attrs){ dim }), a, b);
}
