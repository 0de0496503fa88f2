/* geglu: y = gelu(gate) * up, the gate of Gemma's feed-forward. */
#include "ops/pair.h"

static const hn_attr attrs[] = { HN_ATTR_ENUM(gelu_attrs, form, "tanh", "tanh|erf"),
                                 HN_ATTR_END };

static void forward(const hn_call *call) { pair_values(call, gelu_of); }

static void backward(hn_grad *d)
{
    const int form = ((const gelu_attrs *)d->attrs)->form;
    hn_node *dgate = hn_geglu_grad(d->g, d->in[0], d->in[1], d->dout[0], form);
    d->din[0] = dgate;
    d->din[1] = hn_output(dgate, 1);
}

static const char *const cases[] = {
    "f32[1] f32[1]",   "f32[3,5] f32[3,5] form=erf",   "f32[2,3,17] f32[2,3,17]",
    "f16[33] f16[33]", "bf16[7,9] bf16[7,9] form=erf", NULL
};
/* clang-format off */
const hn_op hn_op_geglu = {
    .name = "geglu", .summary = "y = gelu(gate) * up", .inputs = "gate up",
    .attrs = attrs, .attrs_size = sizeof(gelu_attrs),
    .infer = pair_infer, .forward = forward, .backward = backward, .flops_per_element = 10,
    .may_overwrite = { HN_IN(0) | HN_IN(1) }, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_geglu(hn_graph *g, hn_node *gate, hn_node *up, int form)
{
    return HN_APPLY(g, &hn_op_geglu, &((gelu_attrs){ form }), gate, up);
}
