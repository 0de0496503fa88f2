#include "tests/kernels/gemm_data.h"
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"

#include <string.h>

const char *gemm_elem_name(hn_elem type)
{
    static const char *const names[] = {
#define HN_ELEM(name, elements, bytes, kernels, ...) #name,
#include "quant/types.def"
    };
    return names[type];
}

/* Where a block has its f16, from byte `first` on. */
typedef struct halves {
    int first, n;
} halves;

static halves halves_of(hn_elem type)
{
    switch (type) {
    case HN_ELEM_q4_k:
    case HN_ELEM_q5_k:
    case HN_ELEM_q4_1:
    case HN_ELEM_q5_1:
        return (halves){ 0, 2 };
    case HN_ELEM_q2_k:
        return (halves){ 80, 2 };
    case HN_ELEM_q3_k:
        return (halves){ 108, 1 };
    case HN_ELEM_q6_k:
        return (halves){ 208, 1 };
    case HN_ELEM_tq1_0:
        return (halves){ 52, 1 };
    case HN_ELEM_tq2_0:
        return (halves){ 64, 1 };
    case HN_ELEM_mxfp4:
    case HN_ELEM_nvfp4:
        return (halves){ 0, 0 };
    default:
        return (halves){ 0, 1 };
    }
}

/* Random blocks with finite scales. */
static uint8_t *blocks(hn_elem type, size_t n)
{
    const size_t size = (size_t)hn_elem_bytes(type);
    uint8_t *x = kc_bytes(n * size);
    const uint16_t *scale = kc_halves(2 * n);
    const halves at = halves_of(type);
    for (size_t i = 0; i < n; i++) {
        uint8_t *block = x + i * size;
        for (int h = 0; h < at.n; h++)
            memcpy(block + at.first + 2 * h, scale + 2 * i + (size_t)h, 2);
        if (type == HN_ELEM_mxfp4) /* 2^-28 to 2^3 */
            block[0] = (uint8_t)(100 + block[0] % 32);
    }
    return x;
}

void gemm_fill_blocks(hn_elem type, size_t n, int byte, uint8_t *x)
{
    const halves at = halves_of(type);
    const int end = type == HN_ELEM_mxfp4 ? 1 : at.first + 2 * at.n;
    for (size_t i = 0; i < n; i++)
        for (int b = 0; b < hn_elem_bytes(type); b++, x++)
            if (b < at.first || b >= end)
                *x = (uint8_t)byte;
}

float *gemm_weights(hn_gemm_operand *out, hn_elem type, int64_t rows, int64_t row, bool along_n,
                    bool panel16)
{
    const size_t n = (size_t)(rows * row);
    const int64_t row_bytes = hn_elem_span(type, row);
    const void *data = type == HN_ELEM_f32    ? (const void *)kc_floats(n)
                       : type == HN_ELEM_f16  ? (const void *)kc_halves(n)
                       : type == HN_ELEM_bf16 ? (const void *)kc_brains(n)
                                              : blocks(type, n / (size_t)hn_elem_block(type));
    float *values = kc_blank(n);
    for (int64_t r = 0; r < rows; r++)
        at_level(HN_ISA(ref))->decode.row[type](row, (const char *)data + r * row_bytes,
                                        values + r * row);
    const int64_t along = hn_elem_block(type) > 1 ? 0 : hn_elem_bytes(type);
    *out = (hn_gemm_operand){
        .data = data, .type = type, .outer_stride = row_bytes, .k_stride = along
    };
    if (along_n)
        out->outer_stride = along, out->k_stride = row_bytes;
    if (panel16) {
        void *panels = kc_blank_bytes(hn_panel16_bytes(type, rows, row));
        hn_panel16_pack(type, rows, row, data, row_bytes, 0, panels, 0, (rows + 15) / 16);
        *out = (hn_gemm_operand){ .data = panels,
                                  .type = type,
                                  .is_panel16 = true,
                                  .rows_are_k = along_n,
                                  .row_elems = row,
                                  .lowest = hn_panel16_lowest(type, rows, row, panels) };
    }
    return values;
}
