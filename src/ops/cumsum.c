/* cumsum: running sums along one dimension, one chain, from the first element or (reverse) from
 * the last. */
#include "ops/axis.h"

static const hn_attr attrs[] = { HN_ATTR_INT(cumsum_attrs, dim, "-1"),
                                 HN_ATTR_BOOL(cumsum_attrs, reverse, "0"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(axis_check(call, 0, ((const cumsum_attrs *)call->attrs)->dim));
    return hn_infer_like(call, 0, out);
}

static void forward(const hn_call *call)
{
    const cumsum_attrs *at = call->attrs;
    const axis a = axis_of(&call->in[0]->type, at->dim);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t i = 0; i < a.inner; i++) {
            double sum = 0;
            for (int64_t k = 0; k < a.n; k++) {
                const int64_t place = at->reverse ? a.n - 1 - k : k;
                const int64_t index = (o * a.n + place) * a.inner + i;
                sum += hn_get(call->in[0], index);
                hn_set(call->out[0], index, sum);
            }
        }
}

static void backward(hn_grad *d)
{
    const cumsum_attrs *at = d->attrs;
    d->din[0] = hn_cumsum(d->g, d->dout[0], at->dim, !at->reverse);
}

static const char *const cases[] = {
    "f32[1]",         "f32[3,33]",           "f32[3,7,5] dim=1 reverse=1",
    "f32[6,4] dim=0", "bf16[4,8] reverse=1", NULL
};
/* clang-format off */
const hn_op hn_op_cumsum = {
    .name = "cumsum", .summary = "y[k] = x[0] + ... + x[k] along dim", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(cumsum_attrs), .affine_in = HN_IN(0),
    .infer = infer, .forward = forward, .backward = backward, .flops_per_element = 1,
    .may_overwrite = { HN_IN(0) }, .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_cumsum(hn_graph *g, hn_node *x, int64_t dim, bool reverse)
{
    return HN_APPLY(g, &hn_op_cumsum, &((cumsum_attrs){ dim, reverse }), x);
}
