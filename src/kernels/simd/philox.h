/* philox.h: the random words of base/rng.h, a hundred and twenty-eight at a time. Lanes hold
 * sixteen counters, each of which gives four consecutive elements. */
#ifndef HN_KERNELS_SIMD_PHILOX_H
#define HN_KERNELS_SIMD_PHILOX_H

#include "base/rng.h"
#include "kernels/simd/f32x16.h"

typedef struct philox {
    i32x16 c0, c1, c2, c3;
} philox;

/* Sixteen counters from `counter`. */
HN_INLINE philox philox_start(uint64_t counter)
{
    static const int32_t lane[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    const uint32_t low = (uint32_t)counter, high = (uint32_t)(counter >> 32);
    const i32x16 sign = i_set1((int32_t)0x80000000u), first = i_set1((int32_t)low);
    const i32x16 c0 = i_add(first, i_load(lane));
    /* A lane whose low word wrapped is below the first one, unsigned. */
    const m16 wrapped = i_gt(i_xor(first, sign), i_xor(c0, sign));
    const i32x16 c1 = i_select(wrapped, i_set1((int32_t)(high + 1)), i_set1((int32_t)high));
    return (philox){ c0, c1, i_set1(0), i_set1(0) };
}

HN_INLINE philox philox_round(philox p, i32x16 k0, i32x16 k1)
{
    i32x16 a_high, a_low, b_high, b_low;
    i_mul_wide(p.c0, 0xd2511f53u, &a_high, &a_low);
    i_mul_wide(p.c2, 0xcd9e8d57u, &b_high, &b_low);
    return (philox){ i_xor(i_xor(b_high, p.c1), k0), b_low, i_xor(i_xor(a_high, p.c3), k1),
                     a_low };
}

/* Interleaved twice, words 0 2 and 1 3 first, so that a counter's words lie in order. */
HN_INLINE void philox_store(philox p, f32x16 out[4])
{
    f32x16 even[2], odd[2];
    f_interleave(i_float(p.c0), i_float(p.c2), &even[0], &even[1]);
    f_interleave(i_float(p.c1), i_float(p.c3), &odd[0], &odd[1]);
    f_interleave(even[0], odd[0], &out[0], &out[1]);
    f_interleave(even[1], odd[1], &out[2], &out[3]);
}

/* Element e of out, 0 <= e < 128, is hn_rng_u32(key, 4 * counter + e), as bits of a float. Two
 * chains of rounds, because one waits for its products most of the time. */
HN_INLINE void philox128(hn_rng_key key, uint64_t counter, f32x16 out[8])
{
    philox a = philox_start(counter), b = philox_start(counter + 16);
    uint32_t k0 = key.word[0], k1 = key.word[1];
    for (int round = 0; round < 10; round++) {
        const i32x16 x = i_set1((int32_t)k0), y = i_set1((int32_t)k1);
        a = philox_round(a, x, y);
        b = philox_round(b, x, y);
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    philox_store(a, out);
    philox_store(b, out + 4);
}

/* Element e is hn_rng_u32(key, first + e). Twice the work where 4 does not divide `first`. */
HN_INLINE void words128(hn_rng_key key, uint64_t first, f32x16 out[8])
{
    const uint64_t skip = first & 3;
    philox128(key, first >> 2, out);
    if (!skip)
        return;
    f32x16 next[8];
    float lane[144];
    philox128(key, (first >> 2) + 32, next);
    for (int q = 0; q < 8; q++)
        f_store(lane + 16 * q, out[q]);
    f_store(lane + 128, next[0]);
    for (int q = 0; q < 8; q++)
        out[q] = f_load(lane + 16 * q + skip);
}

#endif
