/* clamp_grad: dx = dy where low <= x <= high, else 0. */
#include "ops/map.h"

static const hn_attr attrs[] = { HN_ATTR_FLOAT(clamp_attrs, low, "-inf"),
                                 HN_ATTR_FLOAT(clamp_attrs, high, "inf"), HN_ATTR_END };

static double value(const void *attributes, double x, double dy)
{
    const clamp_attrs *at = attributes;
    return x >= (double)at->low && x <= (double)at->high ? dy : 0;
}

static void forward(const hn_call *call) { map_grads(call, value); }

static const char *const cases[] = { "f32[1] f32[1] low=0", "f32[3,5] f32[3,5] low=-0.5 high=1",
                                     "f32[2,3,17] f32[2,3,17] high=0.25",
                                     "bf16[7,9] bf16[7,9] low=-1 high=1", NULL };
/* clang-format off */
const hn_op hn_op_clamp_grad = {
    .name = "clamp_grad", .summary = "dx = dy where low <= x <= high", .inputs = "x dy",
    .outputs = "dx", .attrs = attrs, .attrs_size = sizeof(clamp_attrs),
    .infer = map_grad_infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 2,
    .may_overwrite = { HN_IN(0) | HN_IN(1) }, .cases = cases, .tolerance = 2e-7,
};
/* clang-format on */
hn_node *hn_clamp_grad(hn_graph *g, hn_node *x, hn_node *dy, float low, float high)
{
    return HN_APPLY(g, &hn_op_clamp_grad, &((clamp_attrs){ low, high }), x, dy);
}
