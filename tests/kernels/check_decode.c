/* Decoders at every level against the formats' own, in rows and in panels of sixteen, and the
 * panel16 layout there and back. */
#include "base/half.h"
#include "kernels/decode/decode.h"
#include "quant/format.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/gemm_data.h"
#include "tests/kernels/at_level.h"

#include <stdio.h>
#include <string.h>

/* The definition: halves by base/half.h, blocks by their format. */
static void define(hn_elem type, int64_t n, const void *x, float *y)
{
    const hn_format *format = hn_format_named(gemm_elem_name(type));
    if (format) {
        format->decode(x, n, y);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, (const char *)x + 2 * i, 2);
        y[i] = type == HN_ELEM_f16 ? hn_f16_to_f32(half) : hn_bf16_to_f32(half);
        if (type == HN_ELEM_f32)
            memcpy(y + i, (const char *)x + 4 * i, 4);
    }
}

static void check_type(const hn_decode_kernels *ref, const hn_decode_kernels *opt, hn_elem type)
{
    char slot[32];
    snprintf(slot, sizeof slot, "decode_%s", gemm_elem_name(type));
    if (!kc_begin(slot, (kc_function)ref->row[type], (kc_function)opt->row[type]))
        return;
    static const int64_t rows_of[] = { 1, 16, 19, 40 };
    for (int i = 0; i < 4; i++)
        while (kc_next_flavour()) {
            const int64_t rows = rows_of[i], block = hn_elem_block(type);
            const int64_t n = block > 1 ? block * (1 + i) : 5 + 13 * i;
            const int64_t row_bytes = hn_elem_span(type, n);
            hn_gemm_operand w;
            kc_note("%d rows of %d", (int)rows, (int)n);
            (void)gemm_weights(&w, type, rows, n, false, false);
            float *want = kc_blank((size_t)(rows * n)), *got = kc_blank((size_t)(rows * n));
            for (int64_t r = 0; r < rows; r++) {
                define(type, n, (const char *)w.data + r * row_bytes, want + r * n);
                opt->row[type](n, (const char *)w.data + r * row_bytes, got + r * n);
            }
            kc_same_bits(want, got, (size_t)(rows * n));

            char *panels = kc_blank_bytes(hn_panel16_bytes(type, rows, n));
            char *back = kc_blank_bytes((size_t)row_bytes);
            const int64_t n_panels = (rows + 15) / 16;
            hn_panel16_pack(type, rows, n, w.data, row_bytes, 0, panels, 0, n_panels);
            float *lanes = kc_blank((size_t)(16 * n)), *turned = kc_blank((size_t)(rows * n));
            for (int64_t r = 0; r < rows; r++) {
                if (r % 16 == 0)
                    opt->panel[type](n, panels + r * row_bytes, lanes, 16);
                for (int64_t p = 0; p < n; p++)
                    turned[r * n + p] = lanes[16 * p + r % 16];
                hn_panel16_row(type, n, panels, r, 0, n, back);
                kc_same_bytes((const char *)w.data + r * row_bytes, back, (size_t)row_bytes);
            }
            kc_same_bits(want, turned, (size_t)(rows * n));
        }
}

/* Sixteen rows at once, somewhat apart. */
static void check_turn(const hn_decode_kernels *ref, const hn_decode_kernels *opt, hn_elem type)
{
    char slot[32];
    snprintf(slot, sizeof slot, "turn_%s", gemm_elem_name(type));
    if (!kc_begin(slot, (kc_function)ref->turn, (kc_function)opt->turn))
        return;
    for (int i = 1; i < 4; i++)
        while (kc_next_flavour()) {
            const int64_t n = i * (hn_elem_block(type) > 1 ? hn_elem_block(type) : 7);
            const int64_t bytes = hn_elem_span(type, n), stride = bytes + 3 * i;
            char *rows = (char *)kc_bytes((size_t)(15 * stride + bytes));
            uint8_t *want = kc_blank_bytes(hn_panel16_bytes(type, 16, n)), *got = kc_blank_bytes((size_t)(16 * bytes));
            hn_panel16_pack(type, 16, n, rows, stride, 0, want, 0, 1);
            opt->turn(type, n, rows, stride, got);
            kc_same_bytes(want, got, (size_t)(16 * bytes));
        }
}

/* What is told of panels of bf16 beside them: of all values, and with one that is small, subnormal or zero somewhere. */
static uint8_t lowest_of(const uint16_t *rows, int64_t n_rows, int64_t n, int64_t panel, int64_t stretch)
{
    int lowest = 255;
    for (int64_t row = 16 * panel; row < 16 * panel + 16 && row < n_rows; row++)
        for (int64_t k = stretch * HN_PANEL16_STRETCH; k < (stretch + 1) * HN_PANEL16_STRETCH && k < n; k++) {
            const int magnitude = rows[row * n + k] & 0x7fff;
            lowest = magnitude && magnitude >> 7 < lowest ? magnitude >> 7 : lowest;
        }
    return (uint8_t)lowest;
}

static void check_lowest(const hn_decode_kernels *ref, const hn_decode_kernels *opt)
{
    enum { ROWS = 35 };
    static const uint16_t odd[] = { 0x0001, 0x8080, 0x0100, 0x7f80, 0xffff };
    static const int64_t lengths[] = { 3, 512, 1030, 1538 };
    if (!kc_begin("lowest_bf16", (kc_function)ref->turn, (kc_function)opt->turn))
        return;
    for (int i = 0; i < 4 * (int)(sizeof odd / sizeof *odd); i++) {
        const int64_t n = lengths[i % 4], stretches = hn_panel16_stretches(n);
        uint16_t *rows = kc_brains((size_t)(ROWS * n));
        rows[kc_random() % (uint32_t)(ROWS * n)] = odd[i / 4];
        if (i % 2)
            memset(rows + 16 * n, 0, (size_t)(16 * n) * sizeof *rows);
        void *panels = kc_blank_bytes(hn_panel16_bytes(HN_ELEM_bf16, ROWS, n));
        hn_panel16_pack(HN_ELEM_bf16, ROWS, n, rows, 2 * n, 0, panels, 0, 3);
        const uint8_t *found = hn_panel16_lowest(HN_ELEM_bf16, ROWS, n, panels);
        kc_note("%d elements, %04x", (int)n, odd[i / 4]);
        for (int64_t panel = 0; panel < 3; panel++)
            for (int64_t stretch = 0; stretch < stretches; stretch++)
                KC_CHECK(found[panel * stretches + stretch] == lowest_of(rows, ROWS, n, panel, stretch));
    }
}

int main(int argc, char **argv)
{
    kc_open(argc, argv);
    const hn_decode_kernels *ref = &at_level(HN_ISA(ref))->decode;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        check_lowest(ref, &at_level(isa)->decode);
        for (hn_elem type = 0; type < HN_N_ELEMS; type++) {
            check_type(ref, &at_level(isa)->decode, type);
            check_turn(ref, &at_level(isa)->decode, type);
        }
    }
    return kc_close();
}
