/* philox.h: the random words of base/rng.h, a hundred and twenty-eight at a time. A counter's
 * words stay in the even lanes, where a product leaves the next one: its low half in place, its
 * high half a shift away. What gathers in the odd lanes is never read. */
#ifndef HN_KERNELS_SIMD_PHILOX_H
#define HN_KERNELS_SIMD_PHILOX_H

#include "base/rng.h"
#include "kernels/simd/f32x16.h"

typedef struct philox {
    i32x16 c0, c1, c2, c3;
} philox;

/* Eight counters from `counter`, in the order that philox_store wants. */
HN_INLINE philox philox_start(uint64_t counter)
{
    static const int32_t lane[16] = { 0, 0, 4, 4, 1, 1, 5, 5, 2, 2, 6, 6, 3, 3, 7, 7 };
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
    const i32x16 a = i_mul_even(p.c0, 0xd2511f53u), b = i_mul_even(p.c2, 0xcd9e8d57u);
    return (philox){ i_xor(i_xor(i_odd(b), p.c1), k0), b, i_xor(i_xor(i_odd(a), p.c3), k1), a };
}

HN_INLINE void philox_store(philox p, f32x16 out[2])
{
    const i32x16 first = i_pick_even(p.c0, p.c1), last = i_pick_even(p.c2, p.c3);
    out[0] = i_float(i_pick_even(first, last));
    out[1] = i_float(i_pick_odd(first, last));
}

/* Element e of out, 0 <= e < 128, is hn_rng_mass_u32(key, 4 * counter + e), as bits of a float. Four
 * chains of rounds, because one waits for its products most of the time; the round's keys are
 * counted in registers, where they are needed. */
HN_INLINE void philox128(hn_rng_key key, uint64_t counter, f32x16 out[8])
{
    enum { CHAINS = 4 };
    const i32x16 step0 = i_set1((int32_t)0x9e3779b9u), step1 = i_set1((int32_t)0xbb67ae85u);
    i32x16 k0 = i_set1((int32_t)key.word[0]), k1 = i_set1((int32_t)key.word[1]);
    philox p[CHAINS];
    for (int c = 0; c < CHAINS; c++)
        p[c] = philox_start(counter + 8 * (uint64_t)c);
    _Pragma("GCC unroll 7") for (int round = 0; round < HN_RNG_MASS_ROUNDS; round++)
    {
        _Pragma("GCC unroll 4") for (int c = 0; c < CHAINS; c++) p[c] = philox_round(p[c], k0, k1);
        k0 = i_add(k0, step0);
        k1 = i_add(k1, step1);
    }
    for (int c = 0; c < CHAINS; c++)
        philox_store(p[c], out + 2 * c);
}

/* Element e is hn_rng_mass_u32(key, first + e). Twice the work where 4 does not divide `first`. */
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
