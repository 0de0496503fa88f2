/* div: y = a / b, broadcast like numpy. */
#include "ops/pairwise.h"

static double value(double a, double b) { return a / b; }

static void forward(const hn_call *call) { pairwise_values(call, value); }

static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    hn_node *da = hn_div(g, d->dout[0], d->in[1]);
    if (d->wants[0])
        d->din[0] = hn_unbroadcast(g, da, d->in[0]);
    if (d->wants[1])
        d->din[1] = hn_unbroadcast(g, hn_neg(g, hn_mul(g, da, d->out[0])), d->in[1]);
}

static const char *const cases[] = { "f32[1] f32[1]{0.5:2}",
                                     "f32[3,5] f32[3,5]{-2:-0.5}",
                                     "f32[2,3,5] f32[5]{0.5:2}",
                                     "f32[4,1] f32[1,6]{0.5:2}",
                                     "f32[5] f32[]{0.5:2}",
                                     "bf16[7,9] bf16[9]{0.5:2}",
                                     NULL };
/* clang-format off */
const hn_op hn_op_div = {
    .name = "div", .summary = "y = a / b", .inputs = "a b", .affine_in = HN_IN(0),
    .infer = pairwise_infer, .forward = forward, .backward = backward, .flops_per_element = 1,
    .may_overwrite = { HN_IN(0) | HN_IN(1) }, .cases = cases, .tolerance = 2e-7,
};
/* clang-format on */
hn_node *hn_div(hn_graph *g, hn_node *a, hn_node *b)
{
    return HN_APPLY(g, &hn_op_div, NULL, a, b);
}
