/* relu: y = max(0, x); the slope at 0 is 0. */
#include "ops/map.h"

static int kinks(const void *attributes, double at[4])
{
    (void)attributes;
    at[0] = 0;
    return 1;
}

static double value(const void *attributes, double x)
{
    (void)attributes;
    return 0 > x ? 0 : x;
}

static void forward(const hn_call *call) { map_values(call, value); }

static void backward(hn_grad *d) { d->din[0] = hn_relu_grad(d->g, d->in[0], d->dout[0]); }

static const char *const cases[] = { "f32[1]",  "f32[3,5]",  "f32[2,3,17]",
                                     "f16[33]", "bf16[7,9]", NULL };
/* clang-format off */
const hn_op hn_op_relu = {
    .name = "relu", .summary = "y = max(0, x)", .inputs = "x",
    .infer = map_infer, .forward = forward, .backward = backward, .flops_per_element = 1,
    .may_overwrite = { HN_IN(0) }, .cases = cases, .tolerance = 2e-7, .kinks = kinks,
};
/* clang-format on */
hn_node *hn_relu(hn_graph *g, hn_node *x) { return HN_APPLY(g, &hn_op_relu, NULL, x); }
