/* logsumexp: y = m + ln(the sum of e^(x - m)) along one dimension, m its largest element; -inf
 * where all are -inf. The gradient is a softmax along that dimension. */
#include "ops/reduction.h"

static const hn_attr attrs[] = REDUCTION_TABLE;

static double reduce(const hn_tensor *x, int64_t first, int64_t step, int64_t n)
{
    double top = -(double)INFINITY, sum = 0;
    for (int64_t k = 0; k < n; k++)
        if (hn_get(x, first + k * step) > top)
            top = hn_get(x, first + k * step);
    if (isinf(top))
        return top;
    for (int64_t k = 0; k < n; k++)
        sum += hn_math_exp(hn_get(x, first + k * step) - top);
    return top + hn_math_log(sum);
}

static void forward(const hn_call *call) { reduction_values(call, reduce); }

static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    const reduction_attrs *at = d->attrs;
    hn_node *x = d->in[0], *p;
    if (axis_number(&x->type, at->dim) == x->type.rank - 1)
        p = hn_softmax(g, x, NULL, NULL, 1);
    else
        p = hn_transpose(g, hn_softmax(g, hn_transpose(g, x, at->dim, -1), NULL, NULL, 1),
                         at->dim, -1);
    d->din[0] = hn_mul(g, hn_spread(g, d->dout[0], x, at->dim, at->keep), p);
}

static double flops(const hn_call *call) { return 4 * reduction_flops(call); }

static const char *const cases[] = { "f32[1]",           "f32[5,33]",
                                     "f32[3,7,5] dim=1", "f32[6,4] dim=0 keep=1",
                                     "bf16[4,8] keep=1", NULL };
/* clang-format off */
const hn_op hn_op_logsumexp = {
    .name = "logsumexp", .summary = "y = ln(the sum of e^x along dim)", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(reduction_attrs), .infer = reduction_infer,
    .forward = forward, .backward = backward, .flops = flops, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_logsumexp(hn_graph *g, hn_node *x, int64_t dim, bool keep)
{
    return HN_APPLY(g, &hn_op_logsumexp, &((reduction_attrs){ dim, keep }), x);
}
