/* Kernels whose limit is memory, on arrays past every cache, beside a plain copy loop. What counts
 * is the bytes that a kernel has to read and write. */
#include "cli/bench.h"

#include <string.h>

enum { N = HN_BENCH_STREAM, ROW = 4096, SHORT_ROW = 1024 };

typedef struct arrays {
    int64_t n; /* of each */
    float *a, *b, *c, *d, *e;
    float *room; /* a row for the thread */
} arrays;

#define EACH_ROW(call)                                                                         \
    for (int64_t at = 0; at < x->n; at += ROW)                                                 \
    (call)
#define MAP(name)                                                                              \
    static void run_##name(hn_bench *b, void *of)                                              \
    {                                                                                          \
        const arrays *x = of;                                                                  \
        b->kernels.elemwise.name##_f32(x->n, x->a, x->b, NULL);                                \
    }
MAP(neg)
MAP(exp)
MAP(silu)
MAP(gelu)
MAP(gelu_erf)

static void run_memcpy(hn_bench *b, void *of)
{
    const arrays *x = of;
    (void)b;
    memcpy(x->b, x->a, sizeof(float) * (size_t)x->n);
}

static void run_add(hn_bench *b, void *of)
{
    const arrays *x = of;
    b->kernels.elemwise.add_f32(x->n, x->a, 1, x->b, 1, x->c);
}

static void run_swiglu(hn_bench *b, void *of)
{
    const arrays *x = of;
    b->kernels.elemwise.swiglu_f32(x->n, x->a, x->b, x->c);
}

static void run_swiglu_grad(hn_bench *b, void *of)
{
    const arrays *x = of;
    b->kernels.elemwise.swiglu_grad_f32(x->n, x->a, x->b, x->c, x->d, x->e);
}

static void run_rms_norm(hn_bench *b, void *of)
{
    const arrays *x = of;
    EACH_ROW(b->kernels.norm.rms_norm_f32(ROW, x->a + at, x->c, 1e-5f, x->b + at, NULL, true));
}

static void run_short_rms_norm(hn_bench *b, void *of)
{
    const arrays *x = of;
    for (int64_t at = 0; at < x->n; at += SHORT_ROW)
        b->kernels.norm.rms_norm_f32(SHORT_ROW, x->a + at, x->c, 1e-5f, x->b + at, NULL, true);
}

static void run_rms_norm_grad(hn_bench *b, void *of)
{
    const arrays *x = of;
    EACH_ROW(b->kernels.norm.rms_norm_grad_f32(ROW, x->a + at, x->c, 1e-5f, x->b + at, x->d + at,
                                               NULL, true));
}

static void run_layer_norm(hn_bench *b, void *of)
{
    const arrays *x = of;
    EACH_ROW(b->kernels.norm.layer_norm_f32(ROW, x->a + at, x->c, x->d, 1e-5f, x->b + at, NULL,
                                            true));
}

static void run_softmax(hn_bench *b, void *of)
{
    const arrays *x = of;
    b->kernels.softmax.softmax_rows_f32(x->n / ROW, ROW, x->a, 1, x->b, x->room);
}

static void run_short_softmax(hn_bench *b, void *of)
{
    const arrays *x = of;
    b->kernels.softmax.softmax_rows_f32(x->n / SHORT_ROW, SHORT_ROW, x->a, 1, x->b, x->room);
}

static void run_softmax_grad(hn_bench *b, void *of)
{
    const arrays *x = of;
    EACH_ROW(b->kernels.softmax.softmax_grad_f32(ROW, x->a + at, x->b + at, 1, x->c + at, true));
}

static void run_rope_halves(hn_bench *b, void *of)
{
    const arrays *x = of;
    EACH_ROW(b->kernels.rope.rope_halves_f32(32, 128, 0, 128, x->c, x->d, 1, x->a + at, x->b + at));
}

static void run_rope_pairs(hn_bench *b, void *of)
{
    const arrays *x = of;
    EACH_ROW(b->kernels.rope.rope_pairs_f32(32, 128, 0, 128, x->c, x->d, 1, x->a + at, x->b + at));
}

static void run_dropout(hn_bench *b, void *of)
{
    const arrays *x = of;
    b->kernels.elemwise.dropout_f32(x->n, x->a, x->b, 0.1f, hn_rng_seed(1), 0);
}

static void run_sum_rows(hn_bench *b, void *of)
{
    const arrays *x = of;
    b->kernels.reduce.sum_rows_f32(x->n / ROW, ROW, x->a, x->b);
}

static hn_adamw_step adamw_step(void)
{
    return (hn_adamw_step){ .scale = 1, .one_minus_beta1 = 0.1f, .one_minus_beta2 = 0.001f,
                            .eps = 1e-8f, .rate = 1e-3f, .root = 1, .keep = 1,
                            .key = hn_rng_seed(1) };
}

static void run_adamw(hn_bench *b, void *of)
{
    const arrays *x = of;
    const hn_adamw_step step = adamw_step();
    b->kernels.optim.adamw_f32_f32(x->n, 0, &step, x->a, x->d, x->e, x->b, NULL);
}

static void run_adamw_bf16(hn_bench *b, void *of)
{
    const arrays *x = of;
    const hn_adamw_step step = adamw_step();
    b->kernels.optim.adamw_bf16_bf16(x->n, 0, &step, x->a, (uint16_t *)(void *)x->d,
                                     (uint16_t *)(void *)x->e, (uint16_t *)(void *)x->c);
}

static const struct {
    const char *name;
    void (*run)(hn_bench *b, void *of);
    int bytes; /* read and written for each element */
    bool in_quick, starts_at_zero;
} rows[] = {
    { "memcpy", run_memcpy, 8, true },
    { "add", run_add, 12, true },
    { "neg", run_neg, 8, false },
    { "exp", run_exp, 8, true },
    { "silu", run_silu, 8, true },
    { "gelu", run_gelu, 8, false },
    { "gelu_erf", run_gelu_erf, 8, false },
    { "dropout", run_dropout, 8, false },
    { "swiglu", run_swiglu, 12, false },
    { "swiglu_grad", run_swiglu_grad, 20, false },
    { "rms_norm, rows of 1024", run_short_rms_norm, 8, true },
    { "rms_norm, rows of 4096", run_rms_norm, 8, true },
    { "rms_norm_grad", run_rms_norm_grad, 12, false },
    { "layer_norm", run_layer_norm, 8, false },
    { "softmax, rows of 1024", run_short_softmax, 8, true },
    { "softmax, rows of 4096", run_softmax, 8, true },
    { "softmax_grad", run_softmax_grad, 12, false },
    { "rope_halves", run_rope_halves, 8, true },
    { "rope_pairs", run_rope_pairs, 8, false },
    { "sum_rows", run_sum_rows, 4, false },
    { "adamw, f32 moments and weights", run_adamw, 28, true, true },
    { "adamw, bf16 moments and weights", run_adamw_bf16, 16, false, true },
};

/* ---- a share of the arrays for each thread ---- */

typedef struct shared {
    hn_bench *b;
    arrays all;
    void (*run)(hn_bench *b, void *of);
} shared;

static void run_share(void *context, int64_t begin, int64_t end, int thread)
{
    shared *of = context;
    for (int64_t i = begin; i < end; i++) {
        const int64_t n = of->all.n / of->b->n_threads / ROW * ROW, at = i * n;
        arrays own = { n, of->all.a + at, of->all.b + at, of->all.c + at, of->all.d + at,
                       of->all.e + at, hn_bench_scratch(of->b, thread) };
        of->run(of->b, &own);
    }
}

static void run_shares(hn_bench *b, void *of)
{
    hn_bench_units(b, b->n_threads, run_share, of);
}

hn_status hn_bench_rows(hn_bench *b)
{
    float *a = hn_bench_floats(b, N), *d = hn_bench_floats(b, N), *e = hn_bench_floats(b, N);
    arrays x = { .n = N, .a = a, .b = b->from, .c = b->to, .d = d, .e = e };
    for (size_t i = 0; i < sizeof rows / sizeof *rows && a && d && e; i++) {
        if (b->is_quick && !rows[i].in_quick)
            continue;
        if (rows[i].starts_at_zero)
            for (size_t k = 0; k < N; k++)
                x.c[k] = x.d[k] = x.e[k] = 0;
        shared own = { b, x, rows[i].run };
        hn_racer racers[] = { hn_bench_copy(b),
                              { .run = run_shares, .what = &own, .work = (double)rows[i].bytes * N } };
        hn_bench_race(b, 2, racers);
        hn_bench_line(b, "rows", rows[i].name, "GB/s", 2, racers);
    }
    hn_free(b->heap, a);
    hn_free(b->heap, d);
    hn_free(b->heap, e);
    return a && d && e ? HN_OK : HN_ERR_MEMORY;
}
