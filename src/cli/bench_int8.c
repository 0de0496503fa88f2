/* Products in whole numbers: one row by each format's panels beside what reading them costs, and many rows beside the
 * f32 fma peak, of which they do several times as much. */
#include "cli/bench.h"

#include <string.h>

typedef struct whole {
    const float *x;
    hn_int8_args args;
} whole;

typedef struct running {
    hn_bench *b;
    whole *w;
} running;

static void round_units(void *of, int64_t begin, int64_t end, int thread)
{
    const running *r = of;
    const hn_int8_args *a = &r->w->args;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const hn_int8_rows row = hn_int8_rows_from(&a->x, i, 0);
        r->b->kernels.int8.quantise(a->k, r->w->x + i * a->k, &row);
    }
}

static void product_units(void *of, int64_t begin, int64_t end, int thread)
{
    const running *r = of;
    hn_int8_run(&r->b->kernels.int8, &r->w->args, begin, end, hn_bench_scratch(r->b, thread));
}

static void run_own(hn_bench *b, void *what)
{
    running r = { b, what };
    hn_bench_units(b, r.w->args.rows, round_units, &r);
    hn_bench_units(b, hn_int8_units(&r.w->args), product_units, &r);
}

static const char *const names[] = {
#define HN_ELEM(name, elements, bytes, kernels, ...) #name,
#include "quant/types.def"
};

/* Few rows by panels, or one by rows as a file has them: as many bytes of weights as the limit reads. */
static void bench_stream(hn_bench *b, hn_elem type, bool is_panel16, int64_t rows, whole *w)
{
    const int64_t row = hn_elem_span(type, w->args.k);
    w->args.rows = rows;
    w->args.type = type;
    w->args.n = 4LL * HN_BENCH_STREAM / row / 64 * 64;
    w->args.is_panel16 = is_panel16;
    w->args.stride = row;
    hn_racer racers[] = { hn_bench_read(b), { .run = run_own, .what = w, .work = (double)(row * w->args.n) } };
    hn_bench_race(b, 2, racers);
    char what[64], lie[32] = "mapped";
    if (is_panel16)
        snprintf(lie, sizeof lie, "%lld row%s", (long long)rows, rows > 1 ? "s" : " ");
    snprintf(what, sizeof what, "%-6s %10s %6.1f Gweight/s", names[type], lie,
             hn_racer_rate(&racers[1]) * (double)w->args.k / (double)row);
    hn_bench_line(b, "int8", what, "GB/s", 2, racers);
}

static void bench_rows(hn_bench *b, hn_elem type, int64_t rows, whole *w)
{
    w->args.rows = rows;
    w->args.type = type;
    w->args.is_panel16 = true;
    w->args.n = 1024;
    hn_racer racers[] = { hn_bench_fma(b),
                          { .run = run_own, .what = w, .work = 2.0 * (double)(rows * w->args.n * w->args.k) } };
    hn_bench_race(b, 2, racers);
    char what[64];
    snprintf(what, sizeof what, "%-6s %5lld rows", names[type], (long long)rows);
    hn_bench_line(b, "int8", what, "Gop/s", 2, racers);
}

hn_status hn_bench_int8(hn_bench *b)
{
    enum { K = 2048, MOST_ROWS = 256, FEW_ROWS = 8, MOST_OUTPUTS = FEW_ROWS << 18 };
    float *x = hn_bench_floats(b, MOST_ROWS * K), *y = hn_bench_floats(b, MOST_OUTPUTS);
    void *rows = hn_alloc(b->heap, HN_TAG_WORKSPACE, MOST_ROWS * hn_int8_row_bytes(K));
    if (x && y && rows) {
        whole w = { x, { .k = K, .x = hn_int8_rows_in(rows, MOST_ROWS, K), .w = b->to, .y = y } };
        memset(b->to, 0x11, sizeof(float) * HN_BENCH_STREAM);
        for (hn_elem type = 0; type < HN_N_ELEMS; type++) {
            if (!hn_int8_formats[type].kind)
                continue;
            for (int64_t n = 1; n <= (b->is_quick ? 1 : FEW_ROWS); n *= 2)
                bench_stream(b, type, true, n, &w);
            bench_stream(b, type, false, 1, &w);
            for (int64_t n = b->is_quick ? MOST_ROWS : 4; n <= MOST_ROWS; n = n == 16 ? MOST_ROWS : 4 * n)
                bench_rows(b, type, n, &w);
        }
    }
    hn_free(b->heap, rows), hn_free(b->heap, y), hn_free(b->heap, x);
    return x && y && rows ? HN_OK : HN_ERR_MEMORY;
}
