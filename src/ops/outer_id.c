/* outer_id: y[e,N,K] = acc + the sum over choices ids[t,u] = e of dy[t,u]^T * x[t] (or x[t,u]),
 * one chain over tokens, then u, for every element: the gradient of linear_id's w, in f32.
 * Experts that no token reached are exactly zero, or acc. How many there are comes from `like`,
 * else from `experts`. */
#include "ops/ids.h"
#include "ops/ops.h"

typedef struct outer_id {
    int64_t experts;
} outer_id;

static const hn_attr attrs[] = { HN_ATTR_INT(outer_id, experts, "0"), HN_ATTR_END };

enum { DY, X, IDS, LIKE, ACC };

static int64_t n_experts(const hn_call *call)
{
    return call->in[LIKE] ? call->in[LIKE]->type.dim[0]
                          : ((const outer_id *)call->attrs)->experts;
}

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_rank(call, DY, 3));
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(hn_expect_rank_between(call, X, 2, 3));
    HN_TRY(hn_expect_integer(call, IDS));
    HN_TRY(hn_expect_rank(call, IDS, 2));
    const hn_type *dy = &call->in[DY]->type, *x = &call->in[X]->type;
    for (int i = 0; i < 2; i++)
        HN_TRY(hn_expect_dim(call, IDS, i, dy->dim[i]));
    for (int i = 0; i < x->rank - 1; i++)
        HN_TRY(hn_expect_dim(call, X, i, dy->dim[i]));
    if (call->in[LIKE])
        HN_TRY(hn_expect_rank(call, LIKE, 3));
    else if (n_experts(call) < 1)
        return hn_refuse(call, "neither like nor experts=N says how many experts there are");
    const int64_t dim[3] = { n_experts(call), hn_last_dim(dy), hn_last_dim(x) };
    for (int i = 1; call->in[LIKE] && i < 3; i++)
        HN_TRY(hn_expect_dim(call, LIKE, i, dim[i]));
    HN_TRY(hn_type_make(out, HN_F32, 3, dim));
    if (!call->in[ACC])
        return HN_OK;
    HN_TRY(hn_expect_dtype(call, ACC, HN_F32));
    HN_TRY(hn_expect_rank(call, ACC, 3));
    for (int i = 0; i < 3; i++)
        HN_TRY(hn_expect_dim(call, ACC, i, dim[i]));
    return HN_OK;
}

static hn_status check(const hn_call *call)
{
    return hn_check_ids(call, IDS, -1, n_experts(call));
}

static void forward(const hn_call *call)
{
    const hn_tensor *dy = call->in[DY], *x = call->in[X], *ids = call->in[IDS];
    const hn_tensor *acc = call->in[ACC], *y = call->out[0];
    const int64_t n = y->type.dim[1], k = y->type.dim[2], n_used = ids->type.dim[1];
    for (int64_t i = 0; i < hn_count(&y->type); i++)
        hn_set(y, i, acc ? hn_get(acc, i) : 0);
    for (int64_t row = 0; row < hn_count(&ids->type); row++) {
        const int64_t expert = hn_get_int(ids, row);
        const int64_t from = (x->type.rank == 3 ? row : row / n_used) * k;
        for (int64_t col = 0; expert >= 0 && col < n; col++) {
            const int64_t at = (expert * n + col) * k;
            const double slope = hn_get(dy, row * n + col);
            for (int64_t i = 0; i < k; i++)
                hn_set(y, at + i, hn_get(y, at + i) + slope * hn_get(x, from + i));
        }
    }
}

static double flops(const hn_call *call)
{
    return 2.0 * (double)hn_count(&call->in[DY]->type) *
           (double)hn_last_dim(&call->in[X]->type);
}

static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    if (d->wants[DY])
        d->din[DY] = hn_linear_id(g, d->in[X], d->dout[0], d->in[IDS]);
    if (d->wants[X])
        d->din[X] = hn_linear_id_back(g, d->in[DY], d->dout[0], d->in[IDS], d->in[X]);
    if (d->wants[ACC])
        d->din[ACC] = d->dout[0];
}

static const char *const cases[] = {
    "f32[1,1,1] f32[1,1] i32[1,1]{0:1} experts=1",
    "f32[5,2,6] f32[5,7] i32[5,2]{-1:4} f32[4,6,7]",
    "f32[5,2,6] f32[5,2,7] i32[5,2]{0:4} - f32[6,6,7] experts=6",
    "f32[3,2,5] f32[3,64] i32[3,2]{-1:3} q4_0[3,5,64]",
    "bf16[4,3,17] bf16[4,32] i32[4,3]{-1:4} bf16[4,17,32] f32[4,17,32]",
    NULL
};
/* clang-format off */
const hn_op hn_op_outer_id = {
    .name = "outer_id", .summary = "y[e] = acc + the sum where ids[t,u] = e of dy[t,u]^T * x[t]",
    .inputs = "dy x ids! like?~ acc?", .attrs = attrs, .attrs_size = sizeof(outer_id),
    .infer = infer, .forward = forward, .backward = backward,
    .check = check, .checks = HN_IN(IDS), .flops = flops,
    .acc = { { HN_INPUT(ACC), 0 } }, .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_outer_id(hn_graph *g, hn_node *dy, hn_node *x, hn_node *ids, hn_node *like,
                     hn_node *acc, int64_t experts)
{
    return HN_APPLY(g, &hn_op_outer_id, &((outer_id){ experts }), dy, x, ids, like, acc);
}
