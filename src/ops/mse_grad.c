/* mse_grad: dx = dloss * weights[r] / count * 2 * (x - target) / (elements of the row). */
#include "ops/loss.h"
#include "ops/ops.h"

enum { X, TARGET, WEIGHTS, COUNT, DLOSS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, TARGET));
    HN_TRY(hn_expect_same(call, TARGET, X));
    HN_TRY(hn_loss_expect_weights(call, WEIGHTS, hn_rows(&call->in[X]->type)));
    HN_TRY(hn_loss_infer(call, COUNT, HN_NO_INPUT, out));
    HN_TRY(hn_expect_float(call, DLOSS));
    HN_TRY(hn_expect_scalar(call, DLOSS));
    return hn_infer_like(call, X, out);
}

static hn_status check(const hn_call *call) { return hn_loss_check_count(call, COUNT); }

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *target = call->in[TARGET];
    const int64_t n = hn_last_dim(&x->type), rows = hn_rows(&x->type);
    for (int64_t r = 0; r < rows; r++) {
        const double factor = hn_get(call->in[DLOSS], 0) * 2 / (double)n *
                              hn_loss_factor(call, WEIGHTS, r, COUNT, (double)rows);
        for (int64_t i = r * n; i < (r + 1) * n; i++)
            hn_set(call->out[0], i, factor * (hn_get(x, i) - hn_get(target, i)));
    }
}

static const char *const cases[] = { "f32[1] f32[1] - - f32[]", "f32[4,7] f32[4,7] - - f32[]",
                                     "f32[2,3,33] f32[2,3,33] f32[6] i32[]{4:9} f32[]",
                                     "bf16[4,16] bf16[4,16] f32[4] - f32[1]", NULL };
/* clang-format off */
const hn_op hn_op_mse_grad = {
    .name = "mse_grad", .summary = "dx of mse", .inputs = "x target! weights?! count?! dloss",
    .infer = infer, .forward = forward, .no_gradient = "second derivatives are not provided",
    .check = check, .checks = HN_IN(COUNT), .flops_per_element = 2, .may_overwrite = { HN_IN(X) | HN_IN(TARGET) },
    .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_mse_grad(hn_graph *g, hn_node *x, hn_node *target, hn_node *weights, hn_node *count,
                     hn_node *dloss)
{
    return HN_APPLY(g, &hn_op_mse_grad, NULL, x, target, weights, count, dloss);
}
