/* f32x16.h: the vocabulary that kernel texts are written in: sixteen f32 lanes, whatever holds
 * them (one AVX-512 register, two AVX2, four NEON, an array in `ref`).
 *
 *   f32x16  f_*  floats            m16  m_*  one truth value a lane, from a comparison
 *   i32x16  i_*  32-bit words      h16  h_*  sixteen 16-bit words, storage only
 *   f64x16  d_*  doubles
 *
 * Every word means the same bits at every level: add, sub, mul, div and sqrt are IEEE; f_fma is
 * one rounding and is the only fusion; f_max(a, b) is a > b ? a : b, so a NaN in `b` stays and
 * one in `a` does not; i_* wrap; f_to_i wants a value that fits and rounds half to even. _n
 * loads and stores touch the first n lanes only, 0 <= n <= 16; other lanes load as zero. f_stream stores
 * 64 aligned bytes past the caches where there is a way (hn_streams_end, kernels/kernel.h); f_look gives
 * table[index mod 32] of every lane. */
#ifndef HN_KERNELS_SIMD_F32X16_H
#define HN_KERNELS_SIMD_F32X16_H

#include "base/half.h"

#include <stdbool.h>
#include <stdint.h>

/* Sixteen-element arrays inlined by force take a compiler minutes; `ref` may call. */
#if defined(HN_LEVEL_avx512) || defined(HN_LEVEL_avx2) || defined(HN_LEVEL_neon)
#define HN_INLINE static inline __attribute__((always_inline, unused))
#else
#define HN_INLINE static inline __attribute__((unused))
#endif

/* Loops over what is to be in registers, an array of them otherwise: gcc 12 unrolls no more than two rounds of an inner one by
 * itself, and then all of the loops around it, until nothing has a register. */
#if !defined(HN_LEVEL_avx512) && !defined(HN_LEVEL_avx2) && !defined(HN_LEVEL_neon) /* whose loops nobody inlines */
#define HN_UNROLL
#define HN_KEEP_ROLLED
#define HN_UNROLL_FOUR
#elif defined(__clang__)
#define HN_UNROLL      _Pragma("clang loop unroll(full)")
#define HN_KEEP_ROLLED _Pragma("clang loop unroll(disable)")
#define HN_UNROLL_FOUR _Pragma("clang loop unroll_count(4)")
#else
#define HN_UNROLL      _Pragma("GCC unroll 16") /* as many as the rows of the largest tile */
#define HN_KEEP_ROLLED _Pragma("GCC unroll 1")
#define HN_UNROLL_FOUR _Pragma("GCC unroll 4")
#endif

#if defined(HN_LEVEL_avx512)
#include "kernels/simd/f32x16_avx512.h"
#elif defined(HN_LEVEL_avx2)
#include "kernels/simd/f32x16_avx2.h"
#elif defined(HN_LEVEL_neon)
#include "kernels/simd/f32x16_neon.h"
#else
#include "kernels/simd/f32x16_ref.h"
#endif

/* What every level says in the same words. */

#if !defined(HN_LEVEL_avx512) && !defined(HN_LEVEL_avx2)
HN_INLINE void f_stream(float *p, f32x16 x) { f_store(p, x); }

HN_INLINE f32x16 f_look(const float table[32], i32x16 index)
{
    int32_t at[16];
    float found[16];
    i_store(at, index);
    for (int l = 0; l < 16; l++)
        found[l] = table[at[l] & 31];
    return f_load(found);
}
#endif

/* 2^n for a whole -126 <= n <= 127; any bits for a NaN. */
HN_INLINE f32x16 f_power_of_two(f32x16 n)
{
    /* n + 127 in the low bits of the sum, which the shift moves to the exponent's place. */
    return i_float(i_shl(f_bits(f_add(n, f_set1(0x1.8p23f + 127.0f))), 23));
}

HN_INLINE f32x16 f_abs(f32x16 x) { return i_float(i_and(f_bits(x), i_set1(0x7fffffff))); }

#if !defined(HN_LEVEL_avx512)
/* f_sum and f_largest of sixteen vectors, in a lane each. */
HN_INLINE f32x16 f_sums(const f32x16 x[16])
{
    float sums[16];
    for (int i = 0; i < 16; i++)
        sums[i] = f_sum(x[i]);
    return f_load(sums);
}
HN_INLINE f32x16 f_largests(const f32x16 x[16])
{
    float largest[16];
    for (int i = 0; i < 16; i++)
        largest[i] = f_largest(x[i]);
    return f_load(largest);
}

/* Which of sixteen bytes are not zero. */
HN_INLINE m16 m_load_bytes_n(const uint8_t *p, int64_t n)
{
    int32_t word[16] = { 0 };
    for (int64_t l = 0; l < n; l++)
        word[l] = p[l];
    return i_gt(i_load(word), i_set1(0));
}
HN_INLINE m16 m_load_bytes(const uint8_t *p) { return m_load_bytes_n(p, 16); }

HN_INLINE f32x16 f_fma_by(f32x16 a, const float *x, f32x16 c) { return f_fma(a, f_set1(*x), c); }

/* x 2^n for a whole n, rounded once, for 1/2 <= |x| <= 2 and -160 <= n <= 128. */
HN_INLINE f32x16 f_scale(f32x16 x, f32x16 n)
{
    /* Between normal numbers it is an addition to the exponent. */
    if (!m_any(m_not(f_le(f_abs(n), f_set1(125.0f)))))
        return i_float(i_add(f_bits(x), i_shl(f_to_i(n), 23)));
    const f32x16 shifter = f_set1(0x1.8p23f);
    const f32x16 half = f_sub(f_fma(n, f_set1(0.5f), shifter), shifter);
    return f_mul(f_mul(x, f_power_of_two(half)), f_power_of_two(f_sub(n, half)));
}
#endif

HN_INLINE f32x16 f_zero(void) { return f_set1(0.0f); }

HN_INLINE f32x16 f_neg(f32x16 x)
{
    return i_float(i_xor(f_bits(x), i_set1((int32_t)0x80000000u)));
}

HN_INLINE f32x16 f_copysign(f32x16 magnitude, f32x16 sign)
{
    const i32x16 bit = i_set1((int32_t)0x80000000u);
    return i_float(i_or(f_bits(f_abs(magnitude)), i_and(f_bits(sign), bit)));
}

/* a * b + c with constants, as polynomials are written. */
HN_INLINE f32x16 f_fma1(f32x16 a, f32x16 b, float c) { return f_fma(a, b, f_set1(c)); }

/* even[0], odd[0], even[1], ... to 32 floats. */
HN_INLINE void f_store_pairs(float *p, f32x16 even, f32x16 odd)
{
    f32x16 low, high;
    f_interleave(even, odd, &low, &high);
    f_store(p, low);
    f_store(p + 16, high);
}

/* bf16: widening is exact; narrowing rounds to nearest even and keeps a NaN quiet. */
HN_INLINE f32x16 f_from_bf16(h16 h) { return i_float(i_shl(h_widen(h), 16)); }

/* The nearest bf16, as f32: what f_to_bf16 takes the upper half of. */
HN_INLINE f32x16 f_round_bf16(f32x16 x)
{
    const i32x16 bits = f_bits(x), upper = i_set1((int32_t)0xffff0000u);
    const i32x16 odd = i_and(i_shr(bits, 16), i_set1(1));
    const i32x16 rounded = i_add(bits, i_add(odd, i_set1(0x7fff)));
    const i32x16 quiet = i_or(bits, i_set1(0x400000));
    return i_float(i_and(i_select(f_eq(x, x), rounded, quiet), upper));
}
HN_INLINE h16 f_to_bf16(f32x16 x) { return h_narrow(i_shr(f_bits(f_round_bf16(x)), 16)); }

#endif
