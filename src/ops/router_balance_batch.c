/* router_balance_batch: the balance (balance.h) of all tokens of the batch at once. It is not a
 * sum over sequences, so it has no `acc`: a step of several micro-batches is refused by name.
 */
#include "ops/balance.h"
#include "ops/ids.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_BALANCE_ATTRS;

enum { LOGITS, IDS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_balance_expect(call));
    *out = (hn_type){ .dtype = HN_F32 };
    return HN_OK;
}

static hn_status check(const hn_call *call)
{
    return hn_check_ids(call, IDS, -1, call->in[LOGITS]->type.dim[1]);
}

static void forward(const hn_call *call)
{
    hn_set(call->out[0], 0, hn_balance_of(call, 0, call->in[LOGITS]->type.dim[0]));
}

static double flops(const hn_call *call)
{
    return 10.0 * (double)hn_count(&call->in[LOGITS]->type);
}

static void backward(hn_grad *d)
{
    d->din[LOGITS] = hn_router_balance_batch_grad(d->g, d->in[LOGITS], d->in[IDS], d->dout[0],
                                                  ((const hn_balance_attrs *)d->attrs)->score);
}

static const char *const cases[] = { "f32[1,1] i32[1,1]{0:1}", "f32[7,5] i32[7,2]{0:5}",
                                     "f32[6,8] i32[6,3]{-1:8} score=sigmoid",
                                     "bf16[4,16] i32[4,2]{0:16}", NULL };
/* clang-format off */
const hn_op hn_op_router_balance_batch = {
    .name = "router_balance_batch", .summary = "loss = E * sum of f_e * P_e over the whole batch",
    .inputs = "logits ids!", .attrs = attrs, .attrs_size = sizeof(hn_balance_attrs),
    .infer = infer, .forward = forward, .backward = backward,
    .check = check, .checks = HN_IN(IDS), .flops = flops,
    .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_router_balance_batch(hn_graph *g, hn_node *logits, hn_node *ids, int score)
{
    return HN_APPLY(g, &hn_op_router_balance_batch, &((hn_balance_attrs){ score }), logits,
                    ids);
}
