/* swiglu: y = silu(gate) * up, the gate of LLaMA's feed-forward. */
#include "ops/pair.h"

static double act(gelu_form form, double gate)
{
    (void)form;
    return silu_of(gate);
}

static void forward(const hn_call *call) { pair_values(call, act); }

static void backward(hn_grad *d)
{
    hn_node *dgate = hn_swiglu_grad(d->g, d->in[0], d->in[1], d->dout[0]);
    d->din[0] = dgate;
    d->din[1] = hn_output(dgate, 1);
}

static const char *const cases[] = { "f32[1] f32[1]",           "f32[3,5] f32[3,5]",
                                     "f32[2,3,17] f32[2,3,17]", "f16[33] f16[33]",
                                     "bf16[7,9] bf16[7,9]",     NULL };
/* clang-format off */
const hn_op hn_op_swiglu = {
    .name = "swiglu", .summary = "y = silu(gate) * up", .inputs = "gate up",
    .infer = pair_infer, .forward = forward, .backward = backward, .flops_per_element = 6,
    .may_overwrite = { HN_IN(0) | HN_IN(1) }, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_swiglu(hn_graph *g, hn_node *gate, hn_node *up)
{
    return HN_APPLY(g, &hn_op_swiglu, NULL, gate, up);
}
