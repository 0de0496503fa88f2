/* philox.h: the random words of base/rng.h, sixty-four at a time. Lanes hold sixteen counters,
 * each of which gives four consecutive elements. */
#ifndef HN_KERNELS_SIMD_PHILOX_H
#define HN_KERNELS_SIMD_PHILOX_H

#include "base/rng.h"
#include "kernels/simd/f32x16.h"

/* Element e of out, 0 <= e < 64, is hn_rng_u32(key, 4 * counter + e), as bits of a float. */
HN_INLINE void philox64(hn_rng_key key, uint64_t counter, f32x16 out[4])
{
    static const int32_t lane[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    const uint32_t low = (uint32_t)counter, high = (uint32_t)(counter >> 32);
    const i32x16 sign = i_set1((int32_t)0x80000000u), first = i_set1((int32_t)low);
    i32x16 c0 = i_add(first, i_load(lane));
    /* A lane whose low word wrapped is below the first one, unsigned. */
    const m16 wrapped = i_gt(i_xor(first, sign), i_xor(c0, sign));
    i32x16 c1 = i_select(wrapped, i_set1((int32_t)(high + 1)), i_set1((int32_t)high));
    i32x16 c2 = i_set1(0), c3 = i_set1(0);
    uint32_t k0 = key.word[0], k1 = key.word[1];
    for (int round = 0; round < 10; round++) {
        i32x16 a_high, a_low, b_high, b_low;
        i_mul_wide(c0, 0xd2511f53u, &a_high, &a_low);
        i_mul_wide(c2, 0xcd9e8d57u, &b_high, &b_low);
        c0 = i_xor(i_xor(b_high, c1), i_set1((int32_t)k0));
        c2 = i_xor(i_xor(a_high, c3), i_set1((int32_t)k1));
        c1 = b_low;
        c3 = a_low;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    /* Interleaved twice, words 0 2 and 1 3 first, so that a counter's words lie in order. */
    f32x16 even[2], odd[2];
    f_interleave(i_float(c0), i_float(c2), &even[0], &even[1]);
    f_interleave(i_float(c1), i_float(c3), &odd[0], &odd[1]);
    f_interleave(even[0], odd[0], &out[0], &out[1]);
    f_interleave(even[1], odd[1], &out[2], &out[3]);
}

/* Element e is hn_rng_u32(key, first + e). Twice the work where 4 does not divide `first`. */
HN_INLINE void words64(hn_rng_key key, uint64_t first, f32x16 out[4])
{
    const uint64_t skip = first & 3;
    philox64(key, first >> 2, out);
    if (!skip)
        return;
    f32x16 next[4];
    float lane[80];
    philox64(key, (first >> 2) + 16, next);
    for (int q = 0; q < 4; q++)
        f_store(lane + 16 * q, out[q]);
    f_store(lane + 64, next[0]);
    for (int q = 0; q < 4; q++)
        out[q] = f_load(lane + 16 * q + skip);
}

#endif
