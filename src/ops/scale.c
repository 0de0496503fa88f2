/* scale: y = a * x + b, one fused multiply-add. */
#include "ops/ops.h"

typedef struct scale {
    float a, b;
} scale;

static const hn_attr attrs[] = { HN_ATTR_FLOAT(scale, a, "1"), HN_ATTR_FLOAT(scale, b, "0"),
                                 HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    return hn_infer_like(call, 0, out);
}

static void forward(const hn_call *call)
{
    const scale *at = call->attrs;
    for (int64_t i = 0; i < hn_count(&call->out[0]->type); i++)
        hn_set(call->out[0], i, (double)at->a * hn_get(call->in[0], i) + (double)at->b);
}

static void backward(hn_grad *d)
{
    d->din[0] = hn_scale(d->g, d->dout[0], ((const scale *)d->attrs)->a, 0);
}

static const char *const cases[] = { "f32[1] a=2", "f32[3,5] a=-0.5 b=3", "f16[33] a=3",
                                     "bf16[4,7] b=1", NULL };
/* clang-format off */
const hn_op hn_op_scale = {
    .name = "scale", .summary = "y = a * x + b", .inputs = "x", .attrs = attrs,
    .attrs_size = sizeof(scale), .affine_in = HN_IN(0),
    .infer = infer, .forward = forward, .backward = backward,
    .flops_per_element = 2, .may_overwrite = { HN_IN(0) }, .cases = cases, .tolerance = 2e-7,
};
/* clang-format on */
hn_node *hn_scale(hn_graph *g, hn_node *x, float a, float b)
{
    return HN_APPLY(g, &hn_op_scale, &((scale){ a, b }), x);
}
