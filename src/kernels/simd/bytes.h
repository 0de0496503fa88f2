/* bytes.h: words of four bytes each. */
#ifndef HN_KERNELS_SIMD_BYTES_H
#define HN_KERNELS_SIMD_BYTES_H

#include "kernels/simd/f32x16.h"

/* Bytes q + offset as bytes q, with a sign. */
HN_INLINE i32x16 signed_bytes(i32x16 u, int offset)
{
#if defined(HN_LEVEL_avx512)
    return _mm512_sub_epi8(u, _mm512_set1_epi8((char)offset));
#elif defined(HN_LEVEL_avx2)
    const __m256i less = _mm256_set1_epi8((char)offset);
    return (i32x16){ _mm256_sub_epi8(u.a, less), _mm256_sub_epi8(u.b, less) };
#else /* nothing is borrowed from the next byte: of the upper bits, which go by themselves */
    const i32x16 top = i_set1((int32_t)0x80808080u), less = i_set1((int32_t)(0x01010101u * (uint32_t)offset));
    const i32x16 low = i_sub(i_or(u, top), i_and(less, i_set1(0x7f7f7f7f)));
    return i_xor(low, i_and(i_xor(i_xor(u, top), less), top));
#endif
}

#endif
