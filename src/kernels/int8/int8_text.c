/* Rows of x in blocks of whole numbers, weights out of panels, and tiles where four products are not one instruction. */
#include "kernels/gemm/transpose.h"
#include "kernels/int8/int8.h"
#include "kernels/int8/walk.h"

/* ---- rows of x ----
 *
 * Sixteen blocks are measured at a time, a lane of a register each, so that nothing is compared or added up within a register and
 * one division serves all:
 *
 *     x     | block 0 .............. | block 1 .............. | ...      largest magnitudes of each block in sixteen lanes,
 *           [0..15] [16..31]           sixteen such rows turned: lane b has block b's
 *     Q     | 32 bytes ............. | ...                               added up by halves, where they lie
 *
 * What is zero, too small for a scale, or not finite is written over after it, block by block. */

enum { AT_ONCE = 16 };

HN_INLINE i32x16 magnitude(const float *x) { return f_bits(f_abs(f_load(x))); }

/* As bits, of which those of what is not finite are above all others; of blocks that are not there one. */
HN_INLINE f32x16 largest_of_each(const float *x, int blocks)
{
    _Alignas(64) float row[AT_ONCE][16];
    i32x16 most = f_bits(f_zero());
    for (int b = 0; b < AT_ONCE; b++, x += HN_INT8_BLOCK)
        f_store(row[b], b < blocks ? i_float(i_max(magnitude(x), magnitude(x + 16))) : f_set1(1.0f));
    for (int i = 0; i < 16; i += 4) {
        f32x16 turned[4];
        transpose4((const char *)&row[0][i], sizeof row[0], turned);
        for (int j = 0; j < 4; j++)
            most = i_max(most, f_bits(turned[j]));
    }
    return i_float(most);
}

/* Sixteen values as Q; what they add up to. At most 127 and a rounding, which is 127. */
HN_INLINE int32_t put_half(const float *x, float times, int8_t *q)
{
    return i_put_bytes(q, f_to_i(f_mul(f_load(x), f_set1(times))));
}

/* Two blocks. */
HN_INLINE void put_two(const float *x, const float *times, int8_t *q, int32_t *sum)
{
#if defined(HN_LEVEL_avx512)
    const __m512i fours = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    i32x16 half[4];
    for (int i = 0; i < 4; i++)
        half[i] = f_to_i(f_mul(f_load(x + 16 * i), f_set1(times[i / 2])));
    const __m512i low = _mm512_packs_epi32(half[0], half[1]), high = _mm512_packs_epi32(half[2], half[3]);
    const __m512i bytes = _mm512_permutexvar_epi32(fours, _mm512_packs_epi16(low, high));
    const __m512i eights = _mm512_sad_epu8(_mm512_xor_si512(bytes, _mm512_set1_epi8(-128)), _mm512_setzero_si512());
    const __m512i sums = _mm512_add_epi32(eights, _mm512_shuffle_epi32(eights, (_MM_PERM_ENUM)0x4e));
    _mm512_storeu_si512(q, bytes);
    _mm_storeu_si128((void *)sum, _mm_sub_epi32(_mm512_castsi512_si128(_mm512_permutexvar_epi32(fours, sums)), _mm_set1_epi32(16 * 128)));
#else
    for (int i = 0; i < 4; i++)
        sum[i] = put_half(x + 16 * i, times[i / 2], q + 16 * i);
#endif
}

/* A block that the definition treats by itself: its largest is zero, or too small for a scale, or not finite. */
static void put_nothing(int64_t b, float d, const hn_int8_rows *to)
{
    memset(to->q + b * HN_INT8_BLOCK, 0, HN_INT8_BLOCK);
    to->sum[2 * b] = to->sum[2 * b + 1] = 0;
    to->d[b] = to->less[b] = d < 0x1p-126f ? 0.0f : hn_f32_from_bits(0x7fc00000);
}

/* Up to sixteen blocks of x from block b of the row on. */
HN_INLINE void quantise_some(int64_t b, int blocks, const float *x, const hn_int8_rows *to)
{
    float times[AT_ONCE], *d = to->d + b, *less = to->less + b;
    const f32x16 largest = largest_of_each(x, blocks), scale = f_div(largest, f_set1(127.0f));
    int8_t *q = to->q + b * HN_INT8_BLOCK;
    int32_t *sum = to->sum + 2 * b;
    f_store_n(d, scale, blocks);
    f_store(times, f_div(f_set1(127.0f), largest));
    int whole = 0;
    for (; whole + 2 <= blocks; whole += 2)
        put_two(x + whole * HN_INT8_BLOCK, times + whole, q + whole * HN_INT8_BLOCK, sum + 2 * whole);
    for (int i = 2 * whole; i < 2 * blocks; i++)
        sum[i] = put_half(x + 16 * i, times[i / 2], q + 16 * i);
    for (int i = 0; i < blocks; i++)
        less[i] = d[i] * (float)(sum[2 * i] + sum[2 * i + 1]);
    for (int i = 0; i < blocks; i++)
        if (!(d[i] >= 0x1p-126f && d[i] < __builtin_inff()))
            put_nothing(b + i, d[i], to);
}

static void quantise(int64_t k, const float *x, const hn_int8_rows *to)
{
    const int64_t blocks = k / HN_INT8_BLOCK;
    for (int64_t b = 0; b < blocks; b += AT_ONCE, x += AT_ONCE * HN_INT8_BLOCK)
        quantise_some(b, blocks - b < AT_ONCE ? (int)(blocks - b) : AT_ONCE, x, to);
}

/* ---- weights ---- */

#define HN_SUMMED(name, elements, bytes, sums, offset, most)                                         \
    static void unpack_blocks_##name(int64_t first, int64_t blocks, const uint8_t *panel, hn_ahead *ahead, int32_t *to) \
    {                                                                                          \
        const int each = (elements) / HN_INT8_BLOCK;                                           \
        for (int64_t b = first; b < first + blocks; b++, to += hn_int8_words(HN_INT8_##sums)) { \
            hn_ask(ahead);                                                                     \
            ask_for(panel + 16 * (bytes) * b / each + AHEAD, ahead ? 0 : 16 * (bytes) / each, false); \
            unpack_##name((sixteen){ panel + 16 * (bytes) * (b / each), IN_PANEL }, (int)(b % each), to); \
        }                                                                                      \
    }
#include "quant/types.def"

HN_KERNEL_TABLE(int8) = {
    .quantise = quantise,
    .unpack = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = unpack_blocks_##name,
#include "quant/types.def"
    },
    .unpack_rows = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = unpack_rows_##name,
#include "quant/types.def"
    },
    .walk = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = walk_##name,
#include "quant/types.def"
    },
    .walk_rows = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = walk_rows_##name,
#include "quant/types.def"
    },
    .along = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = along_##name,
#include "quant/types.def"
    },
    .tile = HN_INT8_TILES,
    .rows = ROWS,
    .walks = WALKS,
    .few = FEW,
    .again = AGAIN,
};
