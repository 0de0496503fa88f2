/* Matrix products at every level against one chain of fmaf an element: all orientations,
 * element types and layouts, odd sizes, strides, unit grids and orders, and sums that go on
 * from C. */
#include "kernels/gemm/gemm.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"
#include "tests/kernels/defined.h"
#include "tests/kernels/gemm_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef defined_shape shape;

static const shape shapes[] = {
    { 1, 1, 1 },     { 3, 5, 7 },     { 1, 70, 300 },  { 2, 1100, 70 }, { 8, 33, 257 },
    { 9, 17, 31 },   { 16, 64, 256 }, { 29, 31, 33 },  { 45, 47, 520 }, { 100, 530, 20 },
    { 5, 37, 40 },   { 6, 50, 35 },   { 7, 100, 64 },  { 15, 600, 9 },  { 1, 16, 2100 },
    { 3, 40, 2305 }, { 4, 300, 77 },  { 128, 64, 64 },  { 11, 40, 3500 },
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

/* Rounded so that blocks fit where they must. */
static int64_t up_to(int64_t n, int64_t block) { return (n + block - 1) / block * block; }

/* Runs all units in a shuffled order, some at a time. How many there are may not change what is drawn afterwards: digests
 * are of products, not of plans. */
static void run_shuffled(const hn_gemm_kernels *g, const hn_gemm_args *args, int threads)
{
    hn_gemm_plan plan;
    hn_gemm_plan_make(&plan, g, args, threads);
    float *scratch = kc_blank(hn_gemm_scratch_bytes(g, args) / sizeof(float));
    const int64_t step = 1 + (int64_t)(kc_random() % 1000003) % plan.units;
    for (int64_t start = 0; start < step; start++)
        for (int64_t unit = step - 1 - start; unit < plan.units; unit += step)
            hn_gemm_run(&plan, unit, unit + 1, scratch);
}

/* One product in several ways: `x` holds the operand as stored, `plain` its values [n][k]. */
static void check_product(const hn_gemm_kernels *g, const shape *s, const hn_gemm_operand *b,
                          const float *b_plain)
{
    const size_t mn = (size_t)(s->m * s->n);
    float *a = kc_floats((size_t)(s->m * s->k)), *first = kc_floats(mn);
    float *want = kc_blank(mn), *want_more = kc_copy(first, mn * sizeof *first);
    defined_chains(*s, a, b_plain, want, want_more);

    hn_gemm_args args = { .m = s->m, .n = s->n, .k = s->k, .b = *b };
    args.a = (hn_gemm_operand){ .data = a, .outer_stride = 4 * s->k, .k_stride = 4 };
    args.c_row_stride = 4 * s->n, args.c_col_stride = 4;
    args.c = kc_blank(mn);
    run_shuffled(g, &args, 1);
    kc_same_bits(want, args.c, mn);

    args.c = kc_copy(first, mn * sizeof *first);
    args.accumulate = true;
    run_shuffled(g, &args, 7);
    kc_same_bits(want_more, args.c, mn);

    float *turned = kc_blank(mn), *back = kc_blank(mn),
          *a_turned = kc_blank((size_t)(s->m * s->k));
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t p = 0; p < s->k; p++)
            a_turned[p * s->m + i] = a[i * s->k + p];
    args.accumulate = false;
    args.a = (hn_gemm_operand){ .data = a_turned, .outer_stride = 4, .k_stride = 4 * s->m };
    args.c = turned, args.c_row_stride = 4, args.c_col_stride = 4 * s->m;
    run_shuffled(g, &args, 2);
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++)
            back[i * s->n + j] = turned[j * s->m + i];
    kc_same_bits(want, back, mn);
}

/* The stored operand, seen along k (w[n,k]) or along n (w[k,n]), plain or in panels. */
static void check_operand(const hn_gemm_kernels *ref, const hn_gemm_kernels *g, hn_elem type,
                          bool along_n, bool panel16)
{
    char slot[64];
    snprintf(slot, sizeof slot, "gemm_%s_%s%s", along_n ? "nn" : "nt", gemm_elem_name(type),
             panel16 ? "_panel16" : "");
    if (!kc_begin(slot, (kc_function)ref->tile, (kc_function)g->tile))
        return;
    for (int i = 0; i < N_SHAPES; i++) {
        shape s = shapes[i];
        *(along_n ? &s.n : &s.k) = up_to(along_n ? s.n : s.k, hn_elem_block(type));
        if (hn_elem_block(type) == 256 && s.m * s.n * s.k > 3000000)
            continue;
        if (type > HN_ELEM_q6_k && s.m * s.n * s.k > 100000) /* no loops of their own but one */
            continue;
        while (kc_next_flavour()) {
            if (kc_current_flavour() != KC_PLAIN && s.m * s.n * s.k > 150000)
                continue;
            kc_note("m %d n %d k %d", (int)s.m, (int)s.n, (int)s.k);
            const int64_t rows = along_n ? s.k : s.n, row = along_n ? s.n : s.k;
            hn_gemm_operand b;
            float *values = gemm_weights(&b, type, rows, row, along_n, panel16);
            float *plain = values;
            if (along_n) {
                plain = kc_blank((size_t)(s.n * s.k));
                for (int64_t j = 0; j < s.n; j++)
                    for (int64_t p = 0; p < s.k; p++)
                        plain[j * s.k + p] = values[p * s.n + j];
            }
            check_product(g, &s, &b, plain);
        }
    }
}

/* Every operand strided; C too. */
static void check_strides(const hn_gemm_kernels *ref, const hn_gemm_kernels *g)
{
    if (!kc_begin("gemm_strided", (kc_function)ref->tile, (kc_function)g->tile))
        return;
    for (int i = 0; i < N_SHAPES; i++) {
        const shape s = shapes[i];
        kc_note("m %d n %d k %d", (int)s.m, (int)s.n, (int)s.k);
        const int64_t as = 2 * s.k + 1, bs = 3 * s.k, cs = 2 * s.n + 3;
        float *a = kc_floats((size_t)((s.m - 1) * as + 2 * s.k - 1));
        float *b = kc_floats((size_t)((s.n - 1) * bs + 3 * s.k - 2));
        float *pa = kc_blank((size_t)(s.m * s.k)), *pb = kc_blank((size_t)(s.n * s.k));
        for (int64_t j = 0; j < s.m * s.k; j++)
            pa[j] = a[j / s.k * as + 2 * (j % s.k)];
        for (int64_t j = 0; j < s.n * s.k; j++)
            pb[j] = b[j / s.k * bs + 3 * (j % s.k)];
        const size_t n_c = (size_t)((s.m - 1) * cs + 2 * s.n - 1);
        float *c = kc_blank(n_c), *want_c = kc_blank(n_c),
              *want = kc_blank((size_t)(s.m * s.n));
        defined_chains(s, pa, pb, want, NULL);
        for (int64_t j = 0; j < s.m * s.n; j++)
            want_c[j / s.n * cs + 2 * (j % s.n)] = want[j];
        const hn_gemm_args args = {
            .m = s.m,
            .n = s.n,
            .k = s.k,
            .a = { .data = a, .outer_stride = 4 * as, .k_stride = 8 },
            .b = { .data = b, .outer_stride = 4 * bs, .k_stride = 12 },
            .c = c,
            .c_row_stride = 4 * cs,
            .c_col_stride = 8,
        };
        run_shuffled(g, &args, 3);
        kc_same_bits(want_c, c, n_c);
    }
}

/* k in two halves, the second going on from C, equals the whole; and a sum in doubles is near.
 */
static void check_halves(const hn_gemm_kernels *ref, const hn_gemm_kernels *g)
{
    if (!kc_begin("gemm_halves", (kc_function)ref->tile, (kc_function)g->tile))
        return;
    const int64_t m = 37, n = 50, k = 700, cut = 301;
    float *a = kc_floats_in((size_t)(m * k), -1, 1), *b = kc_floats_in((size_t)(n * k), -1, 1);
    float *whole = kc_blank((size_t)(m * n)), *halves = kc_blank((size_t)(m * n));
    hn_gemm_args args = { .m = m, .n = n, .k = k, .c = whole };
    args.c_row_stride = 4 * n, args.c_col_stride = 4;
    args.a = (hn_gemm_operand){ .data = a, .outer_stride = 4, .k_stride = 4 * m };
    args.b = (hn_gemm_operand){ .data = b, .outer_stride = 4, .k_stride = 4 * n };
    run_shuffled(g, &args, 1);
    double worst = 0;
    for (int64_t i = 0; i < m * n; i++) {
        double sum = 0;
        for (int64_t p = 0; p < k; p++)
            sum += (double)a[p * m + i / n] * (double)b[p * n + i % n];
        worst = fmax(worst, fabs(sum - (double)whole[i]));
    }
    KC_CHECK(worst < 1e-4);
    args.c = halves, args.k = cut;
    run_shuffled(g, &args, 2);
    args.k = k - cut, args.accumulate = true;
    args.a.data = a + cut * m, args.b.data = b + cut * n;
    run_shuffled(g, &args, 5);
    kc_same_bits(whole, halves, (size_t)(m * n));
}

/* The weights of one block of 32: any, zeros, or below zero. */
enum { ANY, ZEROS, NEGATIVE, N_KINDS };

static void fill_block(hn_elem type, uint16_t d, int kind, char *block)
{
    const int n = (int)hn_elem_bytes(type);
    memcpy(block, &d, sizeof d);
    for (int i = 2; i < n; i++) {
        const char any = (char)kc_random();
        const bool is_fifth = type == HN_ELEM_q5_0 && i < 6; /* set: from zero up */
        if (kind == ZEROS)
            block[i] = is_fifth ? -1 : 0;
        else if (kind == NEGATIVE)
            block[i] = is_fifth ? 0 : type == HN_ELEM_q5_0 ? any : (char)(-1 - (any & 63));
        else
            block[i] = any;
    }
}

/* Scales that no encoder writes but a file may hold, in every third row: sums from -0 on by an x above zero keep
 * a sign that tells how each weight was decoded. */
static void check_wild_scales(const hn_gemm_kernels *ref, const hn_gemm_kernels *g, hn_elem type,
                              bool panel16)
{
    enum { N = 96, K = 96, BLOCKS = N * K / 32 };
    static const uint16_t scales[] = { 0x0000, 0x8000, 0xa400, 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x8001, 0x7bff };
    const int64_t bytes = hn_elem_bytes(type), row_bytes = K / 32 * bytes;
    char slot[64];
    snprintf(slot, sizeof slot, "gemm_wild_%s%s", gemm_elem_name(type), panel16 ? "_panel16" : "");
    if (!kc_begin(slot, (kc_function)ref->tile, (kc_function)g->tile))
        return;
    for (int wild = 0; wild < (int)(sizeof scales / sizeof *scales); wild++) {
        const shape s = { 1, N, K };
        char *plain = kc_blank_bytes((size_t)(BLOCKS * bytes)), *panels = kc_blank_bytes((size_t)(BLOCKS * bytes));
        for (int block = 0; block < BLOCKS; block++) {
            const int row = block / (K / 32), is_wild = row % 3 == 0;
            fill_block(type, is_wild ? scales[wild] : 0x2c00, is_wild ? row / 3 % N_KINDS : ANY,
                       plain + block * bytes);
        }
        float *values = kc_blank(N * K), *x = kc_blank(K), *want = kc_blank(N), *got = kc_blank(N);
        at_level(HN_ISA(ref))->decode.row[type](N * K, plain, values);
        for (int i = 0; i < K; i++)
            x[i] = 1e-44f;
        for (int i = 0; i < N; i++)
            want[i] = got[i] = -0.0f;
        defined_chains(s, x, values, kc_blank(N), want);
        hn_panel16_pack(type, N, K, plain, row_bytes, 0, panels, 0, N / 16);
        const hn_gemm_args args = {
            .m = 1, .n = N, .k = K, .accumulate = true,
            .a = { .data = x, .outer_stride = 4 * K, .k_stride = 4 },
            .b = { .data = panel16 ? panels : plain, .type = type, .is_panel16 = panel16, .row_elems = K,
                   .outer_stride = row_bytes },
            .c = got, .c_row_stride = 4 * N, .c_col_stride = 4,
        };
        run_shuffled(g, &args, 1);
        kc_same_bits(want, got, N);
    }
}

int main(int argc, char **argv)
{
    kc_open(argc, argv);
    const hn_gemm_kernels *ref = &at_level(HN_ISA(ref))->gemm;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        const hn_gemm_kernels *g = &at_level(isa)->gemm;
        for (hn_elem type = 0; type < HN_N_ELEMS; type++)
            for (int how = 0; how < 4; how++)
                check_operand(ref, g, type, how & 1, how >> 1);
        check_strides(ref, g);
        check_halves(ref, g);
        for (int panel16 = 0; panel16 < 2; panel16++) {
            check_wild_scales(ref, g, HN_ELEM_q8_0, panel16);
            check_wild_scales(ref, g, HN_ELEM_q5_0, panel16);
        }
    }
    return kc_close();
}
