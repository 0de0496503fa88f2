/* mean: over one dimension; the sum is divided once, in double. */
#include "ops/reduction.h"

static const hn_attr attrs[] = REDUCTION_TABLE;

static double reduce(const hn_tensor *x, int64_t first, int64_t step, int64_t n)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += hn_get(x, first + k * step);
    return sum / (double)n;
}

static void forward(const hn_call *call) { reduction_values(call, reduce); }

static void backward(hn_grad *d)
{
    const reduction_attrs *at = d->attrs;
    d->din[0] = hn_mean_grad(d->g, d->dout[0], d->in[0], at->dim, at->keep);
}

static const char *const cases[] = { "f32[1]",
                                     "f32[5,33]",
                                     "f32[3,7,5] dim=1",
                                     "f32[6,4] dim=0 keep=1",
                                     "bf16[5,8] dim=0",
                                     "f16[4,64] keep=1",
                                     NULL };
/* clang-format off */
const hn_op hn_op_mean = {
    .name = "mean", .summary = "y = the mean of x over dim", .inputs = "x", .attrs = attrs,
    .attrs_size = sizeof(reduction_attrs), .affine_in = HN_IN(0),
    .infer = reduction_infer, .forward = forward, .backward = backward,
    .flops = reduction_flops, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_mean(hn_graph *g, hn_node *x, int64_t dim, bool keep)
{
    return HN_APPLY(g, &hn_op_mean, &((reduction_attrs){ dim, keep }), x);
}
