/* linear_id_back: the gradient of linear_id's x: dx[t,u] = dy[t,u] * w[ids[t,u]]; for x[t,K],
 * which all choices of a token share, one chain over u and, in each, over the expert's outputs.
 */
#include "ops/ids.h"
#include "ops/linear_id.h"
#include "ops/ops.h"

enum { DY, W, IDS, LIKE };

static const hn_attr attrs[] = { HN_ATTR_SUMS(linear_id_attrs), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_rank(call, DY, 3));
    HN_TRY(hn_expect_rank(call, W, 3));
    HN_TRY(hn_expect_integer(call, IDS));
    HN_TRY(hn_expect_rank(call, IDS, 2));
    HN_TRY(hn_expect_rank_between(call, LIKE, 2, 3));
    const hn_type *dy = &call->in[DY]->type, *w = &call->in[W]->type;
    const hn_type *like = &call->in[LIKE]->type;
    if (!hn_is_float(w->dtype) && !hn_is_block(w->dtype))
        return hn_expect_float(call, W);
    HN_TRY(hn_expect_dim(call, W, 1, hn_last_dim(dy)));
    for (int i = 0; i < 2; i++)
        HN_TRY(hn_expect_dim(call, IDS, i, dy->dim[i]));
    for (int i = 0; i < like->rank - 1; i++)
        HN_TRY(hn_expect_dim(call, LIKE, i, dy->dim[i]));
    HN_TRY(hn_expect_dim(call, LIKE, like->rank - 1, w->dim[2]));
    return hn_type_make(out, dy->dtype, like->rank, like->dim);
}

static hn_status check(const hn_call *call)
{
    return hn_check_ids(call, IDS, -1, call->in[W]->type.dim[0]);
}

static void forward(const hn_call *call)
{
    const hn_tensor *dy = call->in[DY], *w = call->in[W], *ids = call->in[IDS];
    const hn_tensor *dx = call->out[0];
    const int64_t n = w->type.dim[1], k = w->type.dim[2];
    const int64_t n_used = dx->type.rank == 3 ? 1 : ids->type.dim[1];
    for (int64_t row = 0; row < hn_rows(&dx->type); row++)
        for (int64_t i = 0; i < k; i++) {
            double sum = 0;
            for (int64_t u = row * n_used; u < (row + 1) * n_used; u++) {
                const int64_t expert = hn_get_int(ids, u);
                for (int64_t col = 0; expert >= 0 && col < n; col++)
                    sum += hn_get(dy, u * n + col) * hn_get(w, (expert * n + col) * k + i);
            }
            hn_set(dx, row * k + i, sum);
        }
}

static double flops(const hn_call *call)
{
    const hn_type *w = &call->in[W]->type;
    return 2.0 * (double)hn_count(&call->in[IDS]->type) * (double)w->dim[1] * (double)w->dim[2];
}

static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    if (d->wants[DY])
        d->din[DY] = HN_APPLY(g, &hn_op_linear_id, d->attrs, d->dout[0], d->in[W], d->in[IDS]);
    if (d->wants[W])
        d->din[W] = hn_outer_id(g, d->in[DY], d->dout[0], d->in[IDS], d->in[W], NULL, 0);
}

static const char *const cases[] = { "f32[1,1,1] f32[1,1,1] i32[1,1]{0:1} f32[1,1]",
                                     "f32[5,2,6] f32[4,6,7] i32[5,2]{-1:4} f32[5,7]",
                                     "f32[5,2,6] f32[4,6,7] i32[5,2]{0:4} f32[5,2,7]",
                                     "f32[3,2,5] q4_0[3,5,64] i32[3,2]{-1:3} f32[3,64]",
                                     "f32[2,2,9] q4_k[3,9,256] i32[2,2]{0:3} f32[2,2,256]",
                                     "bf16[4,3,17] bf16[4,17,32] i32[4,3]{-1:4} bf16[4,32]",
                                     "f32[9,2,40] f32[2,40,17] i32[9,2]{-1:2} f32[9,17] sums=blocks",
                                     NULL };
/* clang-format off */
const hn_op hn_op_linear_id_back = {
    .name = "linear_id_back", .summary = "dx of linear_id", .inputs = "dy w ids! like~",
    .attrs = attrs, .attrs_size = sizeof(linear_id_attrs), .infer = infer, .forward = forward, .backward = backward,
    .check = check, .checks = HN_IN(IDS), .flops = flops,
    .cases = cases, .tolerance = 2e-6, .rounding = linear_id_rounding, .sums_products = true,
};
/* clang-format on */
hn_node *hn_linear_id_back(hn_graph *g, hn_node *dy, hn_node *w, hn_node *ids, hn_node *like)
{
    return HN_APPLY(g, &hn_op_linear_id_back, &((linear_id_attrs){ 0 }), dy, w, ids, like);
}
