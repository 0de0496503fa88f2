/* weights.h: what turns the bits of sixteen rows, a word of each in a lane, into weights; and how loops over them are written. */
#ifndef HN_KERNELS_GEMV_WEIGHTS_H
#define HN_KERNELS_GEMV_WEIGHTS_H

#include "kernels/simd/f32x16.h"

#include <math.h>
#include <string.h>

/* Groups, rows and lanes of a transpose index registers: their loops must go. */
#if defined(HN_LEVEL_ref)
#define ALL
#else
#define ALL _Pragma("GCC unroll 16")
#endif
/* Loops over words of a transpose: they go where it is registers. Where it lies in memory, because there are too few of them,
 * the one block of thousands of instructions takes the compiler long, with four registers for sixteen lanes minutes, and is no
 * faster, but for two weights of a word (HALF_WORDS). */
#if defined(HN_LEVEL_avx512)
#define WORDS      ALL
#define HALF_WORDS ALL
#elif defined(HN_LEVEL_avx2)
#define WORDS      HN_KEEP_ROLLED
#define HALF_WORDS ALL
#else
#define WORDS      HN_KEEP_ROLLED
#define HALF_WORDS HN_KEEP_ROLLED
#endif

/* The last k of plain rows: one element of each. */
HN_INLINE f32x16 column(const uint8_t *w, int64_t stride, int64_t p)
{
    float v[16];
    for (int l = 0; l < 16; l++)
        memcpy(v + l, w + l * stride + 4 * p, sizeof v[0]);
    return f_load(v);
}

/* Lines a little way ahead, for the second-level cache: as many streams as rows are more than
 * the hardware follows, and the first level may have one set for all of them. */
HN_INLINE void fetch_lines(const uint8_t *w, int64_t stride)
{
    for (int row = 0; row < 16; row++)
        __builtin_prefetch(w + row * stride + 256, 0, 2);
}

/* Two of bf16 in each word: the first is the low one. */
HN_INLINE f32x16 low_bf16(i32x16 pair) { return i_float(i_shl(pair, 16)); }
HN_INLINE f32x16 high_bf16(i32x16 pair)
{
    return i_float(i_and(pair, i_set1((int32_t)0xffff0000u)));
}

/* Four bytes of sixteen rows in the lanes: byte b, signed, times 2^24. What is decoded from
 * bits further up is scaled by a power of two too much, and its scale by as much too little: no
 * bit of the product changes, and no shift brings the bits down. */
HN_INLINE f32x16 top_byte(i32x16 v, const int b)
{
#if defined(HN_LEVEL_avx512)
    if (b == 1 || b == 2) {
        const int at = b - 3; /* of byte 3 */
        return i_to_f(_mm512_shuffle_epi8(
            v, _mm512_set4_epi32((15 + at) << 24 | 0x808080, (11 + at) << 24 | 0x808080,
                                 (7 + at) << 24 | 0x808080, (3 + at) << 24 | 0x808080)));
    }
#elif defined(HN_LEVEL_avx2)
    if (b == 1 || b == 2) {
        const int at = b - 3;
        const __m256i from = _mm256_broadcastsi128_si256(
            _mm_set_epi32((15 + at) << 24 | 0x808080, (11 + at) << 24 | 0x808080, (7 + at) << 24 | 0x808080,
                          (3 + at) << 24 | 0x808080));
        return i_to_f((i32x16){ _mm256_shuffle_epi8(v.a, from), _mm256_shuffle_epi8(v.b, from) });
    }
#endif
    const i32x16 moved = b == 0   ? i_shl(v, 24)
                         : b == 1 ? i_shl(v, 16)
                         : b == 2 ? i_shl(v, 8)
                                  : v;
    return i_to_f(b ? i_and(moved, i_set1((int32_t)0xff000000u)) : moved);
}

/* What turns byte b of a word of Q8_0 into its weight q d, without a shift: with their signs flipped the lower
 * three are q + 128 times 2^8b, and what 128 d are too much is taken off in the rounding of the product, which
 * has nothing to round. Only of positive finite d: of others the zeros would have another sign, or be none. */
typedef struct q8_scale {
    f32x16 step[4], less;
} q8_scale;

HN_INLINE q8_scale q8_scale_of(f32x16 d)
{
    return (q8_scale){ { d, f_mul(d, f_set1(0x1p-8f)), f_mul(d, f_set1(0x1p-16f)),
                         f_mul(d, f_set1(0x1p-24f)) },
                       f_mul(d, f_set1(-128.0f)) };
}

HN_INLINE bool are_tame(const int groups, const f32x16 *d)
{
    m16 tame = f_lt(f_zero(), d[0]);
    for (int g = 0; g < groups; g++)
        tame = m_and(tame, m_and(f_lt(f_zero(), d[g]), f_lt(d[g], f_set1(HUGE_VALF))));
    return !m_any(m_not(tame));
}

HN_INLINE f32x16 q8_times(i32x16 v, const int b, const q8_scale *s, const bool is_tame)
{
    if (!is_tame)
        return f_mul(top_byte(v, b), s->step[3]);
    const i32x16 flipped = i_xor(v, i_set1(0x808080));
    const f32x16 q = i_to_f(i_and(flipped, i_set1((int32_t)(0xffu << 8 * b))));
    return b == 3 ? f_mul(q, s->step[3]) : f_fma(q, s->step[b], s->less);
}

/* d q - m of nibble n (0 .. 7, a constant) of each lane; scale[n / 2] is d 2^-4n, or d for the
 * last nibble, which alone is shifted down: as the top one it would be negative. d q has 21
 * bits and is exact, so that the fma rounds where the subtraction does. */
HN_INLINE f32x16 nibble_times(i32x16 v, const int n, const f32x16 scale[4], f32x16 less)
{
    const i32x16 q = n == 7 ? i_shr(v, 28) : i_and(v, i_set1(15 << (n == 7 ? 0 : 4 * n)));
    return f_fma(scale[n / 2], i_to_f(q), less);
}

#endif
