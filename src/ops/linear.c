/* linear: y[T,N] = x[T,K] * w[N,K]^T, the product that models are made of. Leading dimensions of x
 * are kept. w may be in blocks: it is decoded inside the kernel, and never as a whole. */
#include "ops/linear.h"
#include "ops/ops.h"

static const hn_attr attrs[] = { HN_ATTR_INT(linear_attrs, pairs, "0"), HN_ATTR_SUMS(linear_attrs), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *x = &call->in[0]->type;
    HN_TRY(hn_expect_float(call, 0));
    HN_TRY(hn_expect_rank_between(call, 0, 1, HN_MAX_RANK));
    HN_TRY(hn_expect_rank(call, 1, 2));
    const hn_type *w = &call->in[1]->type;
    if (!hn_is_float(w->dtype) && !hn_is_block(w->dtype))
        return hn_expect_float(call, 1);
    HN_TRY(linear_check_pairs(call));
    HN_TRY(hn_expect_dim(call, 1, 1, hn_last_dim(x)));
    int64_t dim[HN_MAX_RANK];
    for (int i = 0; i < x->rank; i++)
        dim[i] = x->dim[i];
    dim[x->rank - 1] = w->dim[0];
    return hn_type_make(out, x->dtype, x->rank, dim);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[0], *w = call->in[1], *y = call->out[0];
    const int64_t pairs = ((const linear_attrs *)call->attrs)->pairs;
    const int64_t n = w->type.dim[0], k = w->type.dim[1], rows = hn_rows(&x->type);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = 0; col < n; col++) {
            double sum = 0;
            for (int64_t i = 0; i < k; i++)
                sum += hn_get(x, row * k + i) * hn_get(w, hn_gemm_row(pairs, col) * k + i);
            hn_set(y, row * n + col, sum);
        }
}

static double flops(const hn_call *call)
{
    const hn_type *w = &call->in[1]->type;
    return 2.0 * (double)hn_rows(&call->in[0]->type) * (double)w->dim[0] * (double)w->dim[1];
}

static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    if (d->wants[0])
        d->din[0] = HN_APPLY(g, &hn_op_linear_back, d->attrs, d->dout[0], d->in[1]);
    if (d->wants[1])
        d->din[1] = linear_file_rows(d, hn_outer(g, d->dout[0], d->in[0], NULL));
}

static const char *const cases[] = { "f32[1,1] f32[1,1]", "f32[5,33] f32[17,33]", "f32[3,200] f32[200,200]",
                                     "f32[2,3,32] f32[40,32]", "f32[7] f32[3,7]",
                                     "bf16[4,64] bf16[32,64]", "f32[3,64] q8_0[5,64]",
                                     "f32[3,64] q4_0[20,64]", "f32[2,256] q4_k[17,256]",
                                     "f32[9,256] q6_k[4,256]", "f32[31,48] f16[50,48]",
                                     "f32[2,64] q4_1[5,64]", "f32[3,64] q5_0[17,64]",
                                     "f32[4,64] q5_1[20,64]", "f32[2,256] q2_k[5,256]",
                                     "f32[3,256] q3_k[17,256]", "f32[4,256] q5_k[20,256]",
                                     "f32[2,64] iq4_nl[5,64]", "f32[3,256] iq4_xs[17,256]",
                                     "f32[4,64] mxfp4[20,64]", "f32[2,64] nvfp4[5,64]",
                                     "f32[3,256] tq1_0[17,256]", "f32[4,256] tq2_0[20,256]",
                                     "f32[2,128] q1_0[5,128]", "f32[3,64] q2_0[17,64]",
                                     "f32[5,33] f32[12,33] pairs=6",
                                     "f32[20,64] bf16[96,64] pairs=32",
                                     "f32[2,64] q8_0[64,64] pairs=64",
                                     "f32[40,256] q4_k[32,256] pairs=8",
                                     "f32[5,33] f32[17,33] sums=blocks", "f32[20,72] bf16[96,72] pairs=32 sums=blocks",
                                     "f32[3,256] q4_k[17,256] sums=blocks",
                                     NULL };
/* clang-format off */
const hn_op hn_op_linear = {
    .name = "linear", .summary = "y[T,N] = x[T,K] * w[N,K]^T", .inputs = "x w",
    .attrs = attrs,
    .attrs_size = sizeof(linear_attrs), .infer = infer, .forward = forward, .backward = backward, .flops = flops,
    .cases = cases, .tolerance = 2e-6, .rounding = linear_rounding, .sums_products = true,
};
/* clang-format on */
hn_node *hn_linear(hn_graph *g, hn_node *x, hn_node *w)
{
    return HN_APPLY(g, &hn_op_linear, &((linear_attrs){ 0 }), x, w);
}
