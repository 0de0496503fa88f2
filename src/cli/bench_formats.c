/* Every format by few and many rows: in f32, and beside it in mixed (blocks of bf16) and int8, each timed in turn, at every
 * level. Weights are in panels; x is rounded by the product, as it is in a model. */
#include "base/half.h"
#include "cli/bench.h"

#include <string.h>

enum { N = 1024, K = 2048, MOST_ROWS = 512 };

static const char *const names[] = {
#define HN_ELEM(name, elements, bytes, kernels, ...) #name,
#include "quant/types.def"
};

typedef struct product {
    hn_gemm_args args;
    hn_gemm_plan plan;
    const float *x;
    hn_int8_args whole;
} product;

typedef struct running {
    hn_bench *b;
    product *p;
} running;

static void gemm_units(void *of, int64_t begin, int64_t end, int thread)
{
    const running *r = of;
    hn_gemm_run(&r->p->plan, begin, end, hn_bench_scratch(r->b, thread));
}

static void run_gemm(hn_bench *b, void *what)
{
    running r = { b, what };
    hn_gemm_plan_make(&r.p->plan, &b->kernels.gemm, &r.p->args, b->n_threads);
    hn_bench_units(b, r.p->plan.units, gemm_units, &r);
}

static void round_units(void *of, int64_t begin, int64_t end, int thread)
{
    const running *r = of;
    const hn_int8_args *a = &r->p->whole;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const hn_int8_rows row = hn_int8_rows_from(&a->x, i, 0);
        r->b->kernels.int8.quantise(a->k, r->p->x + i * a->k, &row);
    }
}

static void whole_units(void *of, int64_t begin, int64_t end, int thread)
{
    const running *r = of;
    hn_int8_run(&r->b->kernels.int8, &r->p->whole, begin, end, hn_bench_scratch(r->b, thread));
}

static void run_whole(hn_bench *b, void *what)
{
    running r = { b, what };
    hn_bench_units(b, r.p->whole.rows, round_units, &r);
    hn_bench_units(b, hn_int8_units(&r.p->whole), whole_units, &r);
}

/* How fast the mode is beside f32, as the gate knows it: at AVX2, and at the strongest level. */
static void note(hn_bench *b, hn_elem type, int64_t rows, const hn_racer *f32, const hn_racer *mode)
{
    char what[64];
    for (int i = 0; i < 2 && b->gate; i++)
        if (b->isa == (i ? b->best : HN_ISA(avx2))) {
            snprintf(what, sizeof what, "%s %s %lld %s", i ? "best" : "avx2", names[type], (long long)rows, mode->name);
            hn_bench_gate_note(b->gate, "formats", what, hn_racer_rate(mode) / hn_racer_rate(f32));
        }
}

static void bench_rows(hn_bench *b, hn_elem type, int64_t rows, product *p, const float *rounded)
{
    const double work = 2.0 * (double)rows * N * K;
    p->args = (hn_gemm_args){ .m = rows, .n = N, .k = K, .c = p->whole.y, .c_row_stride = 4 * N, .c_col_stride = 4,
                              .a = { .data = p->x, .outer_stride = 4 * K, .k_stride = 4 },
                              .b = { .data = b->to, .type = type, .is_panel16 = true, .row_elems = K,
                                     .outer_stride = hn_elem_span(type, K),
                                     .k_stride = hn_elem_block(type) > 1 ? 0 : hn_elem_bytes(type) } };
    uint8_t exponents[N / 16 * (K / HN_PANEL16_STRETCH)];
    product mixed = *p;
    memset(exponents, 127, sizeof exponents);
    mixed.args.blocks = true;
    mixed.args.b.lowest = type == HN_ELEM_bf16 ? exponents : NULL;
    mixed.args.a.data = rounded;
    p->whole.rows = rows;
    p->whole.type = type;
    hn_racer racers[] = { hn_bench_fma(b), { .run = run_gemm, .what = p, .work = work },
                          { .name = "mixed", .run = run_gemm, .what = &mixed, .work = work },
                          { .name = "int8", .run = run_whole, .what = p, .work = work } };
    const int n = hn_int8_formats[type].kind ? 4 : 3;
    hn_bench_race(b, n, racers);
    for (int i = 2; i < n; i++)
        note(b, type, rows, &racers[1], &racers[i]);
    char what[64];
    snprintf(what, sizeof what, "%-6s %5lld rows  f32", names[type], (long long)rows);
    hn_bench_line(b, "formats", what, "GFLOP/s", n, racers);
}

hn_status hn_bench_formats(hn_bench *b)
{
    static const int64_t all[] = { 1, 2, 4, 8, 16, 64, 512 }, few[] = { 1, 8, 64 };
    const int n = b->is_quick ? 3 : b->isa ? 7 : 5; /* ref takes its time */
    float *x = hn_bench_floats(b, MOST_ROWS * K), *y = hn_bench_floats(b, MOST_ROWS * N), *rounded = hn_bench_floats(b, MOST_ROWS * K);
    void *rows = hn_alloc(b->heap, HN_TAG_WORKSPACE, MOST_ROWS * hn_int8_row_bytes(K));
    const bool is_made = x && y && rounded && rows;
    if (is_made) {
        for (int64_t i = 0; i < MOST_ROWS * K; i++)
            rounded[i] = hn_bf16_to_f32(hn_f32_to_bf16(x[i]));
        memset(b->to, 0x11, sizeof(float) * N * K);
        product p = { .x = x, .whole = { .k = K, .n = N, .x = hn_int8_rows_in(rows, MOST_ROWS, K), .w = b->to,
                                         .is_panel16 = true, .y = y } };
        for (hn_elem type = 0; type < HN_N_ELEMS; type++)
            for (int i = 0; i < n; i++)
                bench_rows(b, type, n == 3 ? few[i] : all[i], &p, rounded);
    }
    hn_free(b->heap, rows), hn_free(b->heap, rounded), hn_free(b->heap, y), hn_free(b->heap, x);
    return is_made ? HN_OK : HN_ERR_MEMORY;
}
