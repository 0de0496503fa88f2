/* mse: loss = acc + sum over rows r of weights[r] * mean over the row of (x - target)^2,
 * divided by count, or by the number of rows here: then it is the mean over all elements. */
#include "ops/loss.h"
#include "ops/ops.h"

enum { X, TARGET, WEIGHTS, COUNT, ACC };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(hn_expect_float(call, TARGET));
    HN_TRY(hn_expect_same(call, TARGET, X));
    HN_TRY(hn_loss_expect_weights(call, WEIGHTS, hn_rows(&call->in[X]->type)));
    return hn_loss_infer(call, COUNT, ACC, out);
}

static hn_status check(const hn_call *call) { return hn_loss_check_count(call, COUNT); }

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *target = call->in[TARGET];
    const int64_t n = hn_last_dim(&x->type), rows = hn_rows(&x->type);
    hn_loss_start(call, ACC);
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t i = r * n; i < (r + 1) * n; i++) {
            const double off = hn_get(x, i) - hn_get(target, i);
            sum += off * off;
        }
        hn_loss_add(call,
                    sum / (double)n * hn_loss_factor(call, WEIGHTS, r, COUNT, (double)rows));
    }
}

static double flops(const hn_call *call) { return 3.0 * (double)hn_count(&call->in[X]->type); }

static void backward(hn_grad *d)
{
    if (d->wants[X])
        d->din[X] = hn_mse_grad(d->g, d->in[X], d->in[TARGET], d->in[WEIGHTS], d->in[COUNT],
                                d->dout[0]);
    if (d->wants[ACC])
        d->din[ACC] = d->dout[0];
}

static const char *const cases[] = { "f32[1] f32[1]",
                                     "f32[4,7] f32[4,7]",
                                     "f32[2,3,33] f32[2,3,33] f32[6] i32[]{4:9} f32[]",
                                     "f32[5,3] f32[5,3] f32[5]",
                                     "f32[9] f32[9] - f32[1]{2:3}",
                                     "bf16[4,16] bf16[4,16]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_mse = {
    .name = "mse",
    .summary = "loss = acc + sum over rows of weights * mean((x - target)^2) / count",
    .inputs = "x target! weights?! count?! acc?", .infer = infer, .forward = forward,
    .backward = backward,
    .check = check, .checks = HN_IN(COUNT), .flops = flops, .acc = { { HN_INPUT(ACC), 0 } },
    .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_mse(hn_graph *g, hn_node *x, hn_node *target, hn_node *weights, hn_node *count,
                hn_node *acc)
{
    return HN_APPLY(g, &hn_op_mse, NULL, x, target, weights, count, acc);
}
