/* linear_int8: linear of weights in blocks, in whole numbers: every 32 elements of x are rounded to 8 bits and a scale. */
#include "ops/int8.h"
#include "ops/linear.h"

static const hn_attr attrs[] = { HN_ATTR_INT(linear_attrs, pairs, "0"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_int8_expect(call, 0, 1));
    return hn_op_linear.infer(call, out);
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
                sum += hn_int8_of(x, row * k, i) * hn_get(w, hn_gemm_row(pairs, col) * k + i);
            hn_set(y, row * n + col, sum);
        }
}

static double flops(const hn_call *call) { return hn_op_linear.flops(call); }

static const char *const cases[] = { "f32[3,64] q8_0[5,64]", "bf16[3,64] q8_0[5,64]", "f32[3,64] q4_0[20,64]", "f32[2,256] q4_k[17,256]",
                                     "f32[9,256] q6_k[4,256]", "f32[2,2,64] q4_1[5,64]", "f32[64] q5_0[17,64]",
                                     "f32[4,64] q5_1[20,64]", "f32[2,256] q2_k[5,256]", "f32[3,256] q3_k[17,256]",
                                     "f32[4,256] q5_k[20,256]", "f32[2,64] iq4_nl[5,64]", "f32[3,256] iq4_xs[17,256]",
                                     "f32[4,64] mxfp4[20,64]", "f32[2,64] nvfp4[5,64]", "f32[3,256] tq1_0[17,256]",
                                     "f32[4,256] tq2_0[20,256]", "f32[2,128] q1_0[5,128]", "f32[3,64] q2_0[17,64]",
                                     "f32[2,64] q8_0[64,64] pairs=64", "f32[40,256] q4_k[32,256] pairs=8", NULL };
/* clang-format off */
const hn_op hn_op_linear_int8 = {
    .name = "linear_int8", .summary = "y[T,N] = round8(x[T,K]) * w[N,K]^T", .inputs = "x w",
    .attrs = attrs,
    .attrs_size = sizeof(linear_attrs), .infer = infer, .forward = forward,
    .no_gradient = HN_INT8_NO_GRADIENT, .finite = HN_INPUT(0), .flops = flops,
    .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_linear_int8(hn_graph *g, hn_node *x, hn_node *w, int64_t pairs)
{
    return HN_APPLY(g, &hn_op_linear_int8, &((linear_attrs){ pairs }), x, w);
}
