/* router_balance_batch_grad: as router_balance_grad, with all tokens as one sequence. */
#include "ops/balance.h"
#include "ops/ids.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_BALANCE_ATTRS;

enum { LOGITS, IDS, DLOSS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_balance_expect(call));
    HN_TRY(hn_expect_float(call, DLOSS));
    HN_TRY(hn_expect_scalar(call, DLOSS));
    return hn_infer_like(call, LOGITS, out);
}

static hn_status check(const hn_call *call)
{
    return hn_check_ids(call, IDS, -1, call->in[LOGITS]->type.dim[1]);
}

static void forward(const hn_call *call)
{
    hn_balance_slopes(call, 0, call->in[LOGITS]->type.dim[0], hn_get(call->in[DLOSS], 0));
}

static const char *const cases[] = { "f32[1,1] i32[1,1]{0:1} f32[]",
                                     "f32[7,5] i32[7,2]{0:5} f32[]",
                                     "bf16[4,16] i32[4,2]{-1:16} f32[1] score=sigmoid", NULL };
/* clang-format off */
const hn_op hn_op_router_balance_batch_grad = {
    .name = "router_balance_batch_grad", .summary = "dlogits of router_balance_batch",
    .inputs = "logits ids! dloss", .attrs = attrs, .attrs_size = sizeof(hn_balance_attrs),
    .infer = infer, .forward = forward, .no_gradient = "second derivatives are not provided",
    .check = check, .checks = HN_IN(IDS), .flops_per_element = 12, .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_router_balance_batch_grad(hn_graph *g, hn_node *logits, hn_node *ids,
                                      hn_node *dloss, int score)
{
    return HN_APPLY(g, &hn_op_router_balance_batch_grad, &((hn_balance_attrs){ score }), logits,
                    ids, dloss);
}
