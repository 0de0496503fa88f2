/* Rows of x in blocks of whole numbers, weights out of panels, and tiles where four products are not one instruction. */
#include "kernels/int8/int8.h"
#include "kernels/int8/rows.h"

#include "kernels/int8/walk.h"

/* ---- rows of x ---- */

/* The largest magnitude, as bits: one that is not finite is above all others. */
HN_INLINE int32_t largest(f32x16 a, f32x16 b)
{
    const i32x16 x = f_bits(f_abs(a)), y = f_bits(f_abs(b));
    return i_largest(i_select(i_gt(x, y), x, y));
}

/* Sixteen values as Q, and what they add up to. */
HN_INLINE int32_t put_sixteen(f32x16 x, float times, int8_t *q)
{
    const f32x16 least = f_set1(-127.0f), most = f_set1(127.0f);
    return i_put_bytes(q, f_to_i(f_max(f_min(f_mul(x, f_set1(times)), most), least)));
}

static void quantise(int64_t k, const float *x, const hn_int8_rows *to)
{
    float *d = to->d, *less = to->less;
    int8_t *q = to->q;
    int32_t *sum = to->sum;
    for (int64_t b = 0; b < k / HN_INT8_BLOCK; b++, x += HN_INT8_BLOCK, q += HN_INT8_BLOCK, sum += 2) {
        const f32x16 low = f_load(x), high = f_load(x + 16);
        const int32_t bits = largest(low, high);
        const bool is_finite = bits < 0x7f800000;
        const float m = hn_f32_from_bits((uint32_t)bits);
        d[b] = m / 127.0f;
        if (!is_finite || d[b] < 0x1p-126f) {
            d[b] = is_finite ? 0.0f : hn_f32_from_bits(0x7fc00000);
            memset(q, 0, HN_INT8_BLOCK);
            sum[0] = sum[1] = 0;
            less[b] = d[b];
            continue;
        }
        const float times = 127.0f / m;
        sum[0] = put_sixteen(low, times, q);
        sum[1] = put_sixteen(high, times, q + 16);
        less[b] = d[b] * (float)(sum[0] + sum[1]);
    }
}

/* ---- weights ---- */

#define HN_SUMMED(name, elements, bytes, sums, offset, most)                                         \
    static void unpack_blocks_##name(int64_t first, int64_t blocks, const uint8_t *panel, int32_t *to) \
    {                                                                                          \
        const int each = (elements) / HN_INT8_BLOCK;                                           \
        for (int64_t b = first; b < first + blocks; b++, to += hn_int8_words(HN_INT8_##sums)) { \
            ask_for(panel + 16 * (bytes) * b / each + AHEAD, 16 * (bytes) / each, false);            \
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
    .along = {
#define HN_SUMMED(name, elements, bytes, sums, offset, most) [HN_ELEM_##name] = along_##name,
#include "quant/types.def"
    },
    .tile = HN_INT8_TILES,
    .rows = ROWS,
};
