/* transpose.h: dst[k][row] = src[row][k] for up to sixteen rows and any number of k.
 *
 * Four k at a time, a 128-bit piece of each of four rows is put into the four quarters of a
 * register on the way in (rows i, i+4, i+8, i+12), so that only the 4x4 transposes inside the
 * quarters cost shuffles. */
#ifndef HN_KERNELS_GEMM_TRANSPOSE_H
#define HN_KERNELS_GEMM_TRANSPOSE_H

#include "kernels/simd/f32x16.h"

#include <string.h>

#if defined(HN_LEVEL_avx512) || defined(HN_LEVEL_avx2)
HN_INLINE void transpose4x8(const char *p, int64_t stride, __m256 out[4])
{
    __m256 v[4];
    for (int i = 0; i < 4; i++)
        v[i] = _mm256_insertf128_ps(
            _mm256_castps128_ps256(_mm_loadu_ps((const float *)(const void *)(p + i * stride))),
            _mm_loadu_ps((const float *)(const void *)(p + (i + 4) * stride)), 1);
    const __m256 ab = _mm256_unpacklo_ps(v[0], v[1]), AB = _mm256_unpackhi_ps(v[0], v[1]);
    const __m256 cd = _mm256_unpacklo_ps(v[2], v[3]), CD = _mm256_unpackhi_ps(v[2], v[3]);
    out[0] = _mm256_shuffle_ps(ab, cd, 0x44);
    out[1] = _mm256_shuffle_ps(ab, cd, 0xee);
    out[2] = _mm256_shuffle_ps(AB, CD, 0x44);
    out[3] = _mm256_shuffle_ps(AB, CD, 0xee);
}

/* To memory the halves need not be joined. */
HN_INLINE void transpose4_to(const char *src, int64_t stride, float *dst)
{
    for (int half = 0; half < 16; half += 8) {
        __m256 out[4];
        transpose4x8(src + half * stride, stride, out);
        for (int i = 0; i < 4; i++)
            _mm256_storeu_ps(dst + 16 * i + half, out[i]);
    }
}
#endif

#if defined(HN_LEVEL_avx512)
/* Two rows join on the way in, then the four: merging each piece into a whole register takes
 * half as long again. */
HN_INLINE __m512 quarters(const char *p, int64_t stride)
{
    __m256 half[2];
    for (int h = 0; h < 2; h++, p += 8 * stride)
        half[h] = _mm256_insertf128_ps(
            _mm256_castps128_ps256(_mm_loadu_ps((const float *)(const void *)p)),
            _mm_loadu_ps((const float *)(const void *)(p + 4 * stride)), 1);
    return _mm512_insertf32x8(_mm512_castps256_ps512(half[0]), half[1], 1);
}

HN_INLINE void transpose4(const char *src, int64_t stride, f32x16 out[4])
{
    const __m512 a = quarters(src, stride), b = quarters(src + stride, stride);
    const __m512 c = quarters(src + 2 * stride, stride), d = quarters(src + 3 * stride, stride);
    const __m512 ab = _mm512_unpacklo_ps(a, b), AB = _mm512_unpackhi_ps(a, b);
    const __m512 cd = _mm512_unpacklo_ps(c, d), CD = _mm512_unpackhi_ps(c, d);
    out[0] = _mm512_shuffle_ps(ab, cd, 0x44);
    out[1] = _mm512_shuffle_ps(ab, cd, 0xee);
    out[2] = _mm512_shuffle_ps(AB, CD, 0x44);
    out[3] = _mm512_shuffle_ps(AB, CD, 0xee);
}

/* Sixteen by sixteen, all in registers: 64 shuffles. */
HN_INLINE void transpose16(const char *src, int64_t stride, f32x16 out[16])
{
    __m512 r[16], t[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = _mm512_loadu_ps((const float *)(const void *)(src + i * stride));
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4) {
        const __m512 ab = _mm512_unpacklo_ps(r[i], r[i + 1]);
        const __m512 AB = _mm512_unpackhi_ps(r[i], r[i + 1]);
        const __m512 cd = _mm512_unpacklo_ps(r[i + 2], r[i + 3]);
        const __m512 CD = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
        t[i] = _mm512_shuffle_ps(ab, cd, 0x44); /* column 4q of rows i..i+3 in quarter q */
        t[i + 1] = _mm512_shuffle_ps(ab, cd, 0xee);
        t[i + 2] = _mm512_shuffle_ps(AB, CD, 0x44);
        t[i + 3] = _mm512_shuffle_ps(AB, CD, 0xee);
    }
#pragma GCC unroll 16
    for (int c = 0; c < 4; c++) {
        const __m512 even = _mm512_shuffle_f32x4(t[c], t[4 + c], 0x88);
        const __m512 odd = _mm512_shuffle_f32x4(t[c], t[4 + c], 0xdd);
        const __m512 EVEN = _mm512_shuffle_f32x4(t[8 + c], t[12 + c], 0x88);
        const __m512 ODD = _mm512_shuffle_f32x4(t[8 + c], t[12 + c], 0xdd);
        out[c] = _mm512_shuffle_f32x4(even, EVEN, 0x88);
        out[4 + c] = _mm512_shuffle_f32x4(odd, ODD, 0x88);
        out[8 + c] = _mm512_shuffle_f32x4(even, EVEN, 0xdd);
        out[12 + c] = _mm512_shuffle_f32x4(odd, ODD, 0xdd);
    }
}
#elif defined(HN_LEVEL_avx2)
HN_INLINE void transpose4(const char *src, int64_t stride, f32x16 out[4])
{
    __m256 low[4], high[4];
    transpose4x8(src, stride, low);
    transpose4x8(src + 8 * stride, stride, high);
    for (int i = 0; i < 4; i++)
        out[i] = (f32x16){ low[i], high[i] };
}
#else
HN_INLINE void transpose4(const char *src, int64_t stride, f32x16 out[4])
{
    float v[4][16];
    for (int row = 0; row < 16; row++)
        for (int i = 0; i < 4; i++)
            memcpy(&v[i][row], src + row * stride + 4 * i, sizeof(float));
    for (int i = 0; i < 4; i++)
        out[i] = f_load(v[i]);
}

HN_INLINE void transpose4_to(const char *src, int64_t stride, float *dst)
{
    f32x16 out[4];
    transpose4(src, stride, out);
    for (int i = 0; i < 4; i++)
        f_store(dst + 16 * i, out[i]);
}
#endif

#if !defined(HN_LEVEL_avx512)
/* A cache line of each row is taken whole: rows may all fall into one set of the first-level
 * cache, and would not be there for a second piece. */
HN_INLINE void transpose16(const char *src, int64_t stride, f32x16 out[16])
{
    float lines[16][16];
    for (int row = 0; row < 16; row++)
#if defined(HN_LEVEL_ref) /* whose lanes are floats in memory, which rows of bf16 need not be aligned for */
        memcpy(lines[row], src + row * stride, sizeof lines[row]);
#else
        f_store(lines[row], f_load((const float *)(const void *)(src + row * stride)));
#endif
    for (int part = 0; part < 16; part += 4)
        transpose4((const char *)(lines[0] + part), sizeof lines[0], out + part);
}
#endif

/* Sixteen whole rows. Stores sixteen floats at dst + k * ld, ascending. */
HN_INLINE void transpose_rows16(const char *src, int64_t stride, int64_t n_k, float *dst,
                                int64_t ld)
{
    int64_t k = 0;
    for (; k + 4 <= n_k; k += 4) {
        f32x16 out[4];
        transpose4(src + 4 * k, stride, out);
        for (int i = 0; i < 4; i++)
            f_store(dst + (k + i) * ld, out[i]);
    }
    src += 4 * k, dst += k * ld;
    for (; k < n_k; k++, src += 4, dst += ld)
        for (int row = 0; row < 16; row++)
            memcpy(dst + row, src + row * stride, sizeof *dst);
}

/* Fewer rows; the others are zero. Reads nothing of them. */
HN_INLINE void transpose_rows(const char *src, int64_t stride, int rows, int64_t n_k,
                              float *dst, int64_t ld)
{
    if (rows == 16) {
        transpose_rows16(src, stride, n_k, dst, ld);
        return;
    }
    float part[16][16] = { { 0 } };
    for (int64_t k0 = 0; k0 < n_k; k0 += 16) {
        const int64_t n = n_k - k0 < 16 ? n_k - k0 : 16;
        for (int row = 0; row < rows; row++) {
            const float *from = (const float *)(const void *)(src + row * stride) + k0;
            f_store(part[row], n == 16 ? f_load(from) : f_load_n(from, n));
        }
        transpose_rows16((const char *)part, sizeof part[0], n, dst + k0 * ld, ld);
    }
}

#endif
