/* softcap_grad: dx = dy (1 - tanh(x / cap)^2). */
#include "ops/map.h"

static const hn_attr attrs[] = { HN_ATTR_FLOAT(softcap_attrs, cap, "30"), HN_ATTR_END };

static double value(const void *attributes, double x, double dy)
{
    const softcap_attrs *at = attributes;
    const double t = hn_math_tanh(x / (double)at->cap);
    return dy * (1 - t * t);
}

static void forward(const hn_call *call) { map_grads(call, value); }

static const char *const cases[] = { "f32[1] f32[1]", "f32[3,5] f32[3,5] cap=1.5",
                                     "f32[2,3,17] f32[2,3,17] cap=0.5",
                                     "bf16[7,9] bf16[7,9] cap=3", NULL };
/* clang-format off */
const hn_op hn_op_softcap_grad = {
    .name = "softcap_grad", .summary = "dx = dy (1 - tanh(x / cap)^2)", .inputs = "x dy",
    .outputs = "dx", .attrs = attrs, .attrs_size = sizeof(softcap_attrs),
    .infer = map_grad_infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 8,
    .may_overwrite = { HN_IN(0) | HN_IN(1) }, .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_softcap_grad(hn_graph *g, hn_node *x, hn_node *dy, float cap)
{
    return HN_APPLY(g, &hn_op_softcap_grad, &((softcap_attrs){ cap }), x, dy);
}
