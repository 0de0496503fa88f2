/* router_z_grad: dlogits = dloss / count * 2 * lse * softmax(logits). */
#include "ops/loss.h"
#include "ops/ops.h"
#include "ops/router_score.h"

enum { LOGITS, COUNT, DLOSS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, LOGITS));
    HN_TRY(hn_expect_rank(call, LOGITS, 2));
    HN_TRY(hn_loss_infer(call, COUNT, HN_NO_INPUT, out));
    HN_TRY(hn_expect_float(call, DLOSS));
    HN_TRY(hn_expect_scalar(call, DLOSS));
    return hn_infer_like(call, LOGITS, out);
}

static hn_status check(const hn_call *call) { return hn_loss_check_count(call, COUNT); }

static void forward(const hn_call *call)
{
    const hn_tensor *logits = call->in[LOGITS];
    const int64_t rows = logits->type.dim[0];
    const double factor = 2 * hn_get(call->in[DLOSS], 0) *
                          hn_loss_factor(call, HN_NO_INPUT, 0, COUNT, (double)rows);
    for (int64_t t = 0; t < rows; t++) {
        const hn_router_row x = hn_router_row_of(logits, t, HN_ROUTER_SOFTMAX);
        const double lse = x.most + hn_math_log(x.sum);
        for (int64_t e = 0; e < x.n; e++)
            hn_set(call->out[0], t * x.n + e, factor * lse * hn_router_score_of(&x, e));
    }
}

static const char *const cases[] = { "f32[1,1] - f32[]", "f32[7,5] - f32[]",
                                     "bf16[4,16] i32[1]{2:9} f32[1]", NULL };
/* clang-format off */
const hn_op hn_op_router_z_grad = {
    .name = "router_z_grad", .summary = "dlogits of router_z", .inputs = "logits count?! dloss",
    .infer = infer, .forward = forward, .no_gradient = "second derivatives are not provided",
    .check = check, .checks = HN_IN(COUNT), .flops_per_element = 8, .may_overwrite = { HN_IN(LOGITS) }, .cases = cases,
    .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_router_z_grad(hn_graph *g, hn_node *logits, hn_node *count, hn_node *dloss)
{
    return HN_APPLY(g, &hn_op_router_z_grad, NULL, logits, count, dloss);
}
