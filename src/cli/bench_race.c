/* Timing, limits and lines of the table. */
#include "cli/bench.h"

#include "base/os/clock.h"

static double seconds(const hn_bench *b)
{
    return 1e-9 * (double)(b->n_threads == 1 ? hn_clock_thread_ns() : hn_clock_ns());
}

void hn_bench_race(hn_bench *b, int n, hn_racer *racers)
{
    for (int i = 0; i < n; i++)
        racers[i].best = 1e9;
    for (int round = 0; round < b->again; round++)
        for (int i = 0; i < n; i++) {
            const double start = seconds(b);
            racers[i].run(b, racers[i].what);
            const double time = seconds(b) - start;
            racers[i].best = time < racers[i].best ? time : racers[i].best;
        }
}

void hn_bench_units(hn_bench *b, int64_t units, hn_pool_job *job, void *context)
{
    hn_pool_run(b->pool, units, 1, job, context);
}

float *hn_bench_floats(hn_bench *b, int64_t n)
{
    float *x = hn_alloc_array(b->heap, HN_TAG_WORKSPACE, (size_t)n, sizeof *x);
    uint32_t state = 1;
    for (int64_t i = 0; x && i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)state * 0x1p-31f;
    }
    return x;
}

/* ---- limits: each thread takes an equal part, several units each ---- */

enum { PARTS = 64, ROUNDS = 1 << 12 };

static void fma_unit(void *of, int64_t begin, int64_t end, int thread)
{
    hn_bench *b = of;
    float *x = hn_bench_scratch(b, thread);
    for (int l = 0; l < 16; l++)
        x[l] = 0;
    for (int64_t unit = begin; unit < end; unit++)
        b->kernels.peak.peak_fma(ROUNDS, x);
}

static void read_unit(void *of, int64_t begin, int64_t end, int thread)
{
    hn_bench *b = of;
    const int64_t n = HN_BENCH_STREAM / PARTS;
    for (int64_t unit = begin; unit < end; unit++)
        b->kernels.peak.peak_read(n, b->from + unit * n, hn_bench_scratch(b, thread));
}

static void copy_unit(void *of, int64_t begin, int64_t end, int thread)
{
    hn_bench *b = of;
    (void)thread;
    const int64_t n = HN_BENCH_STREAM / PARTS;
    for (int64_t unit = begin; unit < end; unit++)
        b->kernels.peak.peak_copy(n, b->from + unit * n, b->to + unit * n);
}

static void run_fma(hn_bench *b, void *what)
{
    (void)what;
    hn_bench_units(b, PARTS, fma_unit, b);
}

static void run_read(hn_bench *b, void *what)
{
    (void)what;
    hn_bench_units(b, PARTS, read_unit, b);
}

static void run_copy(hn_bench *b, void *what)
{
    (void)what;
    hn_bench_units(b, PARTS, copy_unit, b);
}

hn_racer hn_bench_fma(hn_bench *b)
{
    (void)b;
    return (hn_racer){ .run = run_fma, .work = 2.0 * 16 * HN_PEAK_CHAINS * ROUNDS * PARTS };
}

hn_racer hn_bench_read(hn_bench *b)
{
    (void)b;
    return (hn_racer){ .run = run_read, .work = 4.0 * HN_BENCH_STREAM };
}

hn_racer hn_bench_copy(hn_bench *b)
{
    (void)b;
    return (hn_racer){ .run = run_copy, .work = 8.0 * HN_BENCH_STREAM };
}

void hn_bench_line(hn_bench *b, const char *part, const char *what, const char *unit, int n,
                   const hn_racer *racers)
{
    hn_isa_text level;
    const double own = hn_racer_rate(&racers[1]), limit = hn_racer_rate(&racers[0]);
    if (b->gate) {
        hn_bench_gate_note(b->gate, part, what, own / limit);
        return;
    }
    fprintf(b->out, "%-9s %-6s %d  %-38s %7.1f %s %4.0f %%", part, hn_isa_name(b->isa, &level),
            b->n_threads, what, own, unit, 100 * own / limit);
    for (int i = 2; i < n; i++)
        fprintf(b->out, "   %s %.0f %%", racers[i].name, 100 * hn_racer_rate(&racers[i]) / limit);
    fputs("\n", b->out);
    fflush(b->out);
    if (!b->json)
        return;
    hn_json_begin_object(b->json);
    hn_json_key(b->json, "part"), hn_json_add_string(b->json, part);
    hn_json_key(b->json, "level"), hn_json_add_string(b->json, hn_isa_name(b->isa, &level));
    hn_json_key(b->json, "threads"), hn_json_add_int(b->json, b->n_threads);
    hn_json_key(b->json, "what"), hn_json_add_string(b->json, what);
    hn_json_key(b->json, "unit"), hn_json_add_string(b->json, unit);
    hn_json_key(b->json, "rate"), hn_json_add_double(b->json, own);
    hn_json_key(b->json, "limit"), hn_json_add_double(b->json, limit);
    for (int i = 2; i < n; i++)
        hn_json_key(b->json, racers[i].name),
            hn_json_add_double(b->json, hn_racer_rate(&racers[i]));
    hn_json_end_object(b->json);
}
