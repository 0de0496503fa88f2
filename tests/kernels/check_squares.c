/* Products in blocks of 32 by a matrix unit whose registers are emulated in C, against the definition written out: all that
 * surrounds the instructions, at every level of lanes, on processors that have no such unit, too. Which products it may do and
 * does; partial squares; sums that go on from C; what the instructions would refuse. Where there is a unit, kernels/check_blocks
 * holds it to the same. */
#include "base/half.h"
#include "kernels/gemm/gemm.h"
#include "tests/harness/check.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"
#include "tests/kernels/defined.h"
#include "tests/kernels/emulated/emulated.h"
#include "tests/kernels/gemm_data.h"

#include <stdio.h>
#include <string.h>

typedef defined_shape shape;

/* Halves of squares, and a row or a column more; blocks, depths and passes, and an element more; several units either way. */
static const shape shapes[] = {
    { 9, 16, 32 },    { 9, 17, 31 },  { 16, 32, 64 },   { 17, 33, 33 },    { 32, 32, 256 },  { 33, 31, 257 },  { 40, 70, 300 },
    { 100, 530, 20 }, { 31, 15, 1 },  { 48, 16, 512 },  { 16, 48, 513 },   { 520, 40, 70 },  { 45, 47, 770 },  { 10, 1100, 34 },
    { 1030, 18, 40 }, { 64, 64, 96 }, { 290, 90, 290 }, { 70, 40, 1025 }, { 580, 33, 1090 }, { 9, 1070, 1056 }, { 33, 2100, 40 },
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0], BLOCK = 32 };

/* ---- runs, and what was done in them ---- */

static const emulated_unit *emulated;
static int64_t n_blocks, n_tiles;
static hn_gemm_tile plain_tile;

static void count_blocks(const hn_square_factors *x, int rows, int cols, bool goes_on, float *c, hn_square_ahead ahead)
{
    n_blocks += x->blocks;
    emulated->gemm->multiply(x, rows, cols, goes_on, c, ahead);
}

static void count_tiles(int64_t k, const float *a, hn_gemm_columns b, float *c, int64_t ldc, int rows, int cols,
                       bool accumulate, hn_ahead *ahead)
{
    n_tiles++;
    plain_tile(k, a, b, c, ldc, rows, cols, accumulate, ahead);
}

static int64_t cuts(int64_t n, int64_t step) { return (n + step - 1) / step; }

/* Of a plan's units, as many squares as they have, each with every block once. */
static int64_t blocks_of(const hn_gemm_plan *plan)
{
    int64_t squares = 0;
    for (int64_t i = 0; i < plan->args.m; i += plan->m_block)
        for (int64_t j = 0; j < plan->args.n; j += plan->n_block) {
            const int64_t rows = plan->args.m - i, cols = plan->args.n - j;
            squares += cuts(rows < plan->m_block ? rows : plan->m_block, HN_SQUARE) *
                       cuts(cols < plan->n_block ? cols : plan->n_block, HN_SQUARE);
        }
    return squares * cuts(plan->args.k, BLOCK);
}

/* Gives how many blocks there are. */
static int64_t multiply(const hn_gemm_kernels *g, const hn_gemm_args *args, int threads)
{
    hn_gemm_kernels k = *g;
    hn_gemm_squares squares = *emulated->gemm;
    hn_gemm_plan plan;
    squares.multiply = count_blocks;
    plain_tile = g->block_tile;
    k.squares = &squares;
    k.block_tile = count_tiles;
    k.dots = NULL;
    n_blocks = n_tiles = 0;
    hn_gemm_plan_make(&plan, &k, args, threads);
    const size_t bytes = hn_gemm_scratch_bytes(&k, args);
    float *scratch = kc_blank(bytes / sizeof(float));
    memset(scratch, 0xff, bytes); /* NaN: none of it counts */
    for (int64_t unit = plan.units - 1; unit >= 0; unit--)
        hn_gemm_run(&plan, unit, unit + 1, scratch);
    KC_CHECK(!emulated->is_open() && emulated->n_refused() == 0);
    return blocks_of(&plan);
}

typedef enum share { NONE, SOME, ALL } share;

/* Whether so much was multiplied by the unit, and the rest, and nothing else, by the plain tile. */
static void check_share(share of, int64_t blocks)
{
    KC_CHECK(of == NONE ? n_blocks == 0 : of == ALL ? n_blocks == blocks : n_blocks > 0 && n_blocks < blocks);
    KC_CHECK(of == ALL ? n_tiles == 0 : n_tiles > 0);
}

/* ---- one product ---- */

/* From +0, from C, and turned. `a` is [m][k], `plain` what b holds, [n][k]. */
static void check_product(const hn_gemm_kernels *g, const shape *s, const float *a, const hn_gemm_operand *b, const float *plain,
                          const float *first, share of, share of_more)
{
    const size_t mn = (size_t)(s->m * s->n);
    float *want = kc_blank(mn), *more = kc_copy(first, mn * sizeof *first), *a_turned = kc_blank((size_t)(s->m * s->k));
    defined_blocks(*s, a, plain, want, more);
    hn_gemm_args args = { .m = s->m, .n = s->n, .k = s->k, .b = *b, .blocks = true };
    args.a = (hn_gemm_operand){ .data = a, .outer_stride = 4 * s->k, .k_stride = 4 };
    args.c_row_stride = 4 * s->n, args.c_col_stride = 4;
    args.c = kc_blank(mn);
    check_share(of, multiply(g, &args, 1));
    kc_same_bits(want, args.c, mn);

    args.c = kc_copy(first, mn * sizeof *first);
    args.accumulate = true;
    check_share(of_more, multiply(g, &args, 7));
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

static kc_function of(const emulated_unit *e) { return (kc_function)e->gemm->multiply; }

static int64_t up_to(int64_t n, int64_t block) { return cuts(n, block) * block; }

/* Of magnitudes that no format makes subnormal. */
static float *ordinary(size_t n) { return kc_floats_in(n, -2, 2); }

static void check_operand(const emulated_unit *ref, const hn_gemm_kernels *g, hn_elem type, bool along_n, bool panel16)
{
    char slot[64];
    snprintf(slot, sizeof slot, "squares_%s_%s%s", along_n ? "nn" : "nt", gemm_elem_name(type), panel16 ? "_panel16" : "");
    if (!kc_begin(slot, of(ref), of(emulated)))
        return;
    for (int i = 0; i < N_SHAPES; i++) {
        shape s = shapes[i];
        *(along_n ? &s.n : &s.k) = up_to(along_n ? s.n : s.k, hn_elem_block(type));
        if (s.m * s.n * s.k > (type == HN_ELEM_f32 || type == HN_ELEM_bf16 ? 9000000 : 300000))
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
        float *a = ordinary((size_t)(s.m * s.k)), *first = ordinary((size_t)(s.m * s.n));
        check_product(g, &s, a, &b, plain, first, ALL, ALL);
    }
}

/* ---- what it may not do ---- */

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
    enum { EVERYWHERE, ONE_DEPTH, LAST_DEPTH, LAST_ROW } where; /* of A; elsewhere it is near 1 */
    int c_low, c_high;
    share fresh, more; /* from +0; from C */
} range;

static const range ranges[] = {
    { "near one", 120, 130, 120, 130, EVERYWHERE, 120, 130, ALL, ALL },
    { "lowest", 71, 72, 71, 72, EVERYWHERE, 24, 40, ALL, ALL },
    { "C too low", 120, 130, 120, 130, EVERYWHERE, 1, 23, ALL, SOME },
    { "C just too low", 120, 130, 120, 130, EVERYWHERE, 23, 23, ALL, SOME },
    { "C subnormal", 120, 130, 120, 130, EVERYWHERE, 0, 0, ALL, SOME },
    { "too low", 70, 72, 71, 72, EVERYWHERE, 120, 130, NONE, NONE },
    { "results subnormal", 40, 66, 60, 66, EVERYWHERE, 1, 30, NONE, NONE },
    { "subnormal", 0, 1, 100, 130, EVERYWHERE, 0, 0, NONE, NONE },
    { "subnormal alone", 0, 0, 141, 150, EVERYWHERE, 24, 40, NONE, NONE },
    { "last row subnormal alone", 0, 0, 141, 150, LAST_ROW, 24, 40, SOME, SOME },
    { "tiny by huge", 1, 2, 141, 150, EVERYWHERE, 24, 30, ALL, ALL },
    { "one depth too low", 40, 66, 71, 72, ONE_DEPTH, 120, 130, SOME, SOME },
    { "last depth too low", 1, 30, 71, 72, LAST_DEPTH, 120, 130, SOME, SOME },
    { "last row too low", 1, 30, 71, 72, LAST_ROW, 120, 130, SOME, SOME },
};
enum { N_RANGES = sizeof ranges / sizeof ranges[0], FROM = 600, TO = 640 };

static bool is_there(const range *of, const shape *s, int64_t at)
{
    const int64_t i = at / s->k, p = at % s->k;
    return of->where == EVERYWHERE || (of->where == ONE_DEPTH && p >= FROM && p < TO) ||
           (of->where == LAST_DEPTH && p >= 1536) || (of->where == LAST_ROW && i == s->m - 1);
}

static void check_ranges(const emulated_unit *ref, const hn_gemm_kernels *g)
{
    static const shape some[] = { { 9, 40, 1620 }, { 67, 34, 1632 }, { 40, 33, 1580 } };
    if (!kc_begin("squares_ranges", of(ref), of(emulated)))
        return;
    for (int r = 0; r < N_RANGES; r++)
        for (int i = 0; i < 3; i++) {
            const range *x = &ranges[r];
            const shape s = some[i];
            kc_note("%s, m %d n %d k %d", x->name, (int)s.m, (int)s.n, (int)s.k);
            float *a = kc_blank((size_t)(s.m * s.k)), *b = kc_blank((size_t)(s.n * s.k)), *c = kc_blank((size_t)(s.m * s.n));
            for (int64_t q = 0; q < s.m * s.k; q++)
                a[q] = is_there(x, &s, q) ? number(x->a_low, x->a_high) : number(120, 130);
            for (int64_t q = 0; q < s.n * s.k; q++)
                b[q] = number(x->b_low, x->b_high);
            for (int64_t q = 0; q < s.m * s.n; q++)
                c[q] = number(x->c_low, x->c_high);
            const bool is_one_part = x->where == LAST_ROW && s.m <= HN_SQUARE_TALL; /* no rows without the last one */
            const hn_gemm_operand stored = { .data = b, .outer_stride = 4 * s.k, .k_stride = 4 };
            check_product(g, &s, a, &stored, b, c, is_one_part ? NONE : x->fresh, is_one_part ? NONE : x->more);
        }
}

static hn_gemm_operand panels_of(const uint16_t *rows, bool rows_are_k, int64_t n_rows, int64_t n_row)
{
    void *panels = kc_blank_bytes(hn_panel16_bytes(HN_ELEM_bf16, n_rows, n_row));
    hn_panel16_pack(HN_ELEM_bf16, n_rows, n_row, rows, n_row * (int64_t)sizeof *rows, 0, panels, 0, cuts(n_rows, 16));
    return (hn_gemm_operand){ .data = panels, .type = HN_ELEM_bf16, .is_panel16 = true, .rows_are_k = rows_are_k, .row_elems = n_row };
}

/* One subnormal number among zeros, of f32 or of bf16, in each place of a row of x or of weights, however they lie: numbers that are
 * large make something of it, and what takes it for zero is not to multiply it. */
static void check_alone(const emulated_unit *ref, const hn_gemm_kernels *g)
{
    enum { N = 20, K = 70, LIES = 7, IN_PANELS = 5 };
    const shape s = { 20, N, K };
    if (!kc_begin("squares_alone", of(ref), of(emulated)))
        return;
    for (int way = 0; way < LIES; way++)
        for (int64_t p = 0; p < K; p++) {
            const bool of_a = way == 0, along_n = way && way % 2 == 0, narrow = way >= 3;
            kc_note("way %d, place %d", way, (int)p);
            float *a = kc_blank((size_t)(s.m * K)), *b = kc_blank(N * K), *lies = kc_blank(N * K), *first = kc_blank((size_t)(s.m * N));
            uint16_t *halves = kc_copy(lies, N * K * sizeof *halves);
            for (int64_t i = 0; i < s.m * K; i++)
                a[i] = of_a ? 0 : 0x1p20f;
            for (int64_t i = 0; i < N * K; i++)
                b[i] = of_a ? 0x1p20f : 0;
            (of_a ? a : b)[(int64_t)kc_random() % (of_a ? s.m : N) * K + p] = narrow ? 0x1p-127f : 0x1.8p-140f;
            for (int64_t i = 0; i < N * K; i++) {
                const int64_t to = along_n ? i % K * N + i / K : i;
                lies[to] = b[i];
                halves[to] = hn_f32_to_bf16(b[i]);
            }
            const int64_t each = narrow ? sizeof *halves : sizeof *lies;
            hn_gemm_operand stored = { .data = narrow ? (const void *)halves : lies, .type = narrow ? HN_ELEM_bf16 : HN_ELEM_f32,
                                       .outer_stride = along_n ? each : each * K, .k_stride = along_n ? each * N : each };
            if (way >= IN_PANELS)
                stored = panels_of(halves, along_n, along_n ? K : N, along_n ? N : K);
            memset(first, 0, (size_t)(s.m * N) * sizeof *first);
            check_product(g, &s, a, &stored, b, first, NONE, NONE);
        }
}

/* Sums that go on from -0: what is too small to be told from it, and nothing at all. */
static void check_signs(const emulated_unit *ref, const hn_gemm_kernels *g)
{
    if (!kc_begin("squares_signs", of(ref), of(emulated)))
        return;
    for (int64_t k = 1; k <= 97; k++)
        for (int is_zero = 0; is_zero < 2; is_zero++) {
            const shape s = { 33, 20, k };
            float *a = kc_blank((size_t)(s.m * k)), *b = kc_blank((size_t)(s.n * k)), *first = kc_blank((size_t)(s.m * s.n));
            kc_note("k %d", (int)k);
            for (int64_t i = 0; i < s.m * k; i++)
                a[i] = is_zero ? -0.0f : -0x1p-100f;
            for (int64_t i = 0; i < s.n * k; i++)
                b[i] = 0x1p-100f;
            for (int64_t i = 0; i < s.m * s.n; i++)
                first[i] = -0.0f;
            const hn_gemm_operand stored = { .data = b, .outer_stride = 4 * k, .k_stride = 4 };
            check_product(g, &s, a, &stored, b, first, is_zero ? ALL : NONE, is_zero ? ALL : NONE);
        }
}

/* Few rows, and chains, are none of its products. */
static void check_others(const emulated_unit *ref, const hn_gemm_kernels *g)
{
    enum { N = 40, K = 64 };
    if (!kc_begin("squares_others", of(ref), of(emulated)))
        return;
    for (int64_t m = 1; m <= 16; m++)
        for (int blocks = 0; blocks < 2; blocks++) {
            float *a = ordinary((size_t)(m * K)), *b = ordinary(N * K), *c = kc_blank((size_t)(m * N));
            hn_gemm_args args = { .m = m, .n = N, .k = K, .c = c, .c_row_stride = 4 * N, .c_col_stride = 4, .blocks = blocks };
            args.a = (hn_gemm_operand){ .data = a, .outer_stride = 4 * K, .k_stride = 4 };
            args.b = (hn_gemm_operand){ .data = b, .outer_stride = 4 * K, .k_stride = 4 };
            multiply(g, &args, 1);
            KC_CHECK((n_blocks > 0) == (blocks && m > HN_GEMM_FEW));
        }
}

int main(int argc, char **argv)
{
    kc_open(argc, argv);
    const emulated_unit *ref = emulated_gemm(HN_ISA(ref));
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        const hn_gemm_kernels *g = &at_level(isa)->gemm;
        emulated = emulated_gemm(isa);
        for (hn_elem type = 0; type < HN_N_ELEMS; type += check_flag("--quick") ? 3 : 1)
            for (int how = 0; how < 4; how++)
                check_operand(ref, g, type, how & 1, how >> 1);
        check_ranges(ref, g);
        check_alone(ref, g);
        check_signs(ref, g);
        check_others(ref, g);
    }
    return kc_close();
}
