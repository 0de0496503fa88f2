/* linear_id: y[t,u] = w[ids[t,u]] * x[t] (or x[t,u]): the product of a mixture of experts. An
 * id of -1 means no expert, and a row of zeros. w may be in blocks. */
#include "ops/ids.h"
#include "ops/linear_id.h"
#include "ops/ops.h"

enum { X, W, IDS };

static const hn_attr attrs[] = { HN_ATTR_SUMS(linear_id_attrs), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(hn_expect_rank_between(call, X, 2, 3));
    HN_TRY(hn_expect_rank(call, W, 3));
    HN_TRY(hn_expect_integer(call, IDS));
    HN_TRY(hn_expect_rank(call, IDS, 2));
    const hn_type *x = &call->in[X]->type, *w = &call->in[W]->type, *ids = &call->in[IDS]->type;
    if (!hn_is_float(w->dtype) && !hn_is_block(w->dtype))
        return hn_expect_float(call, W);
    HN_TRY(hn_expect_dim(call, W, 2, hn_last_dim(x)));
    for (int i = 0; i < x->rank - 1; i++)
        HN_TRY(hn_expect_dim(call, IDS, i, x->dim[i]));
    const int64_t dim[3] = { ids->dim[0], ids->dim[1], w->dim[1] };
    return hn_type_make(out, x->dtype, 3, dim);
}

static hn_status check(const hn_call *call)
{
    return hn_check_ids(call, IDS, -1, call->in[W]->type.dim[0]);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *w = call->in[W], *ids = call->in[IDS];
    const int64_t n = w->type.dim[1], k = w->type.dim[2], n_used = ids->type.dim[1];
    for (int64_t row = 0; row < hn_count(&ids->type); row++) {
        const int64_t expert = hn_get_int(ids, row);
        const int64_t from = (x->type.rank == 3 ? row : row / n_used) * k;
        for (int64_t col = 0; col < n; col++) {
            double sum = 0;
            for (int64_t i = 0; expert >= 0 && i < k; i++)
                sum += hn_get(x, from + i) * hn_get(w, (expert * n + col) * k + i);
            hn_set(call->out[0], row * n + col, sum);
        }
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
    if (d->wants[X])
        d->din[X] = HN_APPLY(g, &hn_op_linear_id_back, d->attrs, d->dout[0], d->in[W], d->in[IDS], d->in[X]);
    if (d->wants[W])
        d->din[W] = hn_outer_id(g, d->dout[0], d->in[X], d->in[IDS], d->in[W], NULL, 0);
}

static const char *const cases[] = { "f32[1,1] f32[1,1,1] i32[1,1]{0:1}",
                                     "f32[5,7] f32[4,6,7] i32[5,2]{-1:4}",
                                     "f32[5,2,7] f32[4,6,7] i32[5,2]{0:4}",
                                     "f32[3,64] q4_0[3,5,64] i32[3,2]{-1:3}",
                                     "f32[2,256] q4_k[3,9,256] i32[2,2]{0:3}",
                                     "f32[3,64] mxfp4[3,9,64] i32[3,2]{0:3}",
                                     "bf16[4,32] bf16[4,17,32] i32[4,3]{-1:4}",
                                     "f32[9,72] f32[2,17,72] i32[9,2]{-1:2} sums=blocks",
                                     NULL };
/* clang-format off */
const hn_op hn_op_linear_id = {
    .name = "linear_id", .summary = "y[t,u] = w[ids[t,u]] * x[t], or x[t,u]", .inputs = "x w ids!",
    .attrs = attrs, .attrs_size = sizeof(linear_id_attrs), .infer = infer, .forward = forward, .backward = backward,
    .check = check, .checks = HN_IN(IDS), .flops = flops,
    .cases = cases, .tolerance = 2e-6, .rounding = linear_id_rounding, .sums_products = true,
};
/* clang-format on */
hn_node *hn_linear_id(hn_graph *g, hn_node *x, hn_node *w, hn_node *ids)
{
    return HN_APPLY(g, &hn_op_linear_id, &((linear_id_attrs){ 0 }), x, w, ids);
}
