/* router_balance: the sum over sequences of their balance (balance.h), divided by count, the
 * number of sequences of the step, or by how many there are here. Sequence by sequence, because
 * a balance is not linear in its tokens: so no cut into micro-batches changes it. */
#include "ops/attention_span.h"
#include "ops/balance.h"
#include "ops/ids.h"
#include "ops/loss.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_BALANCE_ATTRS;

enum { LOGITS, IDS, SEGMENTS, COUNT, ACC };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_balance_expect(call));
    if (call->in[SEGMENTS]) {
        HN_TRY(hn_expect_integer(call, SEGMENTS));
        HN_TRY(hn_expect_vector(call, SEGMENTS, call->in[LOGITS]->type.dim[0]));
    }
    return hn_loss_infer(call, COUNT, ACC, out);
}

static hn_status check(const hn_call *call)
{
    HN_TRY(hn_check_ids(call, IDS, -1, call->in[LOGITS]->type.dim[1]));
    if (call->in[SEGMENTS])
        HN_TRY(hn_segments_check(call, SEGMENTS));
    return hn_loss_check_count(call, COUNT);
}

static void forward(const hn_call *call)
{
    const hn_tensor *segments = call->in[SEGMENTS];
    const int64_t n_tokens = call->in[LOGITS]->type.dim[0];
    const double n_here = (double)hn_balance_sequences(segments, n_tokens);
    hn_loss_start(call, ACC);
    for (int64_t from = 0, to; from < n_tokens; from = to) {
        to = hn_balance_end(segments, from, n_tokens);
        hn_loss_add(call, hn_balance_of(call, from, to) *
                              hn_loss_factor(call, HN_NO_INPUT, 0, COUNT, n_here));
    }
}

static double flops(const hn_call *call)
{
    return 10.0 * (double)hn_count(&call->in[LOGITS]->type);
}

static void backward(hn_grad *d)
{
    if (d->wants[LOGITS])
        d->din[LOGITS] = hn_router_balance_grad(d->g, d->in[LOGITS], d->in[IDS],
                                                d->in[SEGMENTS], d->in[COUNT], d->dout[0],
                                                ((const hn_balance_attrs *)d->attrs)->score);
    if (d->wants[ACC])
        d->din[ACC] = d->dout[0];
}

static const char *const cases[] = {
    "f32[1,1] i32[1,1]{0:1}",
    "f32[7,5] i32[7,2]{0:5} i32[7]{seg}",
    "f32[6,8] i32[6,3]{-1:8} i32[6]{seg} i32[]{3:9} f32[] score=sigmoid",
    "f32[5,9] i32[5,2]{0:9} - f32[1]{2:4} f32[]",
    "bf16[4,16] i32[4,2]{0:16} score=sigmoid",
    NULL
};
/* clang-format off */
const hn_op hn_op_router_balance = {
    .name = "router_balance",
    .summary = "loss = acc + sum over sequences of E * sum of f_e * P_e / count",
    .inputs = "logits ids! segments?! count?! acc?", .attrs = attrs,
    .attrs_size = sizeof(hn_balance_attrs), .infer = infer, .forward = forward,
    .backward = backward,
    .check = check, .checks = HN_IN(IDS) | HN_IN(SEGMENTS) | HN_IN(COUNT), .flops = flops, .acc = { { HN_INPUT(ACC), 0 } },
    .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_router_balance(hn_graph *g, hn_node *logits, hn_node *ids, hn_node *segments,
                           hn_node *count, hn_node *acc, int score)
{
    return HN_APPLY(g, &hn_op_router_balance, &((hn_balance_attrs){ score }), logits, ids,
                    segments, count, acc);
}
