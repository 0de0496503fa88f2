/* take_grad: each element of dy added where take read it, in ascending order, from zero. */
#include "ops/take.h"

enum { DY, IDS, X };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(take_rows(call, IDS, X));
    HN_TRY(hn_expect_same(call, DY, IDS));
    return hn_type_as(out, &call->in[X]->type, call->in[DY]->type.dtype);
}

static hn_status check(const hn_call *call)
{
    return take_check(call, IDS, hn_last_dim(&call->in[X]->type));
}

static void forward(const hn_call *call)
{
    const hn_tensor *dy = call->in[DY], *ids = call->in[IDS], *dx = call->out[0];
    const int64_t n = hn_last_dim(&dx->type), k = hn_last_dim(&ids->type);
    for (int64_t i = 0; i < hn_count(&dx->type); i++) {
        double sum = 0;
        for (int64_t u = 0; u < k; u++)
            if (hn_get_int(ids, i / n * k + u) == i % n)
                sum += hn_get(dy, i / n * k + u);
        hn_set(dx, i, sum);
    }
}

static void backward(hn_grad *d) { d->din[DY] = hn_take(d->g, d->dout[0], d->in[IDS]); }

static const char *const cases[] = { "f32[1] i32[1]{0:1} f32[1]",
                                     "f32[5,4] i32[5,4]{0:17} f32[5,17]",
                                     "f32[2,3,9] i32[2,3,9]{0:8} f32[2,3,8]",
                                     "f32[6] i32[6]{perm} f32[6]",
                                     "bf16[4,8] i32[4,8]{0:64} bf16[4,64]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_take_grad = {
    .name = "take_grad", .summary = "dx[.., ids[..,u]] += dy[..,u]", .inputs = "dy ids! x~",
    .outputs = "dx", .affine_in = HN_IN(DY), .infer = infer,
    .check = check, .checks = HN_IN(IDS), .forward = forward,
    .backward = backward, .flops_per_element = 1, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_take_grad(hn_graph *g, hn_node *dy, hn_node *ids, hn_node *x)
{
    return HN_APPLY(g, &hn_op_take_grad, NULL, dy, ids, x);
}
