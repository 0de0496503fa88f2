/* softcap: y = cap tanh(x / cap), the bound that Gemma 2 puts on logits. */
#include "ops/map.h"

static const hn_attr attrs[] = { HN_ATTR_FLOAT(softcap_attrs, cap, "30"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    if (!(((const softcap_attrs *)call->attrs)->cap > 0))
        return hn_refuse(call, "cap is %g: expected more than 0",
                         (double)((const softcap_attrs *)call->attrs)->cap);
    return map_infer(call, out);
}

static double value(const void *attributes, double x)
{
    const softcap_attrs *at = attributes;
    return (double)at->cap * hn_math_tanh(x / (double)at->cap);
}

static void forward(const hn_call *call) { map_values(call, value); }

static void backward(hn_grad *d)
{
    const float cap = ((const softcap_attrs *)d->attrs)->cap;
    d->din[0] = hn_softcap_grad(d->g, d->in[0], d->dout[0], cap);
}

static const char *const cases[] = {
    "f32[1]", "f32[3,5] cap=1.5", "f32[2,3,17] cap=0.5", "bf16[7,9] cap=3", "f16[33]", NULL
};
/* clang-format off */
const hn_op hn_op_softcap = {
    .name = "softcap", .summary = "y = cap tanh(x / cap)", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(softcap_attrs),
    .infer = infer, .forward = forward, .backward = backward, .flops_per_element = 6,
    .may_overwrite = { HN_IN(0) }, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_softcap(hn_graph *g, hn_node *x, float cap)
{
    return HN_APPLY(g, &hn_op_softcap, &((softcap_attrs){ cap }), x);
}
