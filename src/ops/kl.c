/* kl: loss = acc + sum over rows of weights * KL / count, or / the number of rows here:
 * distillation from the logits of another model. Directions: kl.h. */
#include "ops/kl.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_KL_ATTRS;

enum { X, TARGET, WEIGHTS, COUNT, ACC };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_kl_expect(call));
    return hn_loss_infer(call, COUNT, ACC, out);
}

static hn_status check(const hn_call *call) { return hn_loss_check_count(call, COUNT); }

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X];
    const int64_t rows = x->type.dim[0], n = x->type.dim[1];
    hn_loss_start(call, ACC);
    for (int64_t r = 0; r < rows; r++) {
        const double lse = hn_kl_log_sum(x, r * n, n);
        const double target_lse = hn_kl_log_sum(call->in[TARGET], r * n, n);
        hn_loss_add(call, hn_kl_row(call, r, lse, target_lse) *
                              hn_loss_factor(call, WEIGHTS, r, COUNT, (double)rows));
    }
}

static double flops(const hn_call *call) { return 12.0 * (double)hn_count(&call->in[X]->type); }

static void backward(hn_grad *d)
{
    if (d->wants[X])
        d->din[X] = hn_kl_grad(d->g, d->in[X], d->in[TARGET], d->in[WEIGHTS], d->in[COUNT],
                               d->dout[0], ((const hn_kl_attrs *)d->attrs)->direction);
    if (d->wants[ACC])
        d->din[ACC] = d->dout[0];
}

static const char *const cases[] = {
    "f32[1,1] f32[1,1]",
    "f32[4,7] f32[4,7]",
    "f32[5,33] f32[5,33] f32[5] f32[]{2:4} f32[] direction=reverse",
    "f32[3,9] f32[3,9] f32[3] direction=reverse",
    "f32[2,17] f32[2,17] - i32[1]{2:8} f32[]",
    "bf16[3,40] bf16[3,40]",
    NULL
};
/* clang-format off */
const hn_op hn_op_kl = {
    .name = "kl", .summary = "loss = acc + sum over rows of weights * KL(target, x) / count",
    .inputs = "x target! weights?! count?! acc?", .attrs = attrs, .attrs_size = sizeof(hn_kl_attrs),
    .infer = infer, .forward = forward, .backward = backward,
    .check = check, .checks = HN_IN(COUNT), .flops = flops,
    .acc = { { HN_INPUT(ACC), 0 } }, .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_kl(hn_graph *g, hn_node *x, hn_node *target, hn_node *weights, hn_node *count,
               hn_node *acc, int direction)
{
    return HN_APPLY(g, &hn_op_kl, &((hn_kl_attrs){ direction }), x, target, weights, count,
                    acc);
}
