/* softmax_grad: with s = sum(y dy) of a row:  dx = scale y (dy - s),  dsink = -sink s.
 * dx may take the memory of y or of dy: both are read before an element of it is written, and s
 * before all of them. */
#include "ops/attrs.h"
#include "ops/ops.h"

enum { Y, DY, SINK };

static const hn_attr attrs[] = { HN_ATTR_FLOAT(softmax_attrs, scale, "1"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_rank_between(call, Y, 1, HN_MAX_RANK));
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_same(call, DY, Y));
    HN_TRY(hn_infer_like(call, Y, &out[0]));
    HN_TRY(hn_type_make(&out[1], out[0].dtype, out[0].rank - 1, out[0].dim));
    if (!call->in[SINK])
        return HN_OK;
    HN_TRY(hn_expect_float(call, SINK));
    HN_TRY(hn_expect_rank(call, SINK, out[1].rank));
    for (int i = 0; i < out[1].rank; i++)
        HN_TRY(hn_expect_dim(call, SINK, i, out[1].dim[i]));
    return HN_OK;
}

static void forward(const hn_call *call)
{
    const hn_tensor *y = call->in[Y], *dy = call->in[DY], *sink = call->in[SINK];
    const int64_t n = hn_last_dim(&y->type), rows = hn_rows(&y->type);
    const double scale = (double)((const softmax_attrs *)call->attrs)->scale;
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t i = row * n; i < row * n + n; i++)
            sum += hn_get(y, i) * hn_get(dy, i);
        for (int64_t i = row * n; i < row * n + n; i++)
            hn_set(call->out[0], i, scale * hn_get(y, i) * (hn_get(dy, i) - sum));
        if (call->out[1])
            hn_set(call->out[1], row, sink ? -hn_get(sink, row) * sum : 0);
    }
}

static const char *const cases[] = {
    "f32[1,1] f32[1,1]",   "f32[5,33] f32[5,33] scale=0.5", "f32[4,3,8] f32[4,3,8] f32[4,3]",
    "f32[6] f32[6] f32[]", "bf16[4,64] bf16[4,64]",         NULL
};
/* clang-format off */
const hn_op hn_op_softmax_grad = {
    .name = "softmax_grad", .summary = "dx, dsink of softmax", .inputs = "y dy sink?!",
    .outputs = "dx dsink", .attrs = attrs, .attrs_size = sizeof(softmax_attrs), .infer = infer,
    .forward = forward, .no_gradient = "second derivatives are not provided",
    .flops_per_element = 5, .may_overwrite = { HN_IN(Y) | HN_IN(DY) },
    .cases = cases, .tolerance = 4e-6, .low = 0, .high = 1,
};
/* clang-format on */
hn_node *hn_softmax_grad(hn_graph *g, hn_node *y, hn_node *dy, hn_node *sink, float scale)
{
    return HN_APPLY(g, &hn_op_softmax_grad, &((softmax_attrs){ scale }), y, dy, sink);
}
