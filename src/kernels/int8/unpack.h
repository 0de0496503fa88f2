/* unpack.h: what a block of 32 of sixteen rows, wherever they lie (sixteen.h), is brought into the words of int8.h with. A word
 * holds elements 4 i to 4 i + 3 of a row, the first one lowest. Of each format kernels/formats/NAME.h has
 *
 *   unpack_NAME(b, g, to)     block of 32 number g of the format's block
 *
 * Bytes are counted as the format's file in src/quant has them. */
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

/* Sixteen bytes from `byte` on, of elements j and j + 16 each. */
HN_INLINE void two_nibbles(sixteen b, int byte, int32_t *to)
{
    for (int i = 0; i < 4; i++) {
        const i32x16 both = bytes_at(b, byte + 4 * i);
        put_word(to, i, low_nibbles(both));
        put_word(to, i + 4, high_nibbles(both));
    }
}

/* A word's four nibbles with the fifth bits of elements 4 i and on. */
HN_INLINE void put_five(int32_t *to, int i, i32x16 nibbles, i32x16 fifth)
{
    put_word(to, i, i_or(nibbles, i_shl(spread_bits(fifth, i), 4)));
}

/* Sixteen points of a table, less their smallest. */
HN_INLINE void two_points(const uint8_t table[16], sixteen b, int byte, int32_t *to)
{
    two_nibbles(b, byte, to);
    for (int i = 0; i < 8; i++)
        put_word(to, i, look_bytes(table, i_load(to + 16 * i)));
}

/* Points with the offset of types.def, by which none is below zero. */
static const uint8_t iq4_bytes[16] = { 1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241 };
static const uint8_t fp4_bytes[16] = { 12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0 };

#endif
