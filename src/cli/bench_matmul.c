/* Matrix products in the three orientations of training, and weights streamed past few rows. */
#include "cli/bench.h"

#include "base/half.h"

#include <string.h>

typedef struct product {
    hn_gemm_args args;
    hn_gemm_plan plan;
    int order; /* 0: NT, y = x w^T; 1: NN, dx = dy w; 2: TN, dw = dy^T x */
    const hn_peer *peer;
} product;

typedef struct running {
    hn_bench *b;
    product *p;
} running;

static void product_units(void *of, int64_t begin, int64_t end, int thread)
{
    const running *r = of;
    hn_gemm_run(&r->p->plan, begin, end, hn_bench_scratch(r->b, thread));
}

static void run_own(hn_bench *b, void *what)
{
    running r = { b, what };
    hn_gemm_plan_make(&r.p->plan, &b->kernels.gemm, &r.p->args, b->n_threads);
    hn_bench_units(b, r.p->plan.units, product_units, &r);
}

static void run_peer(hn_bench *b, void *what)
{
    (void)b;
    const product *p = what;
    const hn_gemm_args *x = &p->args;
    p->peer->sgemm(101, p->order == 2 ? 112 : 111, p->order == 0 ? 112 : 111, (int)x->m, (int)x->n,
                   (int)x->k, 1, x->a.data, (int)(p->order == 2 ? x->m : x->k), x->b.data,
                   (int)(p->order == 0 ? x->k : x->n), 0, x->c, (int)x->n);
}

static product make_product(int order, int64_t t, int64_t n_w, int64_t k_w)
{
    const int64_t m = order == 2 ? n_w : t, n = order == 0 ? n_w : k_w;
    const int64_t k = order == 0 ? k_w : order == 1 ? n_w : t;
    product p = { .order = order, .args = { .m = m, .n = n, .k = k, .c_row_stride = 4 * n,
                                            .c_col_stride = 4 } };
    p.args.a.outer_stride = order == 2 ? 4 : 4 * k;
    p.args.a.k_stride = order == 2 ? 4 * m : 4;
    p.args.b.outer_stride = order == 0 ? 4 * k : 4;
    p.args.b.k_stride = order == 0 ? 4 : 4 * n;
    return p;
}

/* Of an adapter's: a tile has columns or a depth of so few. Its lines are a part of their own, by the form. */
enum { LOW_RANK = 16 };
static bool is_low(const hn_gemm_args *x) { return x->m <= LOW_RANK || x->n <= LOW_RANK || x->k <= LOW_RANK; }

static void put_line(hn_bench *b, const product *p, const char *part, const char *form, int n, hn_racer *racers)
{
    static const char *const names[] = { "NT y", "NN dx", "TN dw" };
    const hn_gemm_args *x = &p->args;
    char what[96];
    if (is_low(x))
        snprintf(what, sizeof what, "%-6s %-5s %5lld x %5lld x %5lld", form, names[p->order], (long long)x->m, (long long)x->n,
                 (long long)x->k);
    else
        snprintf(what, sizeof what, "%-5s %5lld x %5lld x %5lld  %s", names[p->order], (long long)x->m, (long long)x->n,
                 (long long)x->k, form);
    hn_bench_line(b, is_low(x) ? "rank" : part, what, "GFLOP/s", n, racers);
}

/* In blocks, as they come: a weight in bf16, activations in f32 that are bf16. */
static void print_product(hn_bench *b, product *f32, product *bf16, const float *x_bf16)
{
    const hn_gemm_args *x = &f32->args;
    const double work = 2.0 * (double)x->m * (double)x->n * (double)x->k;
    hn_racer racers[HN_BENCH_MOST] = { hn_bench_fma(b), { .run = run_own, .what = f32, .work = work } };
    product other[HN_BENCH_PEERS];
    int n = 2;
    for (int i = 0; i < b->n_peers && b->isa == b->best; i++, n++) {
        other[i] = *f32;
        other[i].peer = &b->peers[i];
        racers[n] = (hn_racer){ b->peers[i].name, run_peer, &other[i], work, 0 };
    }
    racers[n] = (hn_racer){ .run = run_own, .what = bf16, .work = work };
    hn_bench_race(b, n + 1, racers);
    put_line(b, f32, "gemm", "f32", n, racers);
    racers[1] = racers[n];
    put_line(b, f32, "gemm", "bf16", 2, racers);
    if (f32->order == 2) /* sums over tokens are chains */
        return;
    product blocks = *bf16;
    blocks.args.blocks = true;
    blocks.args.a.data = x_bf16;
    racers[1] = (hn_racer){ .run = run_own, .what = &blocks, .work = work };
    hn_bench_race(b, 2, racers);
    put_line(b, f32, "blocks", "blocks", 2, racers);
}

/* The weight is bf16: b forward and in dx; in dw the activations, as a product of two would be. */
static hn_status bench_product(hn_bench *b, int order, int64_t t, int64_t n_w, int64_t k_w)
{
    product f32 = make_product(order, t, n_w, k_w);
    hn_gemm_args *x = &f32.args;
    float *from_a = hn_bench_floats(b, x->m * x->k), *from_b = hn_bench_floats(b, x->n * x->k);
    float *to = hn_bench_floats(b, x->m * x->n), *rounded = hn_bench_floats(b, x->m * x->k);
    uint16_t *narrow = hn_alloc_array(b->heap, HN_TAG_WORKSPACE, (size_t)(x->n * x->k), 2);
    const bool is_made = from_a && from_b && to && rounded && narrow;
    if (is_made) {
        x->a.data = from_a, x->b.data = from_b, x->c = to;
        product bf16 = f32;
        for (int64_t i = 0; i < x->n * x->k; i++)
            narrow[i] = (uint16_t)(0x3e00 + i % 509);
        bf16.args.b.data = narrow;
        bf16.args.b.type = HN_ELEM_bf16;
        bf16.args.b.outer_stride /= 2, bf16.args.b.k_stride /= 2;
        for (int64_t i = 0; i < x->m * x->k; i++)
            rounded[i] = hn_bf16_to_f32(hn_f32_to_bf16(from_a[i]));
        print_product(b, &f32, &bf16, rounded);
    }
    hn_free(b->heap, from_a), hn_free(b->heap, from_b), hn_free(b->heap, to);
    hn_free(b->heap, narrow), hn_free(b->heap, rounded);
    return is_made ? HN_OK : HN_ERR_MEMORY;
}

hn_status hn_bench_matmul(hn_bench *b)
{
    static const int64_t shapes[][2] = { { 1024, 1024 }, { 2816, 1024 }, { 1024, 2816 },
                                         { 32000, 1024 } };
    const bool is_short = b->is_quick || b->isa != b->best;
    for (int i = 0; i < b->n_peers; i++) {
        if (b->peers[i].set_threads)
            b->peers[i].set_threads(b->n_threads);
        if (b->peers[i].set_threads_long)
            b->peers[i].set_threads_long(b->n_threads);
    }
    for (int64_t t = 512; t <= (is_short ? 512 : 2048); t *= 4)
        for (int s = 0; s < (is_short ? 3 : 4); s++)
            for (int order = 0; order < 3; order++)
                HN_TRY(bench_product(b, order, t, shapes[s][0], shapes[s][1]));
    for (int s = 0; s < 2; s++)
        for (int order = 0; order < 3; order++)
            HN_TRY(bench_product(b, order, 512, s ? LOW_RANK : 1024, s ? 1024 : LOW_RANK));
    return HN_OK;
}

/* ---- one row by weights ---- */

enum { DEEP = 8192, MOST_OUTPUTS = 1 << 15 };

static void bench_stream(hn_bench *b, hn_elem type, bool is_panel16, const float *x, float *y)
{
    static const char *const names[] = {
#define HN_ELEM(name, elements, bytes, kernels, ...) #name,
#include "quant/types.def"
    };
    const int64_t row = hn_elem_span(type, DEEP);
    const int64_t n = 4LL * HN_BENCH_STREAM / row / 64 * 64; /* as many bytes as the limit reads */
    product p = { .args = { .m = 1, .n = n, .k = DEEP, .c = y, .c_row_stride = 4 * n,
                            .c_col_stride = 4 } };
    p.args.a = (hn_gemm_operand){ .data = x, .outer_stride = 4 * DEEP, .k_stride = 4 };
    p.args.b = (hn_gemm_operand){ .data = b->to, .type = type, .is_panel16 = is_panel16,
                                  .row_elems = DEEP, .outer_stride = row,
                                  .k_stride = hn_elem_block(type) > 1 ? 0 : hn_elem_bytes(type) };
    hn_racer racers[] = { hn_bench_read(b), { .run = run_own, .what = &p, .work = (double)(row * n) } };
    hn_bench_race(b, 2, racers);
    char what[64];
    snprintf(what, sizeof what, "%-5s %-8s %5.1f Gweight/s", names[type],
             is_panel16 ? "panel16" : "plain",
             hn_racer_rate(&racers[1]) * (double)DEEP / (double)row);
    hn_bench_line(b, "gemv", what, "GB/s", 2, racers);
    uint8_t exponents[MOST_OUTPUTS / 16 * (DEEP / HN_PANEL16_STRETCH)];
    memset(exponents, 127, sizeof exponents);
    p.args.blocks = true;
    p.args.b.lowest = is_panel16 && type == HN_ELEM_bf16 ? exponents : NULL;
    hn_bench_race(b, 2, racers);
    snprintf(what, sizeof what, "%-5s %-8s %5.1f Gweight/s", names[type],
             is_panel16 ? "panel16" : "plain", hn_racer_rate(&racers[1]) * (double)DEEP / (double)row);
    hn_bench_line(b, "blocks", what, "GB/s", 2, racers);
}

hn_status hn_bench_gemv(hn_bench *b)
{
    static const hn_elem types[] = { HN_ELEM_f32, HN_ELEM_bf16, HN_ELEM_q8_0, HN_ELEM_q4_k };
    float *x = hn_bench_floats(b, DEEP), *y = hn_bench_floats(b, MOST_OUTPUTS);
    if (x && y) {
        memset(b->to, 0x11, sizeof(float) * HN_BENCH_STREAM);
        for (int i = 0; i < 4; i++)
            for (int panel = 0; panel < 2; panel++)
                bench_stream(b, types[i], panel, x, y);
    }
    hn_free(b->heap, y);
    hn_free(b->heap, x);
    return x && y ? HN_OK : HN_ERR_MEMORY;
}
