/* gather: rows of w by number: y[..., C] = w[ids[...], C]; also y[b, t] = w[b, ids[b, t]] where
 * w has rank 3. Rows in blocks come out as f32. Its gradient is scatter_add. */
#include "ops/ids.h"
#include "ops/ops.h"

enum { W, IDS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_rank_between(call, W, 2, 3));
    const hn_type *w = &call->in[W]->type, *ids = &call->in[IDS]->type;
    if (!hn_is_float(w->dtype) && !hn_is_block(w->dtype))
        return hn_expect_float(call, W);
    HN_TRY(hn_expect_integer(call, IDS));
    if (w->rank == 3) {
        HN_TRY(hn_expect_rank(call, IDS, 2));
        HN_TRY(hn_expect_dim(call, IDS, 0, w->dim[0]));
    }
    HN_TRY(hn_expect_rank_between(call, IDS, 0, HN_MAX_RANK - 1));
    int64_t dim[HN_MAX_RANK];
    for (int i = 0; i < ids->rank; i++)
        dim[i] = ids->dim[i];
    dim[ids->rank] = hn_last_dim(w);
    return hn_type_make(out, hn_is_block(w->dtype) ? HN_F32 : w->dtype, ids->rank + 1, dim);
}

static hn_status check(const hn_call *call)
{
    const hn_type *w = &call->in[W]->type;
    return hn_check_ids(call, IDS, 0, w->dim[w->rank - 2]);
}

static void forward(const hn_call *call)
{
    const hn_tensor *w = call->in[W], *ids = call->in[IDS], *y = call->out[0];
    const int64_t c = hn_last_dim(&w->type), n = hn_count(&ids->type);
    const int64_t rows = w->type.dim[w->type.rank - 2];
    const int64_t of_one = w->type.rank == 3 ? n / w->type.dim[0] : n;
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = i / of_one * rows + hn_get_int(ids, i);
        for (int64_t j = 0; j < c; j++)
            hn_set(y, i * c + j, hn_get(w, row * c + j));
    }
}

static void backward(hn_grad *d)
{
    d->din[W] = hn_scatter_add(d->g, d->dout[0], d->in[IDS], d->in[W], NULL);
}

static const char *const cases[] = { "f32[3,4] i32[]{0:3}",       "f32[7,5] i32[11]{0:7}",
                                     "f32[9,33] i32[2,3]{0:9}",   "f32[2,6,5] i32[2,4]{0:6}",
                                     "bf16[8,16] i32[5]{0:8}",    "q4_0[6,64] i32[4]{0:6}",
                                     "q6_k[5,256] i32[2,2]{0:5}",
                                     "q4_1[5,64] i32[3]{0:5}", "q5_0[5,64] i32[3]{0:5}",
                                     "q5_1[5,64] i32[3]{0:5}", "q2_k[5,256] i32[3]{0:5}",
                                     "q3_k[5,256] i32[3]{0:5}", "q5_k[5,256] i32[3]{0:5}",
                                     "iq4_nl[5,64] i32[3]{0:5}", "iq4_xs[5,256] i32[3]{0:5}",
                                     "mxfp4[5,64] i32[3]{0:5}", "nvfp4[5,64] i32[3]{0:5}",
                                     "tq1_0[5,256] i32[3]{0:5}", "tq2_0[5,256] i32[3]{0:5}",
                                     "q1_0[5,128] i32[3]{0:5}", "q2_0[5,64] i32[3]{0:5}",
                                     NULL };
/* clang-format off */
const hn_op hn_op_gather = {
    .name = "gather", .summary = "y = rows ids of w", .inputs = "w ids!", .affine_in = HN_IN(W),
    .infer = infer, .forward = forward, .backward = backward,
    .check = check, .checks = HN_IN(IDS), .cases = cases,
    .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_gather(hn_graph *g, hn_node *w, hn_node *ids)
{
    return HN_APPLY(g, &hn_op_gather, NULL, w, ids);
}
