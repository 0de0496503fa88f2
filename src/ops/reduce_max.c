/* reduce_max: the largest element along one dimension. NaN is passed over; where there is
 * nothing else, -inf. The gradient goes to the first of equal ones. */
#include "ops/reduction.h"

static const hn_attr attrs[] = REDUCTION_TABLE;

static double reduce(const hn_tensor *x, int64_t first, int64_t step, int64_t n)
{
    double best = -(double)INFINITY;
    for (int64_t k = 0; k < n; k++)
        if (hn_get(x, first + k * step) > best)
            best = hn_get(x, first + k * step);
    return best;
}

static void forward(const hn_call *call) { reduction_values(call, reduce); }

static void backward(hn_grad *d)
{
    const reduction_attrs *at = d->attrs;
    d->din[0] = hn_first_grad(d->g, d->in[0], d->out[0], d->dout[0], at->dim, at->keep);
}

static const char *const cases[] = { "f32[1]",
                                     "f32[3,33]{perm}",
                                     "f32[3,7,5]{perm} dim=1",
                                     "f32[6,4]{perm} dim=0 keep=1",
                                     "bf16[4,8]{perm} keep=1",
                                     NULL };
/* clang-format off */
const hn_op hn_op_reduce_max = {
    .name = "reduce_max", .summary = "y = the largest of x along dim", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(reduction_attrs), .infer = reduction_infer,
    .forward = forward, .backward = backward, .flops = reduction_flops, .cases = cases,
    .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_reduce_max(hn_graph *g, hn_node *x, int64_t dim, bool keep)
{
    return HN_APPLY(g, &hn_op_reduce_max, &((reduction_attrs){ dim, keep }), x);
}
