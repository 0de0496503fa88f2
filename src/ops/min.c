/* min: y = a < b ? a : b, broadcast like numpy. Where they are equal the gradient is a's.
 * With one input it is the reduction. */
#include "ops/pairwise.h"

static double value(double a, double b) { return a < b ? a : b; }

static void forward(const hn_call *call) { pairwise_values(call, value); }

static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    hn_node *dy = d->dout[0], *zero = pairwise_zero(g, dy);
    hn_node *is_b = hn_greater(g, d->in[0], d->in[1]);
    if (d->wants[0])
        d->din[0] = hn_unbroadcast(g, hn_where(g, is_b, zero, dy), d->in[0]);
    if (d->wants[1])
        d->din[1] = hn_unbroadcast(g, hn_where(g, is_b, dy, zero), d->in[1]);
}

static const char *const cases[] = { "f32[1] f32[1]",
                                     "f32[3,5] f32[3,5]",
                                     "f32[2,3,5] f32[5]",
                                     "f32[4,1] f32[1,6]",
                                     "f32[5] f32[]",
                                     "bf16[7,9] bf16[9]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_min = {
    .name = "min", .summary = "the smaller of a and b", .inputs = "a b", .with_one_input = "reduce_min",
    .infer = pairwise_infer, .forward = forward, .backward = backward, .flops_per_element = 1,
    .may_overwrite = { HN_IN(0) | HN_IN(1) }, .cases = cases, .tolerance = 2e-7, .kink_where_equal = true,
};
/* clang-format on */
hn_node *hn_min(hn_graph *g, hn_node *a, hn_node *b)
{
    return HN_APPLY(g, &hn_op_min, NULL, a, b);
}
