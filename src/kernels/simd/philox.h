/* philox.h: the random words of base/rng.h, sixty-four at a time. Lanes hold sixteen counters,
 * each of which gives four consecutive elements. */
#ifndef HN_KERNELS_SIMD_PHILOX_H
#define HN_KERNELS_SIMD_PHILOX_H

#include "base/rng.h"
#include "kernels/simd/f32x16.h"

/* out[e] = hn_rng_u32(key, 4 * counter + e), 0 <= e < 64. */
static inline void philox64(hn_rng_key key, uint64_t counter, uint32_t out[64])
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
    const i32x16 m0 = i_set1((int32_t)0xd2511f53u), m1 = i_set1((int32_t)0xcd9e8d57u);
    for (int round = 0; round < 10; round++) {
        const i32x16 a_high = i_mulhi_u(c0, m0), a_low = i_mul(c0, m0);
        const i32x16 b_high = i_mulhi_u(c2, m1), b_low = i_mul(c2, m1);
        c0 = i_xor(i_xor(b_high, c1), i_set1((int32_t)k0));
        c2 = i_xor(i_xor(a_high, c3), i_set1((int32_t)k1));
        c1 = b_low;
        c3 = a_low;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    int32_t word[4][16];
    i_store(word[0], c0);
    i_store(word[1], c1);
    i_store(word[2], c2);
    i_store(word[3], c3);
    for (int c = 0; c < 16; c++)
        for (int w = 0; w < 4; w++)
            out[4 * c + w] = (uint32_t)word[w][c];
}

#endif
