/* swiglu_grad: the gradients of swiglu, both from one reading of its inputs (ops/pair.h). */
#include "ops/pair.h"

static double act(gelu_form form, double gate)
{
    (void)form;
    return silu_of(gate);
}

static double slope(gelu_form form, double gate)
{
    (void)form;
    return silu_slope(gate);
}

static void forward(const hn_call *call) { pair_grads(call, act, slope); }

static const char *const cases[] = { "f32[1] f32[1] f32[1]",
                                     "f32[3,5] f32[3,5] f32[3,5]",
                                     "f32[2,3,17] f32[2,3,17] f32[2,3,17]",
                                     "f16[33] f16[33] f16[33]",
                                     "bf16[7,9] bf16[7,9] bf16[7,9]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_swiglu_grad = {
    .name = "swiglu_grad", .summary = "dgate, dup of swiglu", .inputs = "gate up dy",
    .outputs = "dgate dup", .infer = pair_grad_infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 12,
    .may_overwrite = { HN_IN(0) | HN_IN(1) | HN_IN(2), HN_IN(0) | HN_IN(1) | HN_IN(2) },
    .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_swiglu_grad(hn_graph *g, hn_node *gate, hn_node *up, hn_node *dy)
{
    return HN_APPLY(g, &hn_op_swiglu_grad, NULL, gate, up, dy);
}
