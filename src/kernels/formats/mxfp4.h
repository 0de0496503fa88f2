/* mxfp4.h: decoders of MXFP4 (src/quant/mxfp4.c): the exponent at byte 0, nibbles that pick points from 1 on. */
#ifndef HN_KERNELS_FORMATS_MXFP4_H
#define HN_KERNELS_FORMATS_MXFP4_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

/* 2^(e - 128): half of what E8M0 means; the first two are denormal. */
HN_INLINE float e8m0_half(uint8_t e)
{
    return hn_f32_from_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

static inline void row_mxfp4(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    const points_table table = points_load(fp4_points);
    for (int64_t i = 0; i < n; i += 32, block += 17) {
        const f32x16 d = f_set1(e8m0_half(block[0]));
        const i32x16 q = bytes_u8(block + 1);
        f_store(y + i, f_mul(d, points_at(&table, i_and(q, i_set1(15)))));
        f_store(y + i + 16, f_mul(d, points_at(&table, i_shr(q, 4))));
    }
}

static inline void panel_mxfp4(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    const points_table table = points_load(fp4_points);
    for (int64_t p = 0; p < n; p += 32, block += 16 * 17) {
        float d[16];
        for (int row = 0; row < 16; row++)
            d[row] = e8m0_half(block[row]);
        panel_points(&table, block + 16, f_load(d), y + p * ld, ld);
    }
}

/* As e8m0_half: 2^(e - 128). */
HN_INLINE f32x16 e8m0_halves(i32x16 e)
{
    const i32x16 small = i_select(i_eq(e, i_set1(0)), i_set1(0x00200000), i_set1(0x00400000));
    return i_float(i_select(i_gt(i_set1(2), e), small, i_shl(i_sub(e, i_set1(1)), 23)));
}

HN_INLINE void unpack_mxfp4(sixteen b, int g, int32_t *to)
{
    (void)g;
    two_points(fp4_bytes, b, 1, to);
    put_scale(to, 0, e8m0_halves(u8_at(b, 0)));
}

HN_INLINE i32x16 two_mxfp4(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)g;
    return look_bytes(fp4_bytes, nibbles_of(p + 1, q + 1));
}

/* The first byte of blocks of seventeen. */
#if defined(HN_LEVEL_avx512)
HN_INLINE i32x16 bytes_of_blocks_17(const uint8_t *p)
{
    const i32x16 in_quarter = i_load(BY_SIXTEEN(0, 0x01010101, 0x02020202, 0x03030303));
    i32x16 all = _mm512_setzero_si512(); /* lane 4 j + i of block 4 i + j: a line has four, each in a quarter of its own */
    HN_UNROLL
    for (int i = 0; i < 4; i++) {
        const __m512i four = _mm512_maskz_loadu_epi32(0x1111, p + 68 * i); /* words 0, 4, 8, 12 */
        all = i_or(all, _mm512_maskz_shuffle_epi8(0x0001000100010001u << 4 * i, four, in_quarter));
    }
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), all);
}
#else
HN_INLINE i32x16 bytes_of_blocks_17(const uint8_t *p)
{
    uint64_t low = 0, high = 0;
    for (int b = 0; b < 8; b++) {
        low |= (uint64_t)p[17 * b] << 8 * b;
        high |= (uint64_t)p[17 * (b + 8)] << 8 * b;
    }
    return sixteen_u8(low, high);
}
#endif

HN_INLINE void of_mxfp4(const uint8_t *row, stretch *s) { s->scale = e8m0_halves(bytes_of_blocks_17(row)); }

#endif
