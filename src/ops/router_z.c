/* router_z: loss = acc + sum over rows of logsumexp(logits)^2 / count, or / the number of rows
 * here: keeps router logits small. */
#include "ops/loss.h"
#include "ops/ops.h"
#include "ops/router_score.h"

enum { LOGITS, COUNT, ACC };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, LOGITS));
    HN_TRY(hn_expect_rank(call, LOGITS, 2));
    return hn_loss_infer(call, COUNT, ACC, out);
}

static hn_status check(const hn_call *call) { return hn_loss_check_count(call, COUNT); }

static void forward(const hn_call *call)
{
    const hn_tensor *logits = call->in[LOGITS];
    const int64_t rows = logits->type.dim[0];
    const double factor = hn_loss_factor(call, HN_NO_INPUT, 0, COUNT, (double)rows);
    hn_loss_start(call, ACC);
    for (int64_t t = 0; t < rows; t++) {
        const hn_router_row x = hn_router_row_of(logits, t, HN_ROUTER_SOFTMAX);
        const double lse = x.most + hn_math_log(x.sum);
        hn_loss_add(call, lse * lse * factor);
    }
}

static double flops(const hn_call *call)
{
    return 6.0 * (double)hn_count(&call->in[LOGITS]->type);
}

static void backward(hn_grad *d)
{
    if (d->wants[LOGITS])
        d->din[LOGITS] = hn_router_z_grad(d->g, d->in[LOGITS], d->in[COUNT], d->dout[0]);
    if (d->wants[ACC])
        d->din[ACC] = d->dout[0];
}

static const char *const cases[] = { "f32[1,1]", "f32[7,5]", "f32[6,8] i32[]{3:9} f32[]",
                                     "bf16[4,16] f32[1]{2:3}", NULL };
/* clang-format off */
const hn_op hn_op_router_z = {
    .name = "router_z", .summary = "loss = acc + sum over rows of logsumexp^2 / count",
    .inputs = "logits count?! acc?", .infer = infer, .forward = forward, .backward = backward,
    .check = check, .checks = HN_IN(COUNT), .flops = flops, .acc = { { HN_INPUT(ACC), 0 } }, .cases = cases,
    .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_router_z(hn_graph *g, hn_node *logits, hn_node *count, hn_node *acc)
{
    return HN_APPLY(g, &hn_op_router_z, NULL, logits, count, acc);
}
