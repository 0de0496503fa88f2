/* sixteen.h: where a block of sixteen rows lies: in a panel, whose units stand side by side, or in plain rows that were turned,
 * four bytes of each row at a time, without a look at what they mean:
 *
 *     rows     | d d q q | q q q q | ..        word 0 of sixteen rows | word 1 of sixteen rows | ..
 *
 * There a block begins where the one before it ended, in the middle of a word if need be: `phase` bytes into the word at `at`.
 * It is a constant at every use, so that what a format asks for is a load, two joined, or a shift. */
#ifndef HN_KERNELS_INT8_SIXTEEN_H
#define HN_KERNELS_INT8_SIXTEEN_H

#include "kernels/decode/lanes.h"
#include "kernels/gemm/transpose.h"

enum { IN_PANEL = -1 };

typedef struct sixteen {
    const uint8_t *at;
    int phase; /* 0 to 3, or IN_PANEL */
} sixteen;

/* Four bytes that lie 16 apart, of sixteen rows, as words: the four words of each are brought together, then turned. */
#if defined(HN_LEVEL_avx512)
HN_INLINE i32x16 join_units(const uint8_t *p)
{
    const __m512i together = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i turned = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(together, _mm512_loadu_si512(p)), turned);
}
#elif defined(HN_LEVEL_avx2)
HN_INLINE i32x16 join_units(const uint8_t *p)
{
    const __m256i apart = _mm256_setr_epi32(0, 4, 2, 6, 1, 5, 3, 7);
    const __m256i turned = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i low = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const void *)p), apart);
    const __m256i high = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const void *)(p + 32)), apart);
    return (i32x16){ _mm256_shuffle_epi8(_mm256_unpacklo_epi64(low, high), turned),
                     _mm256_shuffle_epi8(_mm256_unpackhi_epi64(low, high), turned) };
}
#else
HN_INLINE i32x16 join_units(const uint8_t *p)
{
    return i_or(i_or(bytes_u8(p), i_shl(bytes_u8(p + 16), 8)),
                i_or(i_shl(bytes_u8(p + 32), 16), i_shl(bytes_u8(p + 48), 24)));
}
#endif

/* The word of turned rows that byte `byte` of a block is in, and where in it. */
HN_INLINE const uint8_t *word_with(sixteen b, int byte) { return b.at + (b.phase + byte) / 4 * 64; }
HN_INLINE int byte_in(sixteen b, int byte) { return (b.phase + byte) % 4; }

/* Bytes [byte, byte + 4) of each row, out of a field of such words; or out of one of bytes. */
HN_INLINE i32x16 turned_word(sixteen b, int byte)
{
    const uint8_t *p = word_with(b, byte);
    const int cut = 8 * byte_in(b, byte);
    return cut ? i_or(i_shr(words(p, 0), cut), i_shl(words(p, 1), 32 - cut)) : words(p, 0);
}
HN_INLINE i32x16 word_at(sixteen b, int byte)
{
    return b.phase == IN_PANEL ? words(b.at + 16 * byte, 0) : turned_word(b, byte);
}
HN_INLINE i32x16 bytes_at(sixteen b, int byte)
{
    return b.phase == IN_PANEL ? join_units(b.at + 16 * byte) : turned_word(b, byte);
}

/* One byte of each row, without a sign or with one; two as an f16, which lie in one word where a format has no odd size. */
HN_INLINE i32x16 u8_at(sixteen b, int byte)
{
    if (b.phase == IN_PANEL)
        return bytes_u8(b.at + 16 * byte);
    return i_and(i_shr(words(word_with(b, byte), 0), 8 * byte_in(b, byte)), i_set1(255));
}
HN_INLINE i32x16 s8_at(sixteen b, int byte) { return i_sub(i_xor(u8_at(b, byte), i_set1(128)), i_set1(128)); }
HN_INLINE f32x16 f16_at(sixteen b, int byte)
{
    if (b.phase == IN_PANEL)
        return halves_f16(b.at + 16 * byte);
    const i32x16 word = words(word_with(b, byte), 0);
    return byte_in(b, byte) ? high_f16(word) : low_f16(word);
}

/* Words of sixteen rows: at least `bytes` of each, and up to fifteen more. As much is asked for from `ahead` on, line by line while
 * this goes on: all at once would be more requests than can be under way, and then none. */
HN_INLINE void turn_rows(const char *rows, int64_t stride, int64_t bytes, const char *ahead, uint8_t *to)
{
    for (int64_t at = 0; at < bytes; at += 16) {
        for (int line = 0; line < 256; line += 64)
            __builtin_prefetch(ahead + 16 * at + line, 0, 2);
        transpose4_to(rows + at, stride, (float *)(void *)(to + 16 * at));
    }
}

#endif
