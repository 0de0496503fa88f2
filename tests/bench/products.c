/* Matrix products, streams of weights, attention and cross-entropy: GFLOP/s, the share of the
 * FMA peak measured in the same run, and the ratio to a BLAS. One line a case.
 *
 *     products [--threads N] [--blas LIBRARY.so] [--only gemm|few|attn|xent]
 *
 * HN_ISA_MASK lowers the level. One thread is timed by its own processor time, so that other
 * programs disturb less; more threads by the wall clock. Each figure is the best of several. */
#include "base/clock.h"
#include "kernels/attn/attn.h"
#include "kernels/xent/xent.h"
#include "tests/harness/check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 64, AGAIN = 4 };

static int n_threads = 1;
static hn_isa isa;
static double peak; /* GFLOP/s of all threads */
static void *scratch[MOST_THREADS], *shared;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(n_threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One phase on all threads: units are taken one by one. */
typedef struct job {
    void (*run)(const void *plan, int64_t phase, int64_t unit, void *scratch);
    const void *plan;
    int64_t phase, units;
    atomic_llong next;
    atomic_int slot;
} job;

static void *work(void *of)
{
    job *j = of;
    void *mine = scratch[atomic_fetch_add(&j->slot, 1)];
    for (long long unit; (unit = atomic_fetch_add(&j->next, 1)) < j->units;)
        j->run(j->plan, j->phase, unit, mine);
    return NULL;
}

static void run_phase(job *j)
{
    pthread_t thread[MOST_THREADS];
    atomic_store(&j->next, 0);
    atomic_store(&j->slot, 0);
    for (int i = 1; i < n_threads; i++)
        pthread_create(&thread[i], NULL, work, j);
    work(j);
    for (int i = 1; i < n_threads; i++)
        pthread_join(thread[i], NULL);
}

static float *random_floats(int64_t n)
{
    float *x = aligned_alloc(4096, ((size_t)n * 4 + 4095) / 4096 * 4096);
    uint32_t state = 1;
    for (int64_t i = 0; x && i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)state * 0x1p-31f;
    }
    return x;
}

/* The FMA peak: a tile whose operands stay in the first-level cache, long enough to hide its
 * loads and stores. Within 1-2 % of a loop of register FMAs where that was compared. */
static void peak_unit(const void *plan, int64_t phase, int64_t unit, void *mine)
{
    const hn_gemm_kernels *g = plan;
    (void)phase, (void)unit;
    float *a = mine, *b = a + 256 * 16, *c = b + 64;
    memset(mine, 0, 64 * 1024);
    for (int i = 0; i < 1000; i++)
        g->tile(256, a, b, 0, c, g->nr, g->mr, g->nr, true);
}

static void find_peak(void)
{
    const hn_gemm_kernels *g = hn_gemm_kernels_for(isa);
    job j = { .run = peak_unit, .plan = g, .units = n_threads };
    peak = 0;
    for (int again = 0; again < 3 * AGAIN; again++) {
        const double start = seconds();
        run_phase(&j);
        const double rate = 2e-9 * 256 * 1000 * g->mr * g->nr * n_threads / (seconds() - start);
        peak = rate > peak ? rate : peak;
    }
}

typedef void sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                   int lda, const float *b, int ldb, float beta, float *c, int ldc);

static sgemm *blas;

static void gemm_unit(const void *plan, int64_t phase, int64_t unit, void *mine)
{
    (void)phase;
    hn_gemm_run(plan, unit, unit + 1, mine);
}

static double time_gemm(const hn_gemm_args *args)
{
    double best = 1e9;
    for (int again = 0; again < AGAIN; again++) {
        hn_gemm_plan plan;
        const double start = seconds();
        hn_gemm_plan_make(&plan, hn_gemm_kernels_for(isa), args, n_threads);
        job j = { .run = gemm_unit, .plan = &plan, .units = plan.units };
        run_phase(&j);
        const double time = seconds() - start;
        best = time < best ? time : best;
    }
    return best;
}

static double time_blas(const hn_gemm_args *x, int order)
{
    double best = 1e9;
    for (int again = 0; blas && again < AGAIN; again++) {
        const double start = seconds();
        blas(101, order == 2 ? 112 : 111, order == 0 ? 112 : 111, (int)x->m, (int)x->n,
             (int)x->k, 1, x->a.data, (int)(order == 2 ? x->m : x->k), x->b.data,
             (int)(order == 0 ? x->k : x->n), 0, x->c, (int)x->n);
        const double time = seconds() - start;
        best = time < best ? time : best;
    }
    return best;
}

static void bench_gemm(void)
{
    static const int64_t shapes[][3] = { { 512, 1024, 1024 },  { 2048, 1024, 1024 },
                                         { 512, 2816, 1024 },  { 2048, 1024, 2816 },
                                         { 512, 32000, 1024 }, { 32, 2816, 1024 } };
    static const char *const names[] = { "NT", "NN", "TN" };
    for (int s = 0; s < 6; s++)
        for (int order = 0; order < 3; order++) {
            const int64_t t = shapes[s][0], n_w = shapes[s][1], k_w = shapes[s][2];
            const int64_t m = order == 2 ? n_w : t, n = order == 0 ? n_w : k_w;
            const int64_t k = order == 0 ? k_w : order == 1 ? n_w : t;
            float *a = random_floats(m * k), *b = random_floats(n * k),
                  *c = random_floats(m * n);
            hn_gemm_args x = { .m = m, .n = n, .k = k, .c = c, .c_row_stride = 4 * n };
            x.c_col_stride = 4;
            x.a = (hn_gemm_operand){ .data = a,
                                     .outer_stride = order == 2 ? 4 : 4 * k,
                                     .k_stride = order == 2 ? 4 * m : 4 };
            x.b = (hn_gemm_operand){ .data = b,
                                     .outer_stride = order == 0 ? 4 * k : 4,
                                     .k_stride = order == 0 ? 4 : 4 * n };
            const double flops = 2e-9 * (double)m * (double)n * (double)k;
            const double other = flops / time_blas(&x, order), own = flops / time_gemm(&x);
            printf("gemm %s m %5d n %5d k %5d  f32 %6.1f (%.0f%%)", names[order], (int)m,
                   (int)n, (int)k, own, 100 * own / peak);
            if (blas)
                printf("  blas %6.1f, ratio %.2f", other, own / other);
            if (order < 2) { /* the same bytes as bf16: any values will do */
                x.b.type = HN_ELEM_bf16;
                x.b.outer_stride /= 2, x.b.k_stride /= 2;
                memset(b, 0x3f, (size_t)(n * k * 2));
                printf("  bf16 %6.1f", flops / time_gemm(&x));
            }
            printf("\n");
            fflush(stdout);
            free(a), free(b), free(c);
        }
}

static void read_unit(const void *plan, int64_t phase, int64_t unit, void *mine)
{
    const uint64_t *x = (const uint64_t *)plan + unit * (1 << 17);
    uint64_t sum[8] = { 0 };
    (void)phase;
    for (int64_t i = 0; i < 1 << 17; i += 8)
        for (int l = 0; l < 8; l++)
            sum[l] ^= x[i + l];
    memcpy(mine, sum, sizeof sum);
}

/* Few rows: gigabytes of weights a second against a plain read of the same memory. */
static void bench_few(void)
{
    const int64_t n = 4096, k = 8192, bytes = 4 * n * k;
    float *w = random_floats(n * k), *x = random_floats(8 * 8192), *y = random_floats(8 * 8192);
    memset(w, 0x11, (size_t)bytes);
    double read = 1e9;
    for (int again = 0; again < AGAIN; again++) {
        job j = { .run = read_unit, .plan = w, .units = bytes >> 20 };
        const double start = seconds();
        run_phase(&j);
        read = seconds() - start < read ? seconds() - start : read;
    }
    printf("read %.1f GB/s\n", 1e-9 * (double)bytes / read);
#define NAME(name, elems, block, unit) #name,
    static const char *const names[] = { HN_ELEM_LIST(NAME) };
#undef NAME
    for (hn_elem type = 0; type < HN_N_ELEMS; type++)
        for (int how = 0; how < 4; how++)
            for (int64_t m = 1; m <= 4; m += 3) {
                const int64_t row = hn_elem_span(type, k);
                const int64_t along = hn_elem_block(type) > 1 ? 0 : hn_elem_bytes(type);
                const bool back = how & 1;
                hn_gemm_args a = { .m = m, .n = back ? k : n, .k = back ? n : k, .c = y };
                a.c_row_stride = 4 * a.n, a.c_col_stride = 4;
                a.a = (hn_gemm_operand){ .data = x, .outer_stride = 4 * a.k, .k_stride = 4 };
                a.b = (hn_gemm_operand){ .data = w,
                                         .type = type,
                                         .is_panel16 = how > 1,
                                         .rows_are_k = back,
                                         .row_elems = k,
                                         .outer_stride = back ? along : row,
                                         .k_stride = back ? row : along };
                const double rate = 1e-9 * (double)(row * n) / time_gemm(&a);
                printf("few %-4s %s %s rows %d  %5.1f GB/s  %5.1f Gw/s\n", names[type],
                       how > 1 ? "panel16" : "plain  ", back ? "backward" : "forward ", (int)m,
                       rate, rate * (double)k / (double)row);
                fflush(stdout);
            }
    free(w), free(x), free(y);
}

static void attn_unit(const void *of, int64_t phase, int64_t unit, void *mine)
{
    const hn_attn_plan *plan = of;
    const hn_attn_kernels *kernels = hn_attn_kernels_for(isa);
    (plan->args.dq.data ? kernels->backward : kernels->forward)(plan, (int)phase, unit,
                                                                unit + 1, mine, shared);
}

static void bench_attn(void)
{
    const int64_t t = 2048, h = 16, d = 64, n = t * h * d;
    hn_attn_span *spans = malloc((size_t)t * sizeof *spans);
    for (int32_t i = 0; spans && i < t; i++)
        spans[i] = (hn_attn_span){ 0, i, (int32_t)t };
    for (int how = 0; how < 4; how++) {
        const bool causal = how & 1, backward = how > 1;
        hn_attn_args x = { .n_q = t,
                           .n_k = t,
                           .n_head = h,
                           .n_kv_head = h,
                           .d = d,
                           .d_v = d,
                           .scale = 0.125f,
                           .is_causal = causal,
                           .spans = spans };
        hn_attn_rows *const all[] = { &x.q, &x.k, &x.v, &x.o, &x.dout, &x.dq, &x.dk, &x.dv };
        for (int i = 0; i < (backward ? 8 : 4); i++)
            *all[i] = (hn_attn_rows){ random_floats(n), h * d, d };
        x.lse = (hn_attn_rows){ random_floats(t * h), h, 1 };
        double best = 1e9;
        for (int again = 0; again < AGAIN; again++) {
            hn_attn_plan plan;
            (backward ? hn_attn_plan_backward : hn_attn_plan_forward)(&plan, &x, n_threads);
            const double start = seconds();
            for (int phase = 0; phase < HN_ATTN_PHASES; phase++) {
                job j = { .run = attn_unit, .plan = &plan, .phase = phase };
                j.units = plan.units[phase];
                run_phase(&j);
            }
            best = seconds() - start < best ? seconds() - start : best;
        }
        const double flops = (backward ? 10e-9 : 4e-9) * (double)(t * n) * (causal ? 0.5 : 1);
        printf("attn %s %s  %6.1f (%.0f%%)\n", backward ? "backward" : "forward ",
               causal ? "causal" : "full  ", flops / best, 100 * flops / best / peak);
        for (int i = 0; i < 8; i++)
            free(all[i]->data);
        free(x.lse.data);
    }
    free(spans);
}

static void xent_unit(const void *plan, int64_t phase, int64_t unit, void *mine)
{
    hn_xent_run(plan, phase, unit, unit + 1, mine, shared);
}

static void bench_xent(void)
{
    const int64_t t = 512, c = 1024, v = 32000;
    int32_t *label = calloc((size_t)t, sizeof *label);
    hn_xent_args x = { .n = t, .c = c, .v = v, .scale = 1, .label = label };
    float *w = random_floats(v * c);
    x.x = random_floats(t * c), x.dx = random_floats(t * c), x.dw = random_floats(v * c);
    x.nll = random_floats(t), x.lse = random_floats(t);
    x.x_stride = x.dx_stride = x.dw_stride = 4 * c;
    x.w = (hn_gemm_operand){ .data = w, .outer_stride = 4 * c, .k_stride = 4 };
    for (int backward = 0; backward < 2; backward++) {
        double best = 1e9;
        for (int again = 0; again < AGAIN; again++) {
            hn_xent_plan plan;
            hn_xent_plan_make(&plan, hn_xent_kernels_for(isa), &x, backward, n_threads);
            const double start = seconds();
            for (int64_t phase = 0; phase < plan.n_phases; phase++) {
                job j = { .run = xent_unit, .plan = &plan, .phase = phase };
                j.units = hn_xent_units(&plan, phase);
                run_phase(&j);
            }
            best = seconds() - start < best ? seconds() - start : best;
        }
        const double flops = (backward ? 6e-9 : 2e-9) * (double)t * (double)c * (double)v;
        printf("xent %s  %6.1f (%.0f%%)\n", backward ? "backward" : "forward ", flops / best,
               100 * flops / best / peak);
    }
    free(label), free(w);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    const char *threads = check_option("--threads"), *library = check_option("--blas");
    const char *only = check_option("--only");
    n_threads = threads ? (int)strtol(threads, NULL, 10) : 1;
    if (!CHECK(n_threads >= 1 && n_threads <= MOST_THREADS) ||
        !CHECK_OK(hn_isa_available(&isa)))
        return check_close();
    size_t bytes = hn_xent_scratch_bytes(hn_xent_kernels_for(isa));
    for (int i = 0; i < n_threads; i++)
        scratch[i] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    shared = random_floats(1 << 23);
    void *handle = library ? dlopen(library, RTLD_NOW) : NULL;
    void *symbol = handle ? dlsym(handle, "cblas_sgemm") : NULL;
    memcpy(&blas, &symbol, sizeof symbol);
    find_peak();
    printf("%s, %d threads: FMA peak %.1f GFLOP/s\n", hn_isa_name(isa), n_threads, peak);
    static const struct {
        const char *name;
        void (*bench)(void);
    } parts[] = { { "gemm", bench_gemm },
                  { "few", bench_few },
                  { "attn", bench_attn },
                  { "xent", bench_xent } };
    for (int i = 0; i < 4; i++)
        if (!only || !strcmp(only, parts[i].name))
            parts[i].bench();
    return check_close();
}
