/* take: y[.., u] = x[.., ids[.., u]]: elements of the last dimension, as often as they are
 * named. */
#include "ops/take.h"

enum { X, IDS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(take_rows(call, IDS, X));
    return hn_type_as(out, &call->in[IDS]->type, call->in[X]->type.dtype);
}

static hn_status check(const hn_call *call)
{
    return take_check(call, IDS, hn_last_dim(&call->in[X]->type));
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *ids = call->in[IDS];
    const int64_t n = hn_last_dim(&x->type), k = hn_last_dim(&ids->type);
    for (int64_t i = 0; i < hn_count(&ids->type); i++)
        hn_set(call->out[0], i, hn_get(x, i / k * n + hn_get_int(ids, i)));
}

static void backward(hn_grad *d)
{
    d->din[X] = hn_take_grad(d->g, d->dout[0], d->in[IDS], d->in[X]);
}

static const char *const cases[] = { "f32[1] i32[1]{0:1}",         "f32[5,17] i32[5,4]{0:17}",
                                     "f32[2,3,8] i32[2,3,9]{0:8}", "f32[6] i32[6]{perm}",
                                     "bf16[4,64] i32[4,8]{0:64}",  NULL };
/* clang-format off */
const hn_op hn_op_take = {
    .name = "take", .summary = "y[..,u] = x[.., ids[..,u]]", .inputs = "x ids!",
    .affine_in = HN_IN(X), .infer = infer, .check = check, .checks = HN_IN(IDS), .forward = forward,
    .backward = backward, .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_take(hn_graph *g, hn_node *x, hn_node *ids)
{
    return HN_APPLY(g, &hn_op_take, NULL, x, ids);
}
