/* slice_grad: dy put where slice, or slice_of, took it from, in zeros of x's shape. */
#include "ops/axis.h"

enum { DY, X, BEFORE };

static const hn_attr attrs[] = { HN_ATTR_INT(slice_grad_attrs, dim, "0"),
                                 HN_ATTR_INT(slice_grad_attrs, begin, "0"),
                                 HN_ATTR_INT(slice_grad_attrs, step, "1"), HN_ATTR_END };

static int64_t begin_of(const hn_call *call)
{
    const slice_grad_attrs *at = call->attrs;
    const hn_type *x = &call->in[X]->type;
    const int dim = axis_number(x, at->dim);
    const int64_t begin = at->begin < 0 ? at->begin + x->dim[dim] : at->begin;
    return begin + (call->in[BEFORE] ? call->in[BEFORE]->type.dim[dim] : 0);
}

static hn_status infer(const hn_call *call, hn_type *out)
{
    const slice_grad_attrs *at = call->attrs;
    const hn_type *dy = &call->in[DY]->type, *x = &call->in[X]->type;
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_rank(call, DY, x->rank));
    if (call->in[BEFORE])
        HN_TRY(hn_expect_rank(call, BEFORE, x->rank));
    HN_TRY(axis_check(call, X, at->dim));
    const int dim = axis_number(x, at->dim);
    for (int i = 0; i < x->rank; i++)
        if (i != dim)
            HN_TRY(hn_expect_dim(call, DY, i, x->dim[i]));
    const int64_t begin = begin_of(call), n = dy->dim[dim];
    if (begin < 0 || at->step < 1 || begin >= x->dim[dim] ||
        n - 1 > (x->dim[dim] - 1 - begin) / at->step)
        return hn_refuse(call, "%lld elements from %lld by %lld do not lie in %lld",
                         (long long)n, (long long)begin, (long long)at->step,
                         (long long)x->dim[dim]);
    return hn_type_as(out, x, dy->dtype);
}

static void forward(const hn_call *call)
{
    const slice_grad_attrs *at = call->attrs;
    const hn_tensor *dy = call->in[DY], *dx = call->out[0];
    const axis from = axis_of(&dy->type, at->dim), to = axis_of(&dx->type, at->dim);
    const int64_t begin = begin_of(call);
    for (int64_t i = 0; i < hn_count(&dx->type); i++)
        hn_set(dx, i, 0);
    for (int64_t o = 0; o < to.outer; o++)
        for (int64_t k = 0; k < from.n; k++)
            for (int64_t i = 0; i < to.inner; i++)
                hn_set(dx, (o * to.n + begin + k * at->step) * to.inner + i,
                       hn_get(dy, (o * from.n + k) * to.inner + i));
}

static const char *const cases[] = { "f32[2] f32[5] begin=1",
                                     "f32[4,3] f32[4,6] dim=1 begin=-4",
                                     "f32[3,3,2] f32[3,9,2] dim=1 begin=1 step=3",
                                     "bf16[2,3] f32[7,3] f32[4,3]",
                                     "f32[4,2] f32[4,6] f32[4,3] dim=-1 begin=1",
                                     NULL };
/* clang-format off */
const hn_op hn_op_slice_grad = {
    .name = "slice_grad", .summary = "dy in zeros of x's shape", .inputs = "dy x~ before?~",
    .outputs = "dx", .attrs = attrs, .attrs_size = sizeof(slice_grad_attrs),
    .affine_in = HN_IN(DY), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_slice_grad(hn_graph *g, hn_node *dy, hn_node *x, hn_node *before, int64_t dim,
                       int64_t begin, int64_t step)
{
    return HN_APPLY(g, &hn_op_slice_grad, &((slice_grad_attrs){ dim, begin, step }), dy, x,
                    before);
}
