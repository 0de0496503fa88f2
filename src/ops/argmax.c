/* argmax: the index of the largest element along one dimension, the first of equal ones. NaN is
 * passed over; where there is nothing else, 0. */
#include "ops/reduction.h"

static const hn_attr attrs[] = REDUCTION_TABLE;

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, 0));
    return reduction_type(call, 0, HN_I32, out);
}

static double reduce(const hn_tensor *x, int64_t first, int64_t step, int64_t n)
{
    double best = -(double)INFINITY;
    int64_t at = 0;
    for (int64_t k = 0; k < n; k++)
        if (hn_get(x, first + k * step) > best) {
            best = hn_get(x, first + k * step);
            at = k;
        }
    return (double)at;
}

static void forward(const hn_call *call) { reduction_values(call, reduce); }

static const char *const cases[] = {
    "f32[1]",          "f32[3,33]", "f32[3,7,5]{mask} dim=1", "f32[6,4] dim=0 keep=1",
    "bf16[4,64]{0:9}", NULL
};
/* clang-format off */
const hn_op hn_op_argmax = {
    .name = "argmax", .summary = "y = the index of the largest of x along dim", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(reduction_attrs), .infer = infer, .forward = forward,
    .no_gradient = "integer output", .flops = reduction_flops, .cases = cases,
};
/* clang-format on */
hn_node *hn_argmax(hn_graph *g, hn_node *x, int64_t dim, bool keep)
{
    return HN_APPLY(g, &hn_op_argmax, &((reduction_attrs){ dim, keep }), x);
}
