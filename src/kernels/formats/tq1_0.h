/* tq1_0.h: decoders of TQ1_0 (src/quant/tq1_0.c): digits to the base of three from bytes 0, 32 and 48 on, the scale at 52. */
#ifndef HN_KERNELS_FORMATS_TQ1_0_H
#define HN_KERNELS_FORMATS_TQ1_0_H

#include "kernels/decode/panel.h"
#include "kernels/int8/stretches.h"

/* `each` digits of `run` bytes, the first digits of all before the second. */
HN_INLINE float *trits(const uint8_t *q, int run, int each, float d, float *y)
{
    for (int t = 0, power = 1; t < each; t++, power *= 3, y += run)
        for (int m = 0; m < run; m++)
            y[m] = d * (float)((((q[m] * power) & 255) * 3 >> 8) - 1);
    return y;
}

static inline void row_tq1_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 54) {
        const float d = half_at(block + 52);
        y = trits(block, 32, 5, d, y);
        y = trits(block + 32, 16, 5, d, y);
        y = trits(block + 48, 4, 4, d, y);
    }
}

/* `each` digits of `run` bytes of sixteen rows. */
HN_INLINE void panel_trits(const uint8_t *q, int run, int each, f32x16 d, float *y, int64_t ld)
{
    for (int m = 0; m < run; m++) {
        i32x16 rest = bytes_u8(q + 16 * m);
        for (int t = 0; t < each; t++) {
            const i32x16 thrice = i_add(rest, i_add(rest, rest));
            f_store(y + (t * run + m) * ld,
                    f_mul(d, i_to_f(i_sub(i_shr(thrice, 8), i_set1(1)))));
            rest = i_and(thrice, i_set1(255));
        }
    }
}

static inline void panel_tq1_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 54) {
        const f32x16 d = halves_f16(block + 16 * 52);
        panel_trits(block, 32, 5, d, y + p * ld, ld);
        panel_trits(block + 16 * 32, 16, 5, d, y + (p + 160) * ld, ld);
        panel_trits(block + 16 * 48, 4, 4, d, y + (p + 240) * ld, ld);
    }
}

/* Digit t of four bytes to the base of three, from above: ((q 3^t mod 256) 3) >> 8 of each. `power` is 3^t. */
HN_INLINE i32x16 trits_of(i32x16 v, i32x16 power)
{
    const i32x16 bytes = i_set1(0x00ff00ff), by = power, three = i_set1(3);
    const i32x16 even = i_shr(i_mul(i_and(i_mul(i_and(v, bytes), by), bytes), three), 8);
    const i32x16 odd = i_mul(i_and(i_mul(i_and(i_shr(v, 8), bytes), by), bytes), three);
    return i_or(i_and(even, i_set1(0x00030003)), i_and(odd, i_set1(0x03000300)));
}

HN_INLINE void unpack_tq1_0(sixteen b, int g, int32_t *to)
{
    static const int32_t power[5] = { 1, 3, 9, 27, 81 };
    for (int i = 0; i < 8; i++) {
        const int at = 32 * g + 4 * i; /* the word's first element */
        const int run = at < 160 ? 32 : at < 240 ? 16 : 4, from = at < 160 ? 0 : at < 240 ? 160 : 240;
        const int bytes = at < 160 ? 0 : at < 240 ? 32 : 48;
        put_word(to, i, trits_of(bytes_at(b, bytes + (at - from) % run), i_set1(power[(at - from) / run])));
    }
    put_scale(to, 0, f16_at(b, 52));
}

/* Blocks 0 to 4 are digits of the first 32 bytes, the others of the next sixteen, and the last sixteen elements of the last four. */
HN_INLINE i32x16 two_tq1_0(const uint8_t *p, const uint8_t *q, const int g)
{
    (void)q;
    static const int32_t but_last[16] = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0 };
    const i32x16 other = i_load(but_last);
    switch (g) {
    case 0: return trits_of(twice_32(p), i_load(BY_BLOCK(1, 3)));
    case 2: return trits_of(twice_32(p), i_load(BY_BLOCK(9, 27)));
    case 4: return trits_of(a_32_and_twice_16(p, p + 32), i_load(BY_SIXTEEN(81, 81, 1, 3)));
    default:
        return trits_of(i_or(i_and(two_twice_16(p + 32, p + 32), other), i_and(word_of_each(p + 48, p + 48), i_xor(other, i_set1(-1)))),
                        i_load(((const int32_t[16]){ 9, 9, 9, 9, 27, 27, 27, 27, 81, 81, 81, 81, 1, 3, 9, 27 })));
    }
}

HN_INLINE void of_tq1_0(const uint8_t *row, stretch *s) { s->scale = f16_of_blocks(row + 52, 54, 8); }

#endif
