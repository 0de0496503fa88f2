/* mean_grad: dx = dy / n, all along the dimension. n is read off x when it runs, because a run
 * may have fewer elements than the graph was built for. */
#include "ops/reduction.h"

enum { DY, X };

static const hn_attr attrs[] = REDUCTION_TABLE;

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, DY));
    return reduction_back(call, DY, X, call->in[DY]->type.dtype, out);
}

static void forward(const hn_call *call)
{
    const axis a = axis_of(&call->out[0]->type, reduction_of(call->attrs)->dim);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t k = 0; k < a.n; k++)
            for (int64_t i = 0; i < a.inner; i++)
                hn_set(call->out[0], (o * a.n + k) * a.inner + i,
                       hn_get(call->in[DY], o * a.inner + i) / (double)a.n);
}

static const char *const cases[] = { "f32[] f32[1]",
                                     "f32[5] f32[5,33]",
                                     "f32[3,5] f32[3,7,5] dim=1",
                                     "f32[1,4] f32[6,4] dim=0 keep=1",
                                     "bf16[4,1] f32[4,8] keep=1",
                                     NULL };
/* clang-format off */
const hn_op hn_op_mean_grad = {
    .name = "mean_grad", .summary = "dx = dy / n, all along dim", .inputs = "dy x~",
    .outputs = "dx", .attrs = attrs, .attrs_size = sizeof(reduction_attrs),
    .affine_in = HN_IN(DY), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 1,
    .cases = cases, .tolerance = 2e-7,
};
/* clang-format on */
hn_node *hn_mean_grad(hn_graph *g, hn_node *dy, hn_node *x, int64_t dim, bool keep)
{
    return HN_APPLY(g, &hn_op_mean_grad, &((reduction_attrs){ dim, keep }), dy, x);
}
