/* GB/s of the kernels whose limit is memory, on arrays past every cache, beside a plain copy
 * loop. */
#include "base/clock.h"
#include "kernels/elemwise/elemwise.h"
#include "kernels/norm/norm.h"
#include "kernels/optim/optim.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rope/rope.h"
#include "kernels/softmax/softmax.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1 << 24, ROW = 4096, REPEATS = 7 }; /* 64 MiB an array */

static float *a, *b, *c, *d, *e;

static double best_of(double best, double seconds) { return seconds < best ? seconds : best; }

#define MEASURE(name, streams, call)                                                           \
    do {                                                                                       \
        double best = 1e9;                                                                     \
        for (int repeat = 0; repeat < REPEATS; repeat++) {                                     \
            const int64_t from = hn_clock_ns();                                                \
            call;                                                                              \
            best = best_of(best, (double)(hn_clock_ns() - from) * 1e-9);                       \
        }                                                                                      \
        printf("%-24s %6.1f GB/s\n", name, 4.0 * (streams)*N / best * 1e-9);                   \
    } while (0)
#define ROWS(call)                                                                             \
    for (int64_t at = 0; at < N; at += ROW) {                                                  \
        call;                                                                                  \
    }

static void measure(hn_isa isa)
{
    hn_elemwise_kernels m;
    hn_norm_kernels norm;
    hn_softmax_kernels s;
    hn_rope_kernels r;
    hn_reduce_kernels reduce;
    hn_optim_kernels o;
    hn_elemwise_kernels_init(&m, isa), hn_norm_kernels_init(&norm, isa);
    hn_softmax_kernels_init(&s, isa), hn_rope_kernels_init(&r, isa);
    hn_reduce_kernels_init(&reduce, isa), hn_optim_kernels_init(&o, isa);
    const float one[2] = { 1, 0 };
    const hn_rng_key key = hn_rng_seed(1);
    const hn_adamw_step step = { .scale = 1,
                                 .one_minus_beta1 = 0.1f,
                                 .one_minus_beta2 = 0.001f,
                                 .eps = 1e-8f,
                                 .rate = 1e-3f,
                                 .root = 1,
                                 .keep = 1 };
    MEASURE("neg (1 in, 1 out)", 2, m.neg_f32(N, a, b, NULL));
    MEASURE("neg in place", 2, m.neg_f32(N, b, b, NULL));
    MEASURE("add (2 in, 1 out)", 3, m.add_f32(N, a, 1, b, 1, c));
    MEASURE("scale", 2, m.scale_f32(N, a, b, one));
    MEASURE("exp", 2, m.exp_f32(N, a, b, NULL));
    MEASURE("silu", 2, m.silu_f32(N, a, b, NULL));
    MEASURE("gelu", 2, m.gelu_f32(N, a, b, NULL));
    MEASURE("gelu_erf", 2, m.gelu_erf_f32(N, a, b, NULL));
    MEASURE("swiglu", 3, m.swiglu_f32(N, a, b, c));
    MEASURE("swiglu_grad", 5, m.swiglu_grad_f32(N, a, b, c, d, e));
    MEASURE("dropout", 2, m.dropout_f32(N, a, b, 0.1f, key, 0));
    MEASURE("rms_norm", 2, ROWS(norm.rms_norm_f32(ROW, a + at, c, 1e-5f, b + at, NULL)));
    MEASURE("rms_norm_grad", 3,
            ROWS(norm.rms_norm_grad_f32(ROW, a + at, c, 1e-5f, b + at, d + at, NULL)));
    MEASURE("layer_norm", 2, ROWS(norm.layer_norm_f32(ROW, a + at, c, d, 1e-5f, b + at, NULL)));
    MEASURE("softmax", 2, ROWS(s.softmax_f32(ROW, a + at, 1, NULL, NULL, b + at)));
    MEASURE("softmax_grad", 3, ROWS(s.softmax_grad_f32(ROW, a + at, b + at, 1, c + at)));
    MEASURE("rope_halves", 2,
            ROWS(r.rope_halves_f32(32, 128, 0, 128, c, d, 1, a + at, b + at)));
    MEASURE("rope_pairs", 2, ROWS(r.rope_pairs_f32(32, 128, 0, 128, c, d, 1, a + at, b + at)));
    MEASURE("sum", 1, ROWS(reduce.sum_f32(ROW, a + at, b)));
    MEASURE("sum_squares", 1, reduce.sum_squares_f32(N, a, (double *)(void *)b));
    MEASURE("sum_rows", 1, reduce.sum_rows_f32(N / ROW, ROW, a, b));
    memset(c, 0, sizeof(float) * N), memset(d, 0, sizeof(float) * N);
    MEASURE("adamw_f32_f32", 7, o.adamw_f32_f32(N, 0, &step, a, c, d, b, NULL));
    MEASURE("adamw_bf16_bf16", 4,
            o.adamw_bf16_bf16(N, 0, &step, a, (uint16_t *)c, (uint16_t *)d, (uint16_t *)e));
}

int main(void)
{
    float **arrays[] = { &a, &b, &c, &d, &e };
    for (int k = 0; k < 5; k++) {
        *arrays[k] = malloc(sizeof(float) * N);
        if (!*arrays[k])
            return 1;
        for (int i = 0; i < N; i++)
            (*arrays[k])[i] = (float)((i % 7919 + k) % 2003) * 0.002f - 2.0f;
    }
    MEASURE("memcpy", 2, memcpy(b, a, sizeof(float) * N));
    const hn_isa host = hn_isa_host();
    printf("%s\n", hn_isa_name(host));
    measure(host);
    for (int k = 0; k < 5; k++)
        free(*arrays[k]);
    return 0;
}
