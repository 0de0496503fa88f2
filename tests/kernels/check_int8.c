/* Products in whole numbers at every level against the definition (kernels/int8/int8.h), written out one by one: rows of
 * x in blocks at every magnitude, all formats, from one row to more than a tile has, weights in rows, in panels and in
 * pairs, columns that no sixteen divide. */
#include "base/half.h"
#include "kernels/gemm/rows.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"
#include "tests/kernels/emulated/emulated.h"
#include "tests/kernels/gemm_data.h"
#include "tests/kernels/int8_blocks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the definition ---- */

static void define_row(int64_t k, const float *x, const hn_int8_rows *to)
{
    float *d = to->d;
    int32_t *sum = to->sum;
    int8_t *q = to->q;
    for (int64_t b = 0; b < k / 32; b++, x += 32, q += 32) {
        float m = 0;
        bool is_finite = true;
        for (int i = 0; i < 32; i++) {
            is_finite = is_finite && isfinite(x[i]);
            m = fabsf(x[i]) > m ? fabsf(x[i]) : m;
        }
        d[b] = is_finite ? m / 127.0f : NAN;
        const bool is_normal = d[b] >= 0x1p-126f;
        if (is_finite && !is_normal)
            d[b] = 0;
        sum[2 * b] = sum[2 * b + 1] = 0;
        for (int i = 0; i < 32; i++) {
            float near = is_normal ? nearbyintf(x[i] * (127.0f / m)) : 0;
            near = near > 127 ? 127 : near < -127 ? -127 : near;
            q[i] = (int8_t)near;
            sum[2 * b + i / 16] += q[i];
        }
        to->less[b] = d[b] * (float)(sum[2 * b] + sum[2 * b + 1]);
    }
}

static float define_element(hn_elem type, int64_t k, const int8_t *q, const float *d, const uint8_t *row)
{
    const hn_int8_kind kind = hn_int8_formats[type].kind;
    float acc = 0;
    for (int64_t b = 0; b < k / 32; b++, q += 32) {
        const int8_block w = int8_block_of(type, row, b);
        int64_t part[2] = { 0, 0 }, of_q[2] = { 0, 0 };
        for (int i = 0; i < 32; i++) {
            part[i / 16] += w.q[i] * q[i];
            of_q[i / 16] += q[i];
        }
        if (kind == HN_INT8_steps) {
            for (int half = 0; half < 2; half++)
                acc = fmaf((float)part[half], w.scale[half] * d[b], acc);
            continue;
        }
        const bool halves = kind == HN_INT8_halves || kind == HN_INT8_halves_less;
        const int64_t whole = halves ? w.factor[0] * part[0] + w.factor[1] * part[1] : part[0] + part[1];
        const int64_t less = halves ? w.less[0] * of_q[0] + w.less[1] * of_q[1] : of_q[0] + of_q[1];
        KC_CHECK(llabs(whole) < 1 << 24 && llabs(less) < 1 << 24);
        acc = fmaf((float)whole, w.scale[0] * d[b], acc);
        if (kind == HN_INT8_less || kind == HN_INT8_halves_less)
            acc = fmaf(-w.minimum, d[b] * (float)less, acc);
    }
    return acc;
}

/* ---- rows of x ---- */

/* Blocks whose largest is what the definition turns on, and ties on the way to whole numbers. */
static float *hard_rows(int64_t n)
{
    static const float largest[] = { 0, 0x1p-149f, 0x1p-126f, 0x1p-122f, 127 * 0x1p-126f, 126.99999f * 0x1p-126f, 127, 1,
                                     254, 0x1.fffffep127f, 0x1p100f, 3 };
    enum { N = sizeof largest / sizeof *largest };
    float *x = kc_floats((size_t)n);
    if (kc_current_flavour() != KC_EXTREME)
        return x;
    for (int64_t b = 0; b < n / 32; b++)
        for (int i = 0; i < 32; i++) {
            const float m = largest[b % N];
            x[32 * b + i] = i == 7 ? m : (float)((int)(kc_random() % 255) - 127) * 0.5f * (m / 127.0f);
            if (b % 4 == 3) /* nothing that adds up to less than it may */
                x[32 * b + i] = b % 8 == 3 ? m : -m;
        }
    return x;
}

static void check_rows(const hn_int8_kernels *ref, const hn_int8_kernels *opt)
{
    if (!KC_BEGIN(ref, opt, quantise))
        return;
    static const int64_t lengths[] = { 32, 64, 416, 2048 };
    for (int i = 0; i < 4; i++)
        while (kc_next_flavour()) {
            const int64_t k = lengths[i], blocks = k / 32;
            const float *x = hard_rows(k);
            const size_t bytes = hn_int8_row_bytes(k);
            const hn_int8_rows want = hn_int8_rows_in(kc_blank_bytes(bytes), 1, k), got = hn_int8_rows_in(kc_blank_bytes(bytes), 1, k);
            define_row(k, x, &want);
            opt->quantise(k, x, &got);
            kc_same_bits(want.d, got.d, (size_t)blocks);
            kc_same_bits(want.less, got.less, (size_t)blocks);
            kc_same_bytes(want.q, got.q, (size_t)k);
            kc_same_bytes(want.sum, got.sum, (size_t)blocks * 8);
        }
}

/* ---- products ---- */

typedef struct shape {
    int64_t rows, n, blocks;
    enum { IN_ROWS, IN_PANELS } lie;
    int64_t pairs;
} shape;
static const shape shapes[] = { { 1, 16, 1, IN_PANELS, 0 }, { 1, 33, 3, IN_ROWS, 0 },   { 2, 40, 2, IN_PANELS, 0 },
                                { 3, 48, 1, IN_ROWS, 6 },   { 7, 5, 2, IN_PANELS, 0 },  { 5, 32, 11, IN_PANELS, 0 },
                                { 29, 50, 3, IN_PANELS, 0 }, { 9, 24, 1, IN_PANELS, 8 }, { 64, 17, 2, IN_ROWS, 0 },
                                { 14, 32, 9, IN_PANELS, 0 }, { 1, 50, 3, IN_PANELS, 0 },
                                { 1, 18, 37, IN_ROWS, 6 },  { 1, 35, 150, IN_ROWS, 0 }, { 1, 16, 16, IN_ROWS, 0 },
                                { 3, 37, 3, IN_PANELS, 0 }, { 4, 50, 9, IN_PANELS, 0 },  { 5, 18, 2, IN_PANELS, 0 },
                                { 6, 33, 2, IN_PANELS, 0 }, { 2, 40, 2, IN_ROWS, 0 },     { 5, 33, 3, IN_ROWS, 0 },
                                { 1, 24, 1, IN_PANELS, 8 }, { 4, 24, 1, IN_PANELS, 8 },
                                { 8, 34, 3, IN_PANELS, 0 }, { 11, 50, 2, IN_PANELS, 0 },  { 16, 33, 1, IN_PANELS, 0 },
                                { 9, 33, 2, IN_PANELS, 0 }, { 10, 18, 1, IN_PANELS, 0 },  { 12, 34, 2, IN_PANELS, 0 },
                                { 13, 20, 1, IN_PANELS, 0 }, { 64, 17, 1, IN_PANELS, 0 }, { 65, 33, 1, IN_PANELS, 0 },
                                { 66, 5, 66, IN_PANELS, 0 },
                                { 66, 33, 2, IN_ROWS, 0 },  { 6, 32, 3, IN_ROWS, 0 },     { 14, 48, 9, IN_ROWS, 0 } };
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* Rows of one byte, so that products add up to the most that they may: one of each format's largest and smallest is among them. */
static void fill_rows(hn_elem type, int64_t rows, int64_t k, uint8_t *w)
{
    static const int bytes[] = { 0x00, 0xff, 0x77, 0x88, 0x80, 0x7f, 0x70 };
    enum { N = sizeof bytes / sizeof *bytes };
    for (int64_t r = 0; r < rows; r++, w += hn_elem_span(type, k))
        if (r % (N + 1) < N) /* the others are random */
            gemm_fill_blocks(type, (size_t)(k / hn_elem_block(type)), bytes[r % (N + 1)], w);
}

static void check_shape(const hn_int8_kernels *opt, hn_elem type, const shape *s)
{
    const int64_t k = s->blocks * hn_elem_block(type), row_bytes = hn_elem_span(type, k);
    hn_gemm_operand w;
    (void)gemm_weights(&w, type, s->n, k, false, false);
    if (kc_current_flavour() == KC_EXTREME)
        fill_rows(type, s->n, k, (uint8_t *)(uintptr_t)w.data);
    const float *x = hard_rows(s->rows * k);
    const hn_int8_rows of_x = hn_int8_rows_in(kc_blank_bytes((size_t)s->rows * hn_int8_row_bytes(k)), s->rows, k);
    for (int64_t r = 0; r < s->rows; r++) {
        const hn_int8_rows row = hn_int8_rows_from(&of_x, r, 0);
        define_row(k, x + r * k, &row);
    }
    float *want = kc_blank((size_t)(s->rows * s->n)), *got = kc_blank((size_t)(s->rows * s->n));
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t c = 0; c < s->n; c++)
            want[r * s->n + c] = define_element(type, k, of_x.q + r * of_x.stride * 32, of_x.d + r * of_x.stride,
                                                (const uint8_t *)w.data + hn_gemm_row(s->pairs, c) * row_bytes);
    hn_int8_args a = { .rows = s->rows, .n = s->n, .k = k, .x = of_x, .type = type, .w = w.data, .stride = row_bytes,
                       .pairs = s->pairs, .y = got };
    if (s->lie == IN_PANELS) {
        char *panels = kc_blank_bytes(hn_panel16_bytes(type, s->n, k));
        hn_panel16_pack(type, s->n, k, w.data, row_bytes, 0, panels, 0, (s->n + 15) / 16);
        a.w = panels;
        a.is_panel16 = true;
    }
    hn_int8_run(opt, &a, 0, hn_int8_units(&a), kc_blank_bytes(hn_int8_scratch_bytes()));
    kc_same_bits(want, got, (size_t)(s->rows * s->n));
}

/* ---- by a matrix unit whose registers are emulated ---- */

/* Sixteens of rows and what is left; one group of columns, two, and columns that no sixteen divide; more blocks than are unpacked
 * at a time. */
static const shape squares[] = { { 16, 16, 1, IN_PANELS, 0 }, { 17, 33, 3, IN_ROWS, 0 }, { 32, 48, 2, IN_PANELS, 0 },
                                 { 38, 20, 66, IN_PANELS, 0 }, { 15, 32, 2, IN_PANELS, 0 }, { 47, 24, 1, IN_PANELS, 8 } };
enum { N_SQUARES = sizeof squares / sizeof *squares };

static int n_squares;
static hn_int8_tile_fn *counted;

static void count_squares(const hn_int8_tile *t)
{
    n_squares++;
    counted(t);
}

static void check_squares(const emulated_unit *ref, const emulated_unit *unit, const hn_int8_kernels *opt, hn_elem type)
{
    const hn_int8_kind kind = hn_int8_formats[type].kind;
    hn_int8_kernels k = *opt;
    hn_int8_squares counting = *unit->int8;
    if (kind != HN_INT8_whole && kind != HN_INT8_less) /* which the unit is slower for */
        return;
    char slot[48];
    snprintf(slot, sizeof slot, "int8_squares_%s", gemm_elem_name(type));
    if (!kc_begin(slot, (kc_function)ref->int8->tile[kind], (kc_function)unit->int8->tile[kind]))
        return;
    counted = counting.tile[kind];
    counting.tile[kind] = count_squares;
    k.squares = &counting;
    for (int i = 0; i < N_SQUARES; i++)
        while (kc_next_flavour()) {
            const shape *s = &squares[i];
            const int64_t deeps = (s->blocks * hn_elem_block(type) / HN_INT8_BLOCK + HN_INT8_SQUARE_DEEP - 1) /
                                  HN_INT8_SQUARE_DEEP;
            kc_note("rows %d n %d blocks %d", (int)s->rows, (int)s->n, (int)s->blocks);
            n_squares = 0;
            check_shape(&k, type, s);
            KC_CHECK(n_squares >= s->rows / HN_INT8_SQUARE * ((s->n + 31) / 32) * deeps);
            KC_CHECK(!unit->is_open() && unit->n_refused() == 0);
        }
}

static void check_type(const hn_int8_kernels *ref, const hn_int8_kernels *opt, hn_elem type)
{
    const hn_int8_kind kind = hn_int8_formats[type].kind;
    char slot[32];
    snprintf(slot, sizeof slot, "int8_%s", gemm_elem_name(type));
    if (!kc_begin(slot, (kc_function)ref->tile[kind], (kc_function)(opt->squares && opt->squares->tile[kind] ? opt->squares->tile[kind] : opt->tile[kind])))
        return;
    for (int i = 0; i < N_SHAPES; i++)
        while (kc_next_flavour()) {
            kc_note("rows %d n %d blocks %d", (int)shapes[i].rows, (int)shapes[i].n, (int)shapes[i].blocks);
            check_shape(opt, type, &shapes[i]);
        }
}

int main(int argc, char **argv)
{
    kc_open(argc, argv);
    const hn_int8_kernels *ref = &at_level(HN_ISA(ref))->int8;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        const hn_int8_kernels *opt = &at_level(isa)->int8;
        check_rows(ref, opt);
        for (hn_elem type = 0; type < HN_N_ELEMS; type++)
            if (hn_int8_formats[type].kind)
                check_type(ref, opt, type);
        for (hn_elem type = 0; type < HN_N_ELEMS; type++)
            if (hn_int8_formats[type].kind)
                check_squares(emulated_int8(HN_ISA(ref)), emulated_int8(isa), opt, type);
    }
    return kc_close();
}
