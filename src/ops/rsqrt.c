/* rsqrt: y = 1 / sqrt(x), by division and root: no estimate. */
#include "ops/map.h"

static double value(const void *attributes, double x)
{
    (void)attributes;
    return 1 / sqrt(x);
}

static void forward(const hn_call *call) { map_values(call, value); }

static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    hn_node *y = d->out[0], *cube = hn_mul(g, hn_sqr(g, y), y);
    d->din[0] = hn_mul(g, d->dout[0], hn_scale(g, cube, -0.5f, 0));
}

static const char *const cases[] = { "f32[1]",  "f32[3,5]",  "f32[2,3,17]",
                                     "f16[33]", NULL };
/* clang-format off */
const hn_op hn_op_rsqrt = {
    .name = "rsqrt", .summary = "y = 1 / sqrt(x)", .inputs = "x",
    .infer = map_infer, .forward = forward, .backward = backward, .flops_per_element = 1,
    .may_overwrite = { HN_IN(0) }, .cases = cases, .tolerance = 4e-7, .low = 0.1, .high = 3,
};
/* clang-format on */
hn_node *hn_rsqrt(hn_graph *g, hn_node *x) { return HN_APPLY(g, &hn_op_rsqrt, NULL, x); }
