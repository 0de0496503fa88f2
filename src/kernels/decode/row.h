/* row.h: a row of weights to f32, by the format's formula. No multiply-add is contracted: every
 * level rounds alike. Blocks lie as in src/quant/NAME.c.
 *
 * Here are rows of scalars, and what formats share; row_NAME of a block format is in kernels/formats/NAME.h. All are `static
 * inline`: whoever includes formats wants some of a format's functions, and the others are no code, nor a warning. */
#ifndef HN_KERNELS_DECODE_ROW_H
#define HN_KERNELS_DECODE_ROW_H

#include "kernels/decode/lanes.h"

#include "base/half.h"

#include <string.h>

static inline float half_at(const uint8_t *x)
{
    uint16_t h;
    memcpy(&h, x, sizeof h);
#if defined(HN_LEVEL_avx2) || defined(HN_LEVEL_avx512)
    return _cvtsh_ss(h);
#else
    return hn_f16_to_f32(h);
#endif
}

static inline void halves_at(const uint8_t *x, float y[16]) { f_store(y, halves_f16(x)); }

static inline void row_f32(int64_t n, const void *x, float *y) { memcpy(y, x, (size_t)n * sizeof *y); }

static inline void row_f16(int64_t n, const void *x, float *y)
{
    const uint8_t *h = x;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        halves_at(h + 2 * i, y + i);
    for (; i < n; i++)
        y[i] = half_at(h + 2 * i);
}

static inline void row_bf16(int64_t n, const void *x, float *y)
{
    const uint8_t *bytes = x;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        f_store(y + i, f_from_bf16(h_load((const uint16_t *)(const void *)(bytes + 2 * i))));
    for (; i < n; i++) {
        uint16_t h;
        memcpy(&h, bytes + 2 * i, sizeof h);
        const uint32_t bits = (uint32_t)h << 16;
        memcpy(y + i, &bits, sizeof bits);
    }
}

/* Scale and minimum of sub-block j of a block of Q4_K or Q5_K: six bits each, packed in twelve bytes. */
static inline int k_scale(const uint8_t *s, int j)
{
    return j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
}

static inline int k_min(const uint8_t *s, int j)
{
    return j < 4 ? s[j + 4] & 63 : (s[j + 4] >> 4) | (s[j] >> 6) << 4;
}

/* Sixteen whole numbers of four low bits each, with their fifth. */
HN_INLINE i32x16 five_bits(i32x16 low, uint32_t fifth)
{
    return i_or(low, i_select(bits_set(fifth), i_set1(16), i_set1(0)));
}

#endif
