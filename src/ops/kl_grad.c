/* kl_grad: with f = dloss * weights / count: forward dx = f * (q - p); reverse
 * dx = f * q * (log(q / p) - KL). */
#include "ops/kl.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_KL_ATTRS;

enum { X, TARGET, WEIGHTS, COUNT, DLOSS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_kl_expect(call));
    HN_TRY(hn_loss_infer(call, COUNT, HN_NO_INPUT, out));
    HN_TRY(hn_expect_float(call, DLOSS));
    HN_TRY(hn_expect_scalar(call, DLOSS));
    return hn_infer_like(call, X, out);
}

static hn_status check(const hn_call *call) { return hn_loss_check_count(call, COUNT); }

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *target = call->in[TARGET];
    const int64_t rows = x->type.dim[0], n = x->type.dim[1];
    const bool is_reverse = ((const hn_kl_attrs *)call->attrs)->direction;
    for (int64_t r = 0; r < rows; r++) {
        const double lse = hn_kl_log_sum(x, r * n, n);
        const double target_lse = hn_kl_log_sum(target, r * n, n);
        const double kl = is_reverse ? hn_kl_row(call, r, lse, target_lse) : 0;
        const double factor =
            hn_get(call->in[DLOSS], 0) * hn_loss_factor(call, WEIGHTS, r, COUNT, (double)rows);
        for (int64_t i = r * n; i < (r + 1) * n; i++) {
            const double log_q = hn_get(x, i) - lse, log_p = hn_get(target, i) - target_lse;
            const double q = hn_math_exp(log_q);
            const double slope = !is_reverse ? q - hn_math_exp(log_p)
                                 : q > 0     ? q * (log_q - log_p - kl)
                                             : 0;
            hn_set(call->out[0], i, factor * slope);
        }
    }
}

static const char *const cases[] = {
    "f32[1,1] f32[1,1] - - f32[]", "f32[4,7] f32[4,7] - - f32[]",
    "f32[5,33] f32[5,33] f32[5] f32[]{2:4} f32[] direction=reverse",
    "bf16[3,40] bf16[3,40] f32[3] i32[]{2:8} f32[1] direction=reverse", NULL
};
/* clang-format off */
const hn_op hn_op_kl_grad = {
    .name = "kl_grad", .summary = "dx of kl", .inputs = "x target! weights?! count?! dloss",
    .attrs = attrs, .attrs_size = sizeof(hn_kl_attrs), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided",
    .check = check, .checks = HN_IN(COUNT), .flops_per_element = 12,
    .may_overwrite = { HN_IN(X) | HN_IN(TARGET) }, .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_kl_grad(hn_graph *g, hn_node *x, hn_node *target, hn_node *weights, hn_node *count,
                    hn_node *dloss, int direction)
{
    return HN_APPLY(g, &hn_op_kl_grad, &((hn_kl_attrs){ direction }), x, target, weights, count,
                    dloss);
}
