/* pow: y = a^b, as C has it: NaN where a is negative and b no integer, 1 where b is 0.
 * The gradients are
 *     da = dy b a^(b-1), 0 where b is 0;   db = dy y ln a, 0 where a is 0. */
#include "ops/pairwise.h"

static double value(double a, double b) { return hn_math_pow(a, b); }

static void forward(const hn_call *call) { pairwise_values(call, value); }

static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    hn_node *a = d->in[0], *b = d->in[1], *dy = d->dout[0];
    if (d->wants[0]) {
        hn_node *zero = pairwise_zero(g, b), *is_used = hn_greater(g, hn_abs(g, b), zero);
        hn_node *slope = hn_mul(g, hn_pow(g, a, hn_scale(g, b, 1, -1)), b);
        d->din[0] = hn_unbroadcast(g, hn_mul(g, dy, hn_where(g, is_used, slope, zero)), a);
    }
    if (d->wants[1]) {
        hn_node *zero = pairwise_zero(g, a), *is_used = hn_greater(g, hn_abs(g, a), zero);
        hn_node *safe = hn_where(g, is_used, a, hn_scale(g, zero, 1, 1));
        hn_node *slope = hn_mul(g, d->out[0], hn_log(g, safe));
        d->din[1] = hn_unbroadcast(g, hn_mul(g, dy, slope), b);
    }
}

static const char *const cases[] = { "f32[1] f32[1]",
                                     "f32[3,5] f32[3,5]",
                                     "f32[2,3,5] f32[5]",
                                     "f32[4,1] f32[1,6]",
                                     "f32[5] f32[]",
                                     "bf16[7,9] bf16[9]{1:2}",
                                     NULL };
/* clang-format off */
const hn_op hn_op_pow = {
    .name = "pow", .summary = "y = a^b", .inputs = "a b",
    .infer = pairwise_infer, .forward = forward, .backward = backward, .flops_per_element = 1,
    .may_overwrite = { HN_IN(0) | HN_IN(1) }, .cases = cases, .tolerance = 4e-7, .low = 0.3, .high = 2,
};
/* clang-format on */
hn_node *hn_pow(hn_graph *g, hn_node *a, hn_node *b)
{
    return HN_APPLY(g, &hn_op_pow, NULL, a, b);
}
