/* gelu_grad: dx = dy times the slope of gelu at x. */
#include "ops/activation.h"
#include "ops/map.h"

static const hn_attr attrs[] = { HN_ATTR_ENUM(gelu_attrs, form, "tanh", "tanh|erf"),
                                 HN_ATTR_END };

static double value(const void *attributes, double x, double dy)
{
    const gelu_attrs *at = attributes;
    return dy * gelu_slope((gelu_form)at->form, x);
}

static void forward(const hn_call *call) { map_grads(call, value); }

static const char *const cases[] = {
    "f32[1] f32[1]",       "f32[3,5] f32[3,5] form=erf", "f32[2,3,17] f32[2,3,17]",
    "bf16[7,9] bf16[7,9]", "f16[33] f16[33] form=erf",   NULL
};
/* clang-format off */
const hn_op hn_op_gelu_grad = {
    .name = "gelu_grad", .summary = "dx = dy times the slope of gelu at x", .inputs = "x dy",
    .outputs = "dx", .attrs = attrs, .attrs_size = sizeof(gelu_attrs),
    .infer = map_grad_infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 14,
    .may_overwrite = { HN_IN(0) | HN_IN(1) }, .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_gelu_grad(hn_graph *g, hn_node *x, hn_node *dy, int form)
{
    return HN_APPLY(g, &hn_op_gelu_grad, &((gelu_attrs){ form }), x, dy);
}
