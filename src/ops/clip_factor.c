/* clip_factor: y = min(1, max / (sqrt(norm_sq) + 1e-6)), the factor that brings a gradient's
 * global norm down to `max`, as torch's clip_grad_norm_ has it. */
#include "ops/ops.h"

typedef struct clip_factor {
    float max;
} clip_factor;

static const hn_attr attrs[] = { HN_ATTR_FLOAT(clip_factor, max, "1"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, 0));
    HN_TRY(hn_expect_scalar(call, 0));
    if (!(((const clip_factor *)call->attrs)->max > 0))
        return hn_refuse(call, "max is %g: expected above 0",
                         (double)((const clip_factor *)call->attrs)->max);
    *out = (hn_type){ .dtype = HN_F32 };
    return HN_OK;
}

static void forward(const hn_call *call)
{
    const double max = (double)((const clip_factor *)call->attrs)->max;
    const double factor = max / (sqrt(hn_get(call->in[0], 0)) + 1e-6);
    hn_set(call->out[0], 0, factor > 1 ? 1 : factor);
}

static const char *const cases[] = { "f64[]{0.1:0.5}", "f64[]{3:9}", "f32[1]{3:9} max=0.5",
                                     NULL };
/* clang-format off */
const hn_op hn_op_clip_factor = {
    .name = "clip_factor", .summary = "y = min(1, max / (sqrt(norm_sq) + 1e-6))",
    .inputs = "norm_sq!", .attrs = attrs, .attrs_size = sizeof(clip_factor), .infer = infer,
    .forward = forward, .no_gradient = "clipping follows the gradient, and is not part of it",
    .flops_per_element = 4, .cases = cases, .tolerance = 2e-7,
};
/* clang-format on */
hn_node *hn_clip_factor(hn_graph *g, hn_node *norm_sq, float max)
{
    return HN_APPLY(g, &hn_op_clip_factor, &((clip_factor){ max }), norm_sq);
}
