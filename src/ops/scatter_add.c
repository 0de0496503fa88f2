/* scatter_add: y = acc; y[ids[i]] += x[i] in ascending order of i: the gradient of gather's w.
 * One chain over tokens for every row, in f32 whatever x is. Also y[b, ids[b, t]] += x[b, t].
 */
#include "ops/ids.h"
#include "ops/ops.h"

enum { X, IDS, LIKE, ACC };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(hn_expect_rank_between(call, LIKE, 2, 3));
    HN_TRY(hn_expect_integer(call, IDS));
    const hn_type *ids = &call->in[IDS]->type, *like = &call->in[LIKE]->type;
    HN_TRY(hn_expect_rank(call, X, ids->rank + 1));
    for (int i = 0; i < ids->rank; i++)
        HN_TRY(hn_expect_dim(call, X, i, ids->dim[i]));
    HN_TRY(hn_expect_dim(call, X, ids->rank, hn_last_dim(like)));
    if (like->rank == 3) {
        HN_TRY(hn_expect_rank(call, IDS, 2));
        HN_TRY(hn_expect_dim(call, IDS, 0, like->dim[0]));
    }
    HN_TRY(hn_type_make(out, HN_F32, like->rank, like->dim));
    if (!call->in[ACC])
        return HN_OK;
    HN_TRY(hn_expect_dtype(call, ACC, HN_F32));
    return hn_expect_same(call, ACC, LIKE);
}

static hn_status check(const hn_call *call)
{
    const hn_type *like = &call->in[LIKE]->type;
    return hn_check_ids(call, IDS, 0, like->dim[like->rank - 2]);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *ids = call->in[IDS], *acc = call->in[ACC];
    const hn_tensor *y = call->out[0];
    const int64_t c = hn_last_dim(&y->type), n = hn_count(&ids->type);
    const int64_t rows = y->type.dim[y->type.rank - 2];
    const int64_t of_one = y->type.rank == 3 ? n / y->type.dim[0] : n;
    for (int64_t i = 0; i < hn_count(&y->type); i++)
        hn_set(y, i, acc ? hn_get(acc, i) : 0);
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = i / of_one * rows + hn_get_int(ids, i);
        for (int64_t j = 0; j < c; j++)
            hn_set(y, row * c + j, hn_get(y, row * c + j) + hn_get(x, i * c + j));
    }
}

static double flops(const hn_call *call) { return (double)hn_count(&call->in[X]->type); }

static void backward(hn_grad *d)
{
    if (d->wants[X])
        d->din[X] = hn_gather(d->g, d->dout[0], d->in[IDS]);
    if (d->wants[ACC])
        d->din[ACC] = d->dout[0];
}

static const char *const cases[] = { "f32[4] i32[]{0:3} f32[3,4]",
                                     "f32[11,5] i32[11]{0:4} f32[4,5]",
                                     "f32[2,3,33] i32[2,3]{0:9} bf16[9,33] f32[9,33]",
                                     "f32[2,4,5] i32[2,4]{0:6} f32[2,6,5] f32[2,6,5]",
                                     "bf16[5,16] i32[5]{0:3} f32[3,16]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_scatter_add = {
    .name = "scatter_add", .summary = "y = acc, rows ids plus x", .inputs = "x ids! like~ acc?",
    .infer = infer, .forward = forward, .backward = backward,
    .check = check, .checks = HN_IN(IDS), .flops = flops,
    .acc = { { HN_INPUT(ACC), 0 } }, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_scatter_add(hn_graph *g, hn_node *x, hn_node *ids, hn_node *like, hn_node *acc)
{
    return HN_APPLY(g, &hn_op_scatter_add, NULL, x, ids, like, acc);
}
