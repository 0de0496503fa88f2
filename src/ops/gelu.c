/* gelu: y = x times the normal distribution function at x, exactly (form=erf), or as
 * x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
#include "ops/activation.h"
#include "ops/map.h"

static const hn_attr attrs[] = { HN_ATTR_ENUM(gelu_attrs, form, "tanh", "tanh|erf"),
                                 HN_ATTR_END };

static double value(const void *attributes, double x)
{
    const gelu_attrs *at = attributes;
    return gelu_of((gelu_form)at->form, x);
}

static void forward(const hn_call *call) { map_values(call, value); }

static void backward(hn_grad *d)
{
    const int form = ((const gelu_attrs *)d->attrs)->form;
    d->din[0] = hn_gelu_grad(d->g, d->in[0], d->dout[0], form);
}

static const char *const cases[] = { "f32[1]",      "f32[3,5] form=erf",
                                     "f32[2,3,17]", "bf16[7,9] form=erf",
                                     "f16[33]",     NULL };
/* clang-format off */
const hn_op hn_op_gelu = {
    .name = "gelu", .summary = "y = x Phi(x), in its tanh or its erf form", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(gelu_attrs),
    .infer = map_infer, .forward = forward, .backward = backward, .flops_per_element = 9,
    .may_overwrite = { HN_IN(0) }, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_gelu(hn_graph *g, hn_node *x, int form)
{
    return HN_APPLY(g, &hn_op_gelu, &((gelu_attrs){ form }), x);
}
