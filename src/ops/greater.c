/* greater: y = a > b as 0 or 1, broadcast like numpy. */
#include "ops/pairwise.h"

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(pairwise_infer(call, out));
    return hn_type_as(out, out, HN_U8);
}

static double value(double a, double b) { return a > b ? 1 : 0; }

static void forward(const hn_call *call) { pairwise_values(call, value); }

static const char *const cases[] = { "f32[1] f32[1]",     "f32[3,5] f32[3,5]",
                                     "f32[2,3,5] f32[5]", "f32[4,1] f32[1,6]",
                                     "bf16[7,9] bf16[9]", NULL };
/* clang-format off */
const hn_op hn_op_greater = {
    .name = "greater", .summary = "y = a > b, as u8", .inputs = "a b",
    .infer = infer, .forward = forward, .no_gradient = "integer output",
    .flops_per_element = 1, .cases = cases, .kink_where_equal = true,
};
/* clang-format on */
hn_node *hn_greater(hn_graph *g, hn_node *a, hn_node *b)
{
    return HN_APPLY(g, &hn_op_greater, NULL, a, b);
}
