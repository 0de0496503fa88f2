/* Products in blocks of 32 at every level against their definition written out: every element type and layout,
 * orientations, rows, odd sizes, unit grids, sums that go on from C; signs of zero, subnormals, and magnitudes near and
 * below what an instruction for bf16 is used for. */
#include "base/half.h"
#include "kernels/gemm/gemm.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"
#include "tests/kernels/defined.h"
#include "tests/kernels/gemm_data.h"

#include <stdio.h>
#include <string.h>

typedef defined_shape shape;

/* Rows 1 to 9 and many; less than a block, whole ones, and what is left; more than a depth. */
static const shape shapes[] = {
    { 1, 16, 64 },  { 1, 70, 300 },  { 2, 1100, 70 }, { 3, 40, 2305 }, { 4, 33, 33 },  { 5, 37, 40 },   { 6, 50, 35 },
    { 7, 100, 64 }, { 8, 33, 257 },  { 9, 17, 31 },   { 9, 64, 512 },  { 16, 64, 256 }, { 29, 31, 33 }, { 45, 47, 520 },
    { 100, 530, 20 }, { 64, 64, 1060 }, { 130, 70, 1 }, { 3, 5, 7 },
    { 11, 40, 5700 }, /* more than a stretch of packed rows */
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0], BLOCK = 32 };

static int64_t n_dots, fewest_dots, most_dots; /* of a call, and of those of a product */
static const hn_gemm_kernels *counted;

static void count_dots(int64_t k, const float *a, hn_gemm_columns b, float *c, int64_t ldc, int rows, int cols, bool accumulate,
                       hn_ahead *ahead)
{
    n_dots++;
    counted->dots->block_tile(k, a, b, c, ldc, rows, cols, accumulate, ahead);
}

static void multiply(const hn_gemm_kernels *g, const hn_gemm_args *args, int threads)
{
    hn_gemm_dots dots;
    hn_gemm_kernels counting = *g;
    counted = g;
    if (g->dots) {
        dots = *g->dots;
        dots.block_tile = count_dots;
        counting.dots = &dots;
    }
    hn_gemm_plan plan;
    n_dots = 0;
    hn_gemm_plan_make(&plan, &counting, args, threads);
    float *scratch = kc_blank(hn_gemm_scratch_bytes(g, args) / sizeof(float));
    for (int64_t unit = plan.units - 1; unit >= 0; unit--)
        hn_gemm_run(&plan, unit, unit + 1, scratch);
    fewest_dots = n_dots < fewest_dots ? n_dots : fewest_dots;
    most_dots = n_dots > most_dots ? n_dots : most_dots;
}

/* From +0, from C, and turned. `a` is [m][k], `plain` what b holds, [n][k]. */
static void check_product(const hn_gemm_kernels *g, const shape *s, const float *a, const hn_gemm_operand *b,
                          const float *plain, float *first)
{
    const size_t mn = (size_t)(s->m * s->n);
    fewest_dots = INT64_MAX, most_dots = 0;
    float *want = kc_blank(mn), *more = kc_copy(first, mn * sizeof *first), *a_turned = kc_blank((size_t)(s->m * s->k));
    defined_blocks(*s, a, plain, want, more);
    hn_gemm_args args = { .m = s->m, .n = s->n, .k = s->k, .b = *b, .blocks = true };
    args.a = (hn_gemm_operand){ .data = a, .outer_stride = 4 * s->k, .k_stride = 4 };
    args.c_row_stride = 4 * s->n, args.c_col_stride = 4;
    args.c = kc_blank(mn);
    multiply(g, &args, 1);
    kc_same_bits(want, args.c, mn);

    args.c = kc_copy(first, mn * sizeof *first);
    args.accumulate = true;
    multiply(g, &args, 7);
    kc_same_bits(more, args.c, mn);

    float *turned = kc_blank(mn), *back = kc_blank(mn);
    for (int64_t i = 0; i < s->m * s->k; i++)
        a_turned[i % s->k * s->m + i / s->k] = a[i];
    args.accumulate = false;
    args.a = (hn_gemm_operand){ .data = a_turned, .outer_stride = 4, .k_stride = 4 * s->m };
    args.c = turned, args.c_row_stride = 4, args.c_col_stride = 4 * s->m;
    multiply(g, &args, 2);
    for (int64_t i = 0; i < s->m * s->n; i++)
        back[i] = turned[i % s->n * s->m + i / s->n];
    kc_same_bits(want, back, mn);
}

/* What a level has of its own: its tile, that of its instruction for bf16, or its matrix unit. */
static kc_function of(const hn_gemm_kernels *g)
{
    if (g->squares)
        return (kc_function)g->squares->multiply;
    return g->dots ? (kc_function)g->dots->block_tile : (kc_function)g->block_tile;
}

static int64_t up_to(int64_t n, int64_t block) { return (n + block - 1) / block * block; }

/* Weights as they are stored, seen along k (w[n,k]) or along n (w[k,n]), plain or in panels. */
static void check_operand(const hn_gemm_kernels *ref, const hn_gemm_kernels *g, hn_elem type, bool along_n, bool panel16)
{
    char slot[64];
    snprintf(slot, sizeof slot, "blocks_%s_%s%s", along_n ? "nn" : "nt", gemm_elem_name(type), panel16 ? "_panel16" : "");
    if (!kc_begin(slot, (kc_function)ref->block_tile, of(g)))
        return;
    for (int i = 0; i < N_SHAPES; i++) {
        shape s = shapes[i];
        *(along_n ? &s.n : &s.k) = up_to(along_n ? s.n : s.k, hn_elem_block(type));
        if (s.m * s.n * s.k > (type == HN_ELEM_f32 || type == HN_ELEM_bf16 ? 5000000 : 300000))
            continue;
        kc_note("m %d n %d k %d", (int)s.m, (int)s.n, (int)s.k);
        const int64_t rows = along_n ? s.k : s.n, row = along_n ? s.n : s.k;
        hn_gemm_operand b;
        float *values = gemm_weights(&b, type, rows, row, along_n, panel16), *plain = values;
        if (along_n) {
            plain = kc_blank((size_t)(s.n * s.k));
            for (int64_t j = 0; j < s.n * s.k; j++)
                plain[j] = values[j % s.k * s.n + j / s.k];
        }
        float *a = kc_floats((size_t)(s.m * s.k)), *first = kc_floats((size_t)(s.m * s.n));
        check_product(g, &s, a, &b, plain, first);
    }
}

static float number(int low, int high)
{
    const uint32_t word = kc_random();
    const uint32_t exponent = (uint32_t)low + (word >> 8) % (uint32_t)(high - low + 1);
    const uint32_t bits = (word & 7) == 0 ? (word & 8) << 28 : (word & 8) << 28 | exponent << 23 | (word >> 24 & 127) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

typedef struct range {
    const char *name;
    int a_low, a_high, b_low, b_high; /* biased exponents */
    enum { NO, SOME, YES } dots;      /* may multiply it */
    enum { ALL, ONE_DEPTH, LAST_ROW, ONE_OF_B } where; /* of A, the last two in one depth; elsewhere near 1, or 0 */
} range;

static const range ranges[] = {
    { "near one", 120, 130, 120, 130, YES, ALL },    { "lowest", 71, 72, 71, 72, YES, ALL },
    { "too low", 70, 72, 71, 72, NO, ALL },          { "results subnormal", 40, 66, 60, 66, NO, ALL },
    { "subnormal", 0, 1, 100, 130, NO, ALL },        { "tiny by huge", 1, 2, 141, 150, YES, ALL },
    { "one depth too low", 40, 66, 71, 72, SOME, ONE_DEPTH }, { "last row too low", 40, 66, 71, 72, SOME, LAST_ROW },
    { "one weight too low", 71, 72, 71, 72, SOME, ONE_OF_B },
};
enum { N_RANGES = sizeof ranges / sizeof ranges[0], FROM = 600, TO = 640 };

static void in_panels(const shape *s, const float *values, hn_gemm_operand *b)
{
    uint16_t *rows = kc_blank_bytes((size_t)(2 * s->n * s->k));
    for (int64_t i = 0; i < s->n * s->k; i++) {
        uint32_t bits;
        memcpy(&bits, values + i, sizeof bits);
        rows[i] = (uint16_t)(bits >> 16);
    }
    void *panels = kc_blank_bytes(hn_panel16_bytes(HN_ELEM_bf16, s->n, s->k));
    hn_panel16_pack(HN_ELEM_bf16, s->n, s->k, rows, 2 * s->k, 0, panels, 0, (s->n + 15) / 16);
    *b = (hn_gemm_operand){ .data = panels, .type = HN_ELEM_bf16, .is_panel16 = true, .row_elems = s->k,
                            .lowest = hn_panel16_lowest(HN_ELEM_bf16, s->n, s->k, panels) };
}

/* Weights as they are stored: rows of f32, or panels of bf16. */
static void check_ranges(const hn_gemm_kernels *ref, const hn_gemm_kernels *g, bool panels)
{
    static const shape some[] = { { 1, 48, 100 }, { 9, 40, 1620 }, { 131, 70, 1632 }, { 16, 33, 50 }, { 31, 40, 1620 }, { 5, 96, 1056 },
                                  { 14, 70, 1620 } };
    if (!kc_begin(panels ? "blocks_ranges_panel16" : "blocks_ranges", (kc_function)ref->block_tile, of(g)))
        return;
    for (int r = 0; r < N_RANGES; r++)
        for (int i = 0; i < (int)(sizeof some / sizeof *some); i++) {
            const range *of = &ranges[r];
            const shape s = some[i];
            kc_note("%s, m %d n %d k %d", of->name, (int)s.m, (int)s.n, (int)s.k);
            float *a = kc_blank((size_t)(s.m * s.k)), *b = kc_blank((size_t)(s.n * s.k));
            for (int64_t q = 0; q < s.m * s.k; q++) {
                const bool in_depth = q % s.k >= FROM && q % s.k < TO;
                const bool here = of->where == ALL || of->where == ONE_OF_B ||
                                  (in_depth && (of->where == ONE_DEPTH || q / s.k == s.m - 1));
                a[q] = here ? number(of->a_low, of->a_high) : q / s.k % 2 ? number(120, 130) : 0; /* which leaves what is small alone */
            }
            for (int64_t q = 0; q < s.n * s.k; q++)
                b[q] = number(of->b_low, of->b_high);
            if (of->where == ONE_OF_B && s.k > TO) { /* the others of its row are zero, so that its product is all of a sum */
                const int64_t row = i % 2 ? 20 : s.n - 1;
                memset(b + row * s.k, 0, (size_t)s.k * sizeof *b);
                b[row * s.k + FROM + i] = 0x1p-80f;
            }
            hn_gemm_operand stored = { .data = b, .outer_stride = 4 * s.k, .k_stride = 4 };
            if (panels)
                in_panels(&s, b, &stored);
            check_product(g, &s, a, &stored, b, kc_blank((size_t)(s.m * s.n)));
            const bool may_all = most_dots > 0, had_all = fewest_dots > 0;
            const shape rest = { s.m, s.n - 16, s.k }; /* from the second panel on */
            const hn_gemm_operand from = hn_gemm_rows_from(stored, 16, stored.outer_stride);
            check_product(g, &rest, a, &from, b + 16 * s.k, kc_blank((size_t)(rest.m * rest.n)));
            if (!g->dots || g->squares || s.m <= HN_GEMM_FEW / 2 || s.k < BLOCK)
                continue;
            KC_CHECK(of->dots == NO ? !may_all && most_dots == 0 : had_all && fewest_dots > 0);
        }
}

/* ---- few rows by formats with scales that are special, and x that is ---- */

/* Bytes of a block that its scales are at: f16, but E8M0 of MXFP4. `odd` gets special ones. */
typedef struct scaled {
    hn_elem type;
    int odd, other;
} scaled;
static const scaled some_scaled[] = {
    { HN_ELEM_q8_0, 0, 0 },   { HN_ELEM_q4_k, 0, 2 },   { HN_ELEM_q4_k, 2, 0 },   { HN_ELEM_q6_k, 208, 208 },
    { HN_ELEM_q2_k, 82, 80 }, { HN_ELEM_iq4_nl, 0, 0 }, { HN_ELEM_mxfp4, 0, 0 },
};
enum { N_SCALED = sizeof some_scaled / sizeof some_scaled[0] };

/* 0, -0, the least, the largest, infinities, a NaN of all bits, and a common one. */
static const uint16_t odd_halves[] = { 0, 0x8000, 1, 0x83ff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7fff, 0x9e66 };
static const uint8_t odd_bytes[] = { 0, 1, 2, 102, 103, 104, 206, 207, 208, 209, 253, 255 };

/* Special scales are those of one row in three: of all its blocks, or of one in four. */
static uint8_t *scaled_blocks(const scaled *of, int64_t rows, int64_t in_row)
{
    const int64_t bytes = hn_elem_bytes(of->type);
    uint8_t *x = kc_bytes((size_t)(rows * in_row * bytes));
    for (int64_t i = 0; i < rows * in_row; i++) {
        uint8_t *block = x + i * bytes;
        const int64_t row = i / in_row;
        const bool is_odd = row % 3 == 0 && (row % 2 || i % in_row % 4 == 1);
        const uint32_t which = row % 3 == 0 && row % 2 ? (uint32_t)(row / 6) : kc_random();
        if (of->type == HN_ELEM_mxfp4) {
            block[0] = is_odd ? odd_bytes[which % sizeof odd_bytes] : (uint8_t)(120 + which % 8);
            continue;
        }
        const uint16_t usual = (uint16_t)((which & 0x8000) | 0x1000 | (which & 0x3ff));
        memcpy(block + of->other, &usual, sizeof usual);
        memcpy(block + of->odd, is_odd ? &odd_halves[which % (sizeof odd_halves / 2)] : &usual, sizeof usual);
    }
    return x;
}

/* x near one; too small for dots by one power of two, by none; subnormal. */
static const int x_exponents[] = { 120, 31, 32, 0 };

static void check_scales(const hn_gemm_kernels *ref, const hn_gemm_kernels *g)
{
    enum { N = 96, K = 1280 };
    if (!kc_begin("blocks_scales", (kc_function)ref->block_tile, of(g)))
        return;
    for (int i = 0; i < N_SCALED * 4 * 2; i++) {
        const scaled *of = &some_scaled[i / 8];
        const int64_t block = hn_elem_block(of->type), row_bytes = hn_elem_span(of->type, K);
        const uint8_t *stored = scaled_blocks(of, N, K / block);
        float *plain = kc_blank(N * K);
        for (int64_t r = 0; r < N; r++)
            at_level(HN_ISA(ref))->decode.row[of->type](K, stored + r * row_bytes, plain + r * K);
        hn_gemm_operand b = { .data = stored, .type = of->type, .outer_stride = row_bytes };
        if (i % 2) {
            void *panels = kc_blank_bytes(hn_panel16_bytes(of->type, N, K));
            hn_panel16_pack(of->type, N, K, stored, row_bytes, 0, panels, 0, N / 16);
            b = (hn_gemm_operand){ .data = panels, .type = of->type, .is_panel16 = true, .row_elems = K };
        }
        for (int64_t m = 1; m <= 8; m += m == 1 ? 1 : 3) {
            const shape s = { m, N, K };
            const int low = x_exponents[i / 2 % 4];
            kc_note("%s byte %d, m %d, x from 2^%d", gemm_elem_name(of->type), of->odd, (int)m, low - 127);
            float *a = kc_blank((size_t)(m * K));
            for (int64_t p = 0; p < m * K; p++)
                a[p] = number(low, low == 0 ? 1 : 130);
            a[m * K / 2] = hn_f32_from_bits((uint32_t)low << 23 | (low ? 0 : 0x10000));
            check_product(g, &s, a, &b, plain, kc_floats((size_t)(m * N)));
        }
    }
}

/* What is left of two products is the least normal number, or half of it. */
static void check_least(const hn_gemm_kernels *ref, const hn_gemm_kernels *g)
{
    enum { N = 32, K = 64, BYTES = 34 };
    if (!kc_begin("blocks_least", (kc_function)ref->block_tile, of(g)))
        return;
    uint8_t *stored = kc_blank_bytes(N * K / 32 * BYTES);
    float *plain = kc_blank(N * K);
    memset(stored, 1, N * K / 32 * BYTES);
    for (int i = 0; i < N * K / 32; i++)
        stored[i * BYTES + 1] = 0; /* the scale is 2^-24 */
    for (int i = 0; i < N * K; i++)
        plain[i] = 0x1p-24f;
    for (int e = 30; e <= 33; e++)
        for (int64_t m = 1; m <= 8; m++) {
            const shape s = { m, N, K };
            float *a = kc_blank((size_t)(m * K));
            memset(a, 0, (size_t)(m * K) * sizeof *a);
            for (int64_t i = 0; i < m; i++) {
                a[i * K + i] = hn_f32_from_bits((uint32_t)e << 23 | 1 << 16);
                a[i * K + i + 2] = -hn_f32_from_bits((uint32_t)e << 23);
            }
            kc_note("m %d, x from 2^%d", (int)m, e - 127);
            const hn_gemm_operand b = { .data = stored, .type = HN_ELEM_q8_0, .outer_stride = K / 32 * BYTES };
            check_product(g, &s, a, &b, plain, kc_floats((size_t)(m * N)));
        }
}

/* Sums that go on from -0 by products too small to be told from -0: a whole block leaves it, the zeros that fill one, and
 * a block of zeros, do not. */
static void check_signs(const hn_gemm_kernels *ref, const hn_gemm_kernels *g)
{
    if (!kc_begin("blocks_signs", (kc_function)ref->block_tile, of(g)))
        return;
    for (int64_t k = 1; k <= 97; k++)
        for (int64_t m = 1; m <= 9; m += 4) {
            const shape s = { m, 20, k };
            float *a = kc_blank((size_t)(m * k)), *b = kc_blank((size_t)(20 * k)), *first = kc_blank((size_t)(m * 20));
            kc_note("m %d k %d", (int)m, (int)k);
            for (int64_t i = 0; i < m * k; i++)
                a[i] = -0x1p-100f;
            for (int64_t i = 0; i < 20 * k; i++)
                b[i] = 0x1p-100f;
            for (int64_t i = 0; i < m * 20; i++)
                first[i] = -0.0f;
            const hn_gemm_operand stored = { .data = b, .outer_stride = 4 * k, .k_stride = 4 };
            check_product(g, &s, a, &stored, b, first);
        }
}

/* k in two calls, the second going on at a block, is the whole. */
static void check_halves(const hn_gemm_kernels *ref, const hn_gemm_kernels *g)
{
    enum { M = 37, N = 50, K = 700, CUT = 320 };
    if (!kc_begin("blocks_halves", (kc_function)ref->block_tile, of(g)))
        return;
    float *a = kc_floats(M * K), *b = kc_floats(N * K), *whole = kc_blank(M * N), *halves = kc_blank(M * N);
    hn_gemm_args args = { .m = M, .n = N, .k = K, .c = whole, .c_row_stride = 4 * N, .c_col_stride = 4, .blocks = true };
    args.a = (hn_gemm_operand){ .data = a, .outer_stride = 4, .k_stride = 4 * M };
    args.b = (hn_gemm_operand){ .data = b, .outer_stride = 4, .k_stride = 4 * N };
    multiply(g, &args, 1);
    args.c = halves, args.k = CUT;
    multiply(g, &args, 2);
    args.k = K - CUT, args.accumulate = true;
    args.a.data = a + CUT * M, args.b.data = b + CUT * N;
    multiply(g, &args, 5);
    kc_same_bits(whole, halves, M * N);
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
        check_ranges(ref, g, false);
        check_ranges(ref, g, true);
        check_scales(ref, g);
        check_least(ref, g);
        check_signs(ref, g);
        check_halves(ref, g);
    }
    return kc_close();
}
