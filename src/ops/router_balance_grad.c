/* router_balance_grad: with s_e = E * f_e of the token's sequence of T tokens and f = dloss /
 * count: softmax: dlogits_e = f / T * p_e * (s_e - sum of s p); sigmoid: the same with p_e * (1
 * - p_e) / (sum of p) for p_e, and p over its sum inside. */
#include "ops/attention_span.h"
#include "ops/balance.h"
#include "ops/ids.h"
#include "ops/loss.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_BALANCE_ATTRS;

enum { LOGITS, IDS, SEGMENTS, COUNT, DLOSS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_balance_expect(call));
    if (call->in[SEGMENTS]) {
        HN_TRY(hn_expect_integer(call, SEGMENTS));
        HN_TRY(hn_expect_vector(call, SEGMENTS, call->in[LOGITS]->type.dim[0]));
    }
    HN_TRY(hn_loss_infer(call, COUNT, HN_NO_INPUT, out));
    HN_TRY(hn_expect_float(call, DLOSS));
    HN_TRY(hn_expect_scalar(call, DLOSS));
    return hn_infer_like(call, LOGITS, out);
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
    const double factor =
        hn_get(call->in[DLOSS], 0) * hn_loss_factor(call, HN_NO_INPUT, 0, COUNT, n_here);
    for (int64_t from = 0, to; from < n_tokens; from = to) {
        to = hn_balance_end(segments, from, n_tokens);
        hn_balance_slopes(call, from, to, factor);
    }
}

static const char *const cases[] = {
    "f32[1,1] i32[1,1]{0:1} - - f32[]", "f32[7,5] i32[7,2]{0:5} i32[7]{seg} - f32[]",
    "f32[6,8] i32[6,3]{-1:8} i32[6]{seg} i32[]{3:9} f32[] score=sigmoid",
    "bf16[4,16] i32[4,2]{0:16} - f32[]{2:3} f32[1] score=sigmoid", NULL
};
/* clang-format off */
const hn_op hn_op_router_balance_grad = {
    .name = "router_balance_grad", .summary = "dlogits of router_balance",
    .inputs = "logits ids! segments?! count?! dloss", .attrs = attrs,
    .attrs_size = sizeof(hn_balance_attrs), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided",
    .check = check, .checks = HN_IN(IDS) | HN_IN(SEGMENTS) | HN_IN(COUNT), .flops_per_element = 12,
    .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_router_balance_grad(hn_graph *g, hn_node *logits, hn_node *ids, hn_node *segments,
                                hn_node *count, hn_node *dloss, int score)
{
    return HN_APPLY(g, &hn_op_router_balance_grad, &((hn_balance_attrs){ score }), logits, ids,
                    segments, count, dloss);
}
