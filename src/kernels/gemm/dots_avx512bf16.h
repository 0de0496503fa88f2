/* dots_avx512bf16.h: the instruction, blocks by it, and what is known of the elements that went by it (dots.h). */
#ifndef HN_KERNELS_GEMM_DOTS_AVX512BF16_H
#define HN_KERNELS_GEMM_DOTS_AVX512BF16_H

#define HN_LANES        avx512 /* whose vocabulary this is written in */
#define HN_LEVEL_avx512 1
#include "kernels/gemm/gemm.h"

#include <immintrin.h>

#define HN_GEMM_STEP(a, b, acc) _mm512_dpbf16_ps(acc, (__m512bh)(a), (__m512bh)(b))
#define HN_GEMM_HELD            2
#include "kernels/gemm/blocks.h"

typedef struct seen {
    i32x16 low_bits; /* of words of f32; the low half counts */
    i32x16 least;    /* of halves: twice the magnitude less one, in which zero is the largest */
} seen;

static inline seen nothing_seen(void) { return (seen){ i_set1(0), i_set1(-1) }; }

static inline i32x16 see(seen *s, i32x16 pairs)
{
    const __m512i twice = _mm512_add_epi16(pairs, pairs);
    s->least = _mm512_min_epu16(s->least, _mm512_sub_epi16(twice, _mm512_set1_epi16(1)));
    return pairs;
}

static int lowest_seen(const seen *s)
{
    if (_mm512_reduce_or_epi32(s->low_bits) & 0xffff)
        return HN_GEMM_NO_DOTS;
    const i32x16 halves = _mm512_min_epu32(i_and(s->least, i_set1(0xffff)), i_shr(s->least, 16));
    const int exponent = (int)((_mm512_reduce_min_epu32(halves) + 1) >> 8);
    return exponent ? exponent : HN_GEMM_NO_DOTS;
}

static inline i32x16 lane_times(int32_t factor, int32_t plus)
{
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return i_add(i_mul(lane, i_set1(factor)), i_set1(plus));
}

#endif
