/* tanh: y = tanh x. */
#include "ops/map.h"

static double value(const void *attributes, double x)
{
    (void)attributes;
    return hn_math_tanh(x);
}

static void forward(const hn_call *call) { map_values(call, value); }

static void backward(hn_grad *d) { d->din[0] = hn_tanh_grad(d->g, d->out[0], d->dout[0]); }

static const char *const cases[] = { "f32[1]",  "f32[3,5]",  "f32[2,3,17]",
                                     "f16[33]", "bf16[7,9]", NULL };
/* clang-format off */
const hn_op hn_op_tanh = {
    .name = "tanh", .summary = "y = tanh x", .inputs = "x",
    .infer = map_infer, .forward = forward, .backward = backward, .flops_per_element = 4,
    .may_overwrite = { HN_IN(0) }, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_tanh(hn_graph *g, hn_node *x) { return HN_APPLY(g, &hn_op_tanh, NULL, x); }
