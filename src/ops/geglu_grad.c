/* geglu_grad: the gradients of geglu, both from one reading of its inputs (ops/pair.h). */
#include "ops/pair.h"

static const hn_attr attrs[] = { HN_ATTR_ENUM(gelu_attrs, form, "tanh", "tanh|erf"),
                                 HN_ATTR_END };

static void forward(const hn_call *call) { pair_grads(call, gelu_of, gelu_slope); }

static const char *const cases[] = { "f32[1] f32[1] f32[1]",
                                     "f32[3,5] f32[3,5] f32[3,5] form=erf",
                                     "f32[2,3,17] f32[2,3,17] f32[2,3,17]",
                                     "f16[33] f16[33] f16[33]",
                                     "bf16[7,9] bf16[7,9] bf16[7,9] form=erf",
                                     NULL };
/* clang-format off */
const hn_op hn_op_geglu_grad = {
    .name = "geglu_grad", .summary = "dgate, dup of geglu", .inputs = "gate up dy",
    .outputs = "dgate dup", .attrs = attrs, .attrs_size = sizeof(gelu_attrs),
    .infer = pair_grad_infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 16,
    .may_overwrite = { HN_IN(0) | HN_IN(1) | HN_IN(2), HN_IN(0) | HN_IN(1) | HN_IN(2) },
    .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_geglu_grad(hn_graph *g, hn_node *gate, hn_node *up, hn_node *dy, int form)
{
    return HN_APPLY(g, &hn_op_geglu_grad, &((gelu_attrs){ form }), gate, up, dy);
}
