/* relu_grad: dx = dy where x > 0, else 0. */
#include "ops/map.h"

static double value(const void *attributes, double x, double dy)
{
    (void)attributes;
    return x > 0 ? dy : 0;
}

static void forward(const hn_call *call) { map_grads(call, value); }

static const char *const cases[] = { "f32[1] f32[1]",           "f32[3,5] f32[3,5]",
                                     "f32[2,3,17] f32[2,3,17]", "f16[33] f16[33]",
                                     "bf16[7,9] bf16[7,9]",     NULL };
/* clang-format off */
const hn_op hn_op_relu_grad = {
    .name = "relu_grad", .summary = "dx = dy where x > 0", .inputs = "x dy",
    .outputs = "dx",
    .infer = map_grad_infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 2,
    .may_overwrite = { HN_IN(0) | HN_IN(1) }, .cases = cases, .tolerance = 2e-7,
};
/* clang-format on */
hn_node *hn_relu_grad(hn_graph *g, hn_node *x, hn_node *dy)
{
    return HN_APPLY(g, &hn_op_relu_grad, NULL, x, dy);
}
