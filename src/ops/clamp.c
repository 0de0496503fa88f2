/* clamp: y = min(high, max(low, x)); NaN stays. At the ends themselves the gradient passes. */
#include "ops/map.h"

static const hn_attr attrs[] = { HN_ATTR_FLOAT(clamp_attrs, low, "-inf"),
                                 HN_ATTR_FLOAT(clamp_attrs, high, "inf"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const clamp_attrs *at = call->attrs;
    if (at->low > at->high)
        return hn_refuse(call, "low is %g, high is %g", (double)at->low, (double)at->high);
    return map_infer(call, out);
}

static int kinks(const void *attributes, double at[4])
{
    const clamp_attrs *a = attributes;
    int n = 0;
    if (isfinite(a->low))
        at[n++] = (double)a->low;
    if (isfinite(a->high))
        at[n++] = (double)a->high;
    return n;
}

static double value(const void *attributes, double x)
{
    const clamp_attrs *at = attributes;
    const double low = (double)at->low, high = (double)at->high;
    const double raised = low > x ? low : x;
    return high < raised ? high : raised;
}

static void forward(const hn_call *call) { map_values(call, value); }

static void backward(hn_grad *d)
{
    const clamp_attrs *at = d->attrs;
    d->din[0] = hn_clamp_grad(d->g, d->in[0], d->dout[0], at->low, at->high);
}

static const char *const cases[] = { "f32[1] low=0",
                                     "f32[3,5] low=-0.5 high=1",
                                     "f32[2,3,17] high=0.25",
                                     "bf16[7,9] low=-1 high=1",
                                     "f16[33]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_clamp = {
    .name = "clamp", .summary = "y = min(high, max(low, x))", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(clamp_attrs),
    .infer = infer, .forward = forward, .backward = backward, .flops_per_element = 1,
    .may_overwrite = { HN_IN(0) }, .cases = cases, .tolerance = 2e-7, .kinks = kinks,
};
/* clang-format on */
hn_node *hn_clamp(hn_graph *g, hn_node *x, float low, float high)
{
    return HN_APPLY(g, &hn_op_clamp, &((clamp_attrs){ low, high }), x);
}
