/* turn.h: sixteen plain rows as a panel: sixteen bytes of each at a time where a field has as many, its last ones once
 * more where they are no whole sixteen; unit by unit where it has fewer. */
#ifndef HN_KERNELS_DECODE_TURN_H
#define HN_KERNELS_DECODE_TURN_H

#include "kernels/decode/decode.h"
#include "kernels/gemm/transpose.h"

/* Units of `size` bytes at byte `at` of each row. */
HN_INLINE void turn_unit(const char *rows, int64_t stride, int size, uint8_t *to)
{
    for (int lane = 0; lane < 16; lane++, rows += stride)
        switch (size) { /* constants, so that no call is made */
        case 1:
            to[lane] = (uint8_t)*rows;
            break;
        case 2:
            memcpy(to + 2 * lane, rows, 2);
            break;
        default:
            memcpy(to + 4 * lane, rows, 4);
        }
}

#if defined(HN_LEVEL_avx512) || defined(HN_LEVEL_avx2)
/* Words of sixteen rows as four times the bytes of sixteen rows: back and forth it is one turn. */
HN_INLINE void turn_words(uint8_t *to)
{
#if defined(HN_LEVEL_avx512)
    const __m512i apart = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i turned = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m512i words = _mm512_shuffle_epi8(_mm512_loadu_si512(to), turned);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi32(apart, words));
#else
    const __m256i apart = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i turned = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m256i low = _mm256_shuffle_epi8(_mm256_loadu_si256((const void *)to), turned);
    __m256i high = _mm256_shuffle_epi8(_mm256_loadu_si256((const void *)(to + 32)), turned);
    low = _mm256_permutevar8x32_epi32(low, apart); /* byte 0 of eight rows, byte 1, byte 2, byte 3 */
    high = _mm256_permutevar8x32_epi32(high, apart);
    const __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    _mm256_storeu_si256((void *)to, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((void *)(to + 32), _mm256_permute2x128_si256(even, odd, 0x31));
#endif
}

HN_INLINE void turn_sixteen(const char *rows, int64_t stride, int size, uint8_t *to)
{
    transpose4_to(rows, stride, (float *)(void *)to);
    for (int i = 0; size == 1 && i < 4; i++)
        turn_words(to + 64 * i);
}
#else
HN_INLINE void turn_sixteen(const char *rows, int64_t stride, int size, uint8_t *to)
{
    for (int i = 0; i < 16; i += size)
        turn_unit(rows + i, stride, size, to + 16 * i);
}
#endif

/* Four bf16 as two words each. */
static void turn_four(const char *rows, int64_t stride, uint8_t *to)
{
    for (int lane = 0; lane < 16; lane++) {
        uint16_t k[4];
        memcpy(k, rows + lane * stride, sizeof k);
        uint32_t even, odd;
        hn_panel16_four(k, &even, &odd);
        memcpy(to + 4 * lane, &even, sizeof even);
        memcpy(to + 4 * (16 + lane), &odd, sizeof odd);
    }
}

static void turn(hn_elem type, int64_t n, const char *rows, int64_t stride, uint8_t *panel)
{
    const int64_t bytes = hn_elem_span(type, n);
    int64_t at = 0;
    for (; type == HN_ELEM_bf16 && at + 8 <= bytes; at += 8)
        turn_four(rows + at, stride, panel + 16 * at);
    while (at < bytes)
        for (const hn_panel16_field *f = hn_panel16_fields[type]; f < hn_panel16_fields[type] + 4 && f->n; f++) {
            const int all = f->n * f->bytes;
            int done = 0;
            if (f->bytes != 2 && all >= 16)
                for (; done < all; done = done + 32 > all && done + 16 < all ? all - 16 : done + 16)
                    turn_sixteen(rows + at + done, stride, f->bytes, panel + 16 * (at + done));
            for (; done < all; done += f->bytes)
                turn_unit(rows + at + done, stride, f->bytes, panel + 16 * (at + done));
            at += all;
        }
}

#endif
