/* unpack.h: a block of 32 of sixteen rows, wherever they lie (sixteen.h), into the words of int8.h. `g` is which block of 32
 * of the format's block it is; bytes are counted as the format's file in src/quant has them. A word holds elements 4 i to
 * 4 i + 3 of a row, the first one lowest. */
#ifndef HN_KERNELS_INT8_UNPACK_H
#define HN_KERNELS_INT8_UNPACK_H

#include "kernels/int8/int8.h"
#include "kernels/int8/sixteen.h"

enum { SCALES = 8 }; /* behind the eight times sixteen words of elements */

HN_INLINE void put_word(int32_t *to, int i, i32x16 v) { i_store(to + 16 * i, v); }
HN_INLINE void put_scale(int32_t *to, int i, f32x16 v) { i_store(to + 16 * (SCALES + i), f_bits(v)); }

HN_INLINE i32x16 low_nibbles(i32x16 v) { return i_and(v, i_set1(0x0f0f0f0f)); }
HN_INLINE i32x16 high_nibbles(i32x16 v) { return low_nibbles(i_shr(v, 4)); }
HN_INLINE i32x16 pairs_of_bits(i32x16 v, int at) { return i_and(i_shr(v, 2 * at), i_set1(0x03030303)); }
HN_INLINE i32x16 single_bits(i32x16 v, int at) { return i_and(i_shr(v, at), i_set1(0x01010101)); }

/* Bits 4 i to 4 i + 3, a byte each. */
HN_INLINE i32x16 spread_bits(i32x16 bits, int i)
{
    const i32x16 four = i_and(i_shr(bits, 4 * i), i_set1(15));
    return i_and(i_mul(four, i_set1(0x00204081)), i_set1(0x01010101));
}

/* Bytes of a table of sixteen, for words of indices. */
#if defined(HN_LEVEL_avx512)
HN_INLINE i32x16 look_bytes(const uint8_t table[16], i32x16 at)
{
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const void *)table)), at);
}
#elif defined(HN_LEVEL_avx2)
HN_INLINE i32x16 look_bytes(const uint8_t table[16], i32x16 at)
{
    const __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)table));
    return (i32x16){ _mm256_shuffle_epi8(both, at.a), _mm256_shuffle_epi8(both, at.b) };
}
#else
HN_INLINE i32x16 look_bytes(const uint8_t table[16], i32x16 at)
{
    int32_t word[16];
    i_store(word, at);
    for (int l = 0; l < 16; l++) {
        uint32_t found = 0, of = (uint32_t)word[l];
        for (int c = 0; c < 4; c++)
            found |= (uint32_t)table[of >> 8 * c & 15] << 8 * c;
        word[l] = (int32_t)found;
    }
    return i_load(word);
}
#endif

/* ---- blocks of 32 ---- */

HN_INLINE void unpack_q8_0(sixteen b, int g, int32_t *to)
{
    (void)g;
    for (int i = 0; i < 8; i++)
        put_word(to, i, i_xor(word_at(b, 2 + 4 * i), i_set1((int32_t)0x80808080u)));
    put_scale(to, 0, f16_at(b, 0));
}

/* Sixteen bytes from `byte` on, of elements j and j + 16 each. */
HN_INLINE void two_nibbles(sixteen b, int byte, int32_t *to)
{
    for (int i = 0; i < 4; i++) {
        const i32x16 both = bytes_at(b, byte + 4 * i);
        put_word(to, i, low_nibbles(both));
        put_word(to, i + 4, high_nibbles(both));
    }
}

HN_INLINE void unpack_q4_0(sixteen b, int g, int32_t *to)
{
    (void)g;
    two_nibbles(b, 2, to);
    put_scale(to, 0, f16_at(b, 0));
}

HN_INLINE void unpack_q4_1(sixteen b, int g, int32_t *to)
{
    (void)g;
    two_nibbles(b, 4, to);
    put_scale(to, 0, f16_at(b, 0));
    put_scale(to, 1, f16_at(b, 2));
}

/* A word's four nibbles with the fifth bits of elements 4 i and on. */
HN_INLINE void put_five(int32_t *to, int i, i32x16 nibbles, i32x16 fifth)
{
    put_word(to, i, i_or(nibbles, i_shl(spread_bits(fifth, i), 4)));
}

HN_INLINE void unpack_q5_0(sixteen b, int g, int32_t *to)
{
    (void)g;
    const i32x16 fifth = word_at(b, 2);
    for (int i = 0; i < 4; i++) {
        const i32x16 both = word_at(b, 6 + 4 * i);
        put_five(to, i, low_nibbles(both), fifth);
        put_five(to, i + 4, high_nibbles(both), fifth);
    }
    put_scale(to, 0, f16_at(b, 0));
}

HN_INLINE void unpack_q5_1(sixteen b, int g, int32_t *to)
{
    (void)g;
    const i32x16 fifth = bytes_at(b, 4);
    for (int i = 0; i < 4; i++) {
        const i32x16 both = bytes_at(b, 8 + 4 * i);
        put_five(to, i, low_nibbles(both), fifth);
        put_five(to, i + 4, high_nibbles(both), fifth);
    }
    put_scale(to, 0, f16_at(b, 0));
    put_scale(to, 1, f16_at(b, 2));
}

/* Sixteen points of a table, less their smallest. */
HN_INLINE void two_points(const uint8_t table[16], sixteen b, int byte, int32_t *to)
{
    two_nibbles(b, byte, to);
    for (int i = 0; i < 8; i++)
        put_word(to, i, look_bytes(table, i_load(to + 16 * i)));
}

enum { IQ4_OFFSET = 128, FP4_OFFSET = 12 };
static const uint8_t iq4_bytes[16] = { 1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241 };
static const uint8_t fp4_bytes[16] = { 12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0 };

HN_INLINE void unpack_iq4_nl(sixteen b, int g, int32_t *to)
{
    (void)g;
    two_points(iq4_bytes, b, 2, to);
    put_scale(to, 0, f16_at(b, 0));
}

/* As e8m0_half: 2^(e - 128). */
HN_INLINE f32x16 e8m0_halves(i32x16 e)
{
    const i32x16 small = i_select(i_eq(e, i_set1(0)), i_set1(0x00200000), i_set1(0x00400000));
    return i_float(i_select(i_gt(i_set1(2), e), small, i_shl(i_sub(e, i_set1(1)), 23)));
}

HN_INLINE void unpack_mxfp4(sixteen b, int g, int32_t *to)
{
    (void)g;
    two_points(fp4_bytes, b, 1, to);
    put_scale(to, 0, e8m0_halves(u8_at(b, 0)));
}

/* ---- of 64 ---- */

/* As ue4m3_half: 2^(e - 8) (1 + m / 8), or m 2^-10. */
HN_INLINE f32x16 e4m3_halves(i32x16 code)
{
    const i32x16 e = i_and(i_shr(code, 3), i_set1(15)), m = i_and(code, i_set1(7));
    const f32x16 normal = i_float(i_or(i_shl(i_add(e, i_set1(119)), 23), i_shl(m, 20)));
    const f32x16 value = f_select(i_eq(e, i_set1(0)), f_mul(i_to_f(m), f_set1(0x1p-10f)), normal);
    return f_select(i_eq(code, i_set1(0x7f)), f_zero(), value);
}

HN_INLINE void unpack_nvfp4(sixteen b, int g, int32_t *to)
{
    for (int half = 0; half < 2; half++) {
        const int run = 2 * g + half;
        put_scale(to, half, e4m3_halves(u8_at(b, run)));
        for (int i = 0; i < 2; i++) { /* eight elements in low nibbles, then eight in high ones */
            const i32x16 both = bytes_at(b, 4 + 8 * run + 4 * i);
            put_word(to, 4 * half + i, look_bytes(fp4_bytes, low_nibbles(both)));
            put_word(to, 4 * half + 2 + i, look_bytes(fp4_bytes, high_nibbles(both)));
        }
    }
}

/* Four pairs of bits of a byte, as bytes. */
HN_INLINE i32x16 four_pairs(i32x16 byte)
{
    const i32x16 apart = i_or(i_or(byte, i_shl(byte, 6)), i_or(i_shl(byte, 12), i_shl(byte, 18)));
    return pairs_of_bits(apart, 0);
}

HN_INLINE void unpack_q2_0(sixteen b, int g, int32_t *to)
{
    for (int i = 0; i < 8; i++)
        put_word(to, i, four_pairs(u8_at(b, 2 + 8 * g + i)));
    put_scale(to, 0, f16_at(b, 0));
}

/* ---- of 128 and 256 ---- */

HN_INLINE void unpack_q1_0(sixteen b, int g, int32_t *to)
{
    const i32x16 bits = bytes_at(b, 2 + 4 * g);
    for (int i = 0; i < 8; i++) /* a set bit is +1, the others are -1 */
        put_word(to, i, i_shl(spread_bits(bits, i), 1));
    put_scale(to, 0, f16_at(b, 0));
}

/* In words of four bytes. */
HN_INLINE void unpack_q4_k(sixteen b, int g, int32_t *to)
{
    i32x16 scale, less;
    const i32x16 both = word_at(b, 0);
    k_scales_of_words(b.at + 64, g, &scale, &less);
    if (g % 2)
        for (int i = 0; i < 8; i++)
            put_word(to, i, high_nibbles(word_at(b, 16 + 16 * (g - 1) + 4 * i)));
    else
        for (int i = 0; i < 8; i++)
            put_word(to, i, low_nibbles(word_at(b, 16 + 16 * g + 4 * i)));
    put_scale(to, 0, f_mul(low_f16(both), i_to_f(scale)));
    put_scale(to, 1, f_neg(f_mul(high_f16(both), i_to_f(less))));
}

HN_INLINE void unpack_q5_k(sixteen b, int g, int32_t *to)
{
    f32x16 scale, less;
    k_scales_at(b, g, &scale, &less);
    for (int i = 0; i < 8; i++) {
        const i32x16 both = bytes_at(b, 48 + g / 2 * 32 + 4 * i);
        const i32x16 fifth = single_bits(bytes_at(b, 16 + 4 * i), g);
        put_word(to, i, i_or(g % 2 ? high_nibbles(both) : low_nibbles(both), i_shl(fifth, 4)));
    }
    put_scale(to, 0, scale);
    put_scale(to, 1, f_neg(less));
}

HN_INLINE void unpack_q6_k(sixteen b, int g, int32_t *to)
{
    const int h = g / 4, quarter = g % 4;
    for (int i = 0; i < 8; i++) {
        const i32x16 both = bytes_at(b, 64 * h + quarter % 2 * 32 + 4 * i);
        const i32x16 top = pairs_of_bits(bytes_at(b, 128 + 32 * h + 4 * i), quarter);
        put_word(to, i, i_or(quarter < 2 ? low_nibbles(both) : high_nibbles(both), i_shl(top, 4)));
    }
    put_scale(to, 0, f16_at(b, 208));
    for (int half = 0; half < 2; half++)
        put_scale(to, 1 + half, i_to_f(s8_at(b, 192 + 2 * g + half)));
}

/* Scale number `at` (0 to 15) of Q3_K. */
HN_INLINE i32x16 q3_scale(sixteen b, int at)
{
    const i32x16 low = u8_at(b, 96 + at % 8), high = u8_at(b, 104 + at % 4);
    const i32x16 four = at < 8 ? i_and(low, i_set1(15)) : i_shr(low, 4);
    return i_sub(i_or(four, i_shl(two_bits(high, at / 4), 4)), i_set1(32));
}

HN_INLINE void unpack_q3_k(sixteen b, int g, int32_t *to)
{
    for (int i = 0; i < 8; i++) {
        const i32x16 two = pairs_of_bits(bytes_at(b, 32 + g / 4 * 32 + 4 * i), g % 4);
        const i32x16 third = single_bits(bytes_at(b, 4 * i), g);
        put_word(to, i, i_or(two, i_shl(third, 2)));
    }
    put_scale(to, 0, f16_at(b, 108));
    for (int half = 0; half < 2; half++)
        put_scale(to, 1 + half, i_to_f(q3_scale(b, 2 * g + half)));
}

HN_INLINE void unpack_q2_k(sixteen b, int g, int32_t *to)
{
    for (int i = 0; i < 8; i++)
        put_word(to, i, pairs_of_bits(bytes_at(b, 16 + g / 4 * 32 + 4 * i), g % 4));
    put_scale(to, 0, f16_at(b, 80));
    put_scale(to, 1, f_neg(f16_at(b, 82)));
    for (int half = 0; half < 2; half++) {
        const i32x16 packed = u8_at(b, 2 * g + half);
        put_scale(to, 2 + half, i_to_f(i_and(packed, i_set1(15))));
        put_scale(to, 4 + half, i_to_f(i_shr(packed, 4)));
    }
}

HN_INLINE void unpack_iq4_xs(sixteen b, int g, int32_t *to)
{
    const i32x16 low = u8_at(b, 4 + g / 2), high = u8_at(b, 2 + g / 4);
    const i32x16 four = g % 2 ? i_shr(low, 4) : i_and(low, i_set1(15));
    const i32x16 six = i_or(four, i_shl(two_bits(high, g % 4), 4));
    two_points(iq4_bytes, b, 8 + 16 * g, to);
    put_scale(to, 0, f_mul(f16_at(b, 0), i_to_f(i_sub(six, i_set1(32)))));
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

HN_INLINE void unpack_tq2_0(sixteen b, int g, int32_t *to)
{
    for (int i = 0; i < 8; i++)
        put_word(to, i, pairs_of_bits(bytes_at(b, g / 4 * 32 + 4 * i), g % 4));
    put_scale(to, 0, f16_at(b, 64));
}

#endif
