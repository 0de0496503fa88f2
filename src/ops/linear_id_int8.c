/* linear_id_int8: linear_id of weights in blocks, in whole numbers: every 32 elements of x are rounded to 8 bits and a
 * scale. */
#include "ops/ids.h"
#include "ops/int8.h"

enum { X, W, IDS };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_int8_expect(call, X, W));
    return hn_op_linear_id.infer(call, out);
}

static hn_status check(const hn_call *call) { return hn_check_ids(call, IDS, -1, call->in[W]->type.dim[0]); }

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
                sum += hn_int8_of(x, from, i) * hn_get(w, (expert * n + col) * k + i);
            hn_set(call->out[0], row * n + col, sum);
        }
    }
}

static double flops(const hn_call *call) { return hn_op_linear_id.flops(call); }

static const char *const cases[] = { "f32[3,64] q4_0[3,5,64] i32[3,2]{-1:3}", "f32[2,256] q4_k[3,9,256] i32[2,2]{0:3}",
                                     "f32[3,64] mxfp4[3,9,64] i32[3,2]{0:3}",
                                     "f32[3,2,256] q6_k[4,20,256] i32[3,2]{0:4}",
                                     "f32[7,64] q8_0[2,33,64] i32[7,1]{-1:2}", "f32[1,2,64] q8_0[4,150,64] i32[1,2]{0:4}",
                                     "f32[21,64] q4_0[3,70,64] i32[21,1]{-1:3}", NULL };
/* clang-format off */
const hn_op hn_op_linear_id_int8 = {
    .name = "linear_id_int8", .summary = "y[t,u] = w[ids[t,u]] * round8(x[t]), or x[t,u]", .inputs = "x w ids!",
    .infer = infer, .forward = forward, .no_gradient = HN_INT8_NO_GRADIENT,
    .check = check, .checks = HN_IN(IDS), .finite = HN_INPUT(X), .flops = flops,
    .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_linear_id_int8(hn_graph *g, hn_node *x, hn_node *w, hn_node *ids)
{
    return HN_APPLY(g, &hn_op_linear_id_int8, NULL, x, w, ids);
}
