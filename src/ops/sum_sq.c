/* sum_sq: y = acc + the sum of x^2, in double: blocks of 4096 elements from index 0, each in
 * sixteen lanes that fold by halves, block sums added ascending. Parameter by parameter through
 * acc it is the square of the global norm, whatever the cut of the work. */
#include "ops/ops.h"

enum { X, ACC };
enum { BLOCK = 4096, LANES = 16 };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, X));
    if (call->in[ACC]) {
        HN_TRY(hn_expect_dtype(call, ACC, HN_F64));
        HN_TRY(hn_expect_rank(call, ACC, 0));
    }
    *out = (hn_type){ .dtype = HN_F64 };
    return HN_OK;
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X];
    const int64_t n = hn_count(&x->type);
    double sum = call->in[ACC] ? hn_get(call->in[ACC], 0) : 0;
    for (int64_t from = 0; from < n; from += BLOCK) {
        double lane[LANES] = { 0 };
        for (int64_t i = from; i < n && i < from + BLOCK; i++)
            lane[i % LANES] += hn_get(x, i) * hn_get(x, i);
        for (int half = LANES / 2; half; half /= 2)
            for (int l = 0; l < half; l++)
                lane[l] += lane[l + half];
        sum += lane[0];
    }
    hn_set(call->out[0], 0, sum);
}

static double flops(const hn_call *call) { return 2.0 * (double)hn_count(&call->in[X]->type); }

static const char *const cases[] = { "f32[1]",          "f32[5,33] f64[]", "bf16[100]",
                                     "f32[4099] f64[]", "f32[3,4096]",     NULL };
/* clang-format off */
const hn_op hn_op_sum_sq = {
    .name = "sum_sq", .summary = "y = acc + sum of x^2, in double", .inputs = "x! acc?!",
    .infer = infer, .forward = forward, .no_gradient = "a norm for clipping, not for a loss",
    .flops = flops, .acc = { { HN_INPUT(ACC), 0 } }, .cases = cases, .tolerance = 1e-12,
};
/* clang-format on */
hn_node *hn_sum_sq(hn_graph *g, hn_node *x, hn_node *acc)
{
    return HN_APPLY(g, &hn_op_sum_sq, NULL, x, acc);
}
