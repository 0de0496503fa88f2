/* Two steps of a chain an instruction. The high half of a word is the first of them. */
#include "kernels/gemm/dots_avx512bf16.h"
#include "kernels/gemm/transpose.h"

#include <math.h>
#include <string.h>

static int join(int64_t k, int64_t width, const float *x, float *dst)
{
    const i32x16 high = i_set1((int32_t)0xffff0000u);
    seen s = nothing_seen();
    for (int64_t p = 0; p < k; p += 2, x += 2 * width, dst += width)
        for (int64_t i = 0; i < width; i += 16) {
            const m16 lanes = width - i < 16 ? m_first(width - i) : 0xffff;
            const i32x16 first = _mm512_maskz_loadu_epi32(lanes, x + i);
            const i32x16 second =
                p + 1 < k ? _mm512_maskz_loadu_epi32(lanes, x + width + i) : i_set1(0);
            s.low_bits = i_or(s.low_bits, i_or(first, second));
            const i32x16 pairs = see(&s, i_or(i_and(first, high), i_shr(second, 16)));
            _mm512_mask_storeu_epi32(dst + i, lanes, pairs);
        }
    return lowest_seen(&s);
}

/* Of (0,1) and (2,3): (0,2) and (1,3); and back. */
static inline void group(i32x16 *first, i32x16 *second)
{
    const i32x16 pairs = *first, high = i_set1((int32_t)0xffff0000u), low = i_set1(0xffff);
    *first = i_or(i_and(pairs, high), i_shr(*second, 16));
    *second = i_or(i_shl(pairs, 16), i_and(*second, low));
}

static void regroup(int64_t k, int64_t width, float *x)
{
    for (int64_t p = 0; p < k; p += 4, x += 2 * width)
        for (int64_t i = 0; i < width; i += 16) {
            const m16 lanes = width - i < 16 ? m_first(width - i) : 0xffff;
            i32x16 first = _mm512_maskz_loadu_epi32(lanes, x + i);
            i32x16 second = _mm512_maskz_loadu_epi32(lanes, x + width + i);
            group(&first, &second);
            _mm512_mask_storeu_epi32(x + i, lanes, first);
            _mm512_mask_storeu_epi32(x + width + i, lanes, second);
        }
}

/* ---- packing ---- */

/* `rows` of a panel of sixteen, [k][16], as its last k lie. */
static inline i32x16 pairs_of_panel(const uint16_t *x, int64_t n, int rows, i32x16 turn, seen *s)
{
    const i32x16 two = _mm512_maskz_loadu_epi16(n > 1 ? ~0u : 0xffffu, x);
    return see(s, _mm512_maskz_mov_epi32(m_first(rows), _mm512_permutexvar_epi16(turn, two)));
}

static void pack_panel(const uint16_t *x, int rows, int64_t n_k, float *dst, int64_t width, bool grouped, seen *s)
{
    const i32x16 turn = lane_times(0x10001, 16); /* the first of two rows goes up */
    int64_t p = 0;
    for (; p + 4 <= n_k; p += 4, x += 64, dst += 2 * width) { /* which lie grouped */
        i32x16 first = see(s, _mm512_maskz_loadu_epi32(m_first(rows), x));
        i32x16 second = see(s, _mm512_maskz_loadu_epi32(m_first(rows), x + 32));
        if (!grouped)
            group(&first, &second);
        _mm512_storeu_si512(dst, first);
        _mm512_storeu_si512(dst + width, second);
    }
    for (; p < n_k; p += 2, x += 32, dst += width)
        _mm512_storeu_si512(dst, pairs_of_panel(x, n_k - p, rows, turn, s));
}

/* Up to 32 elements of a row. */
static inline i32x16 row_of_f32(const float *x, int64_t n, seen *s)
{
    const i32x16 order = lane_times(0x40004, 0x10003); /* high halves; the first of two goes up */
    __builtin_prefetch(x + 64); /* sixteen rows are more streams than are followed */
    __builtin_prefetch(x + 80);
    const i32x16 a = _mm512_maskz_loadu_epi32(n < 16 ? m_first(n) : 0xffff, x);
    const i32x16 b = n > 16 ? _mm512_maskz_loadu_epi32(m_first(n - 16), x + 16) : i_set1(0);
    s->low_bits = i_or(s->low_bits, i_or(a, b));
    return _mm512_permutex2var_epi16(a, order, b);
}

static inline i32x16 row_of_bf16(const uint16_t *x, int64_t n)
{
    return _mm512_rol_epi32(_mm512_maskz_loadu_epi16(n < 32 ? (1u << n) - 1 : ~0u, x), 16);
}

/* Up to sixteen rows along k, into `lanes` lanes. */
static void pack_rows(const char *x, int64_t stride, hn_elem type, int rows, int64_t n_k, float *dst,
                      int64_t width, bool grouped, m16 lanes, seen *s)
{
    float part[16][16] = { { 0 } };
    for (int64_t p = 0; p < n_k; p += 32) {
        const int64_t n = n_k - p < 32 ? n_k - p : 32;
        f32x16 turned[16];
        for (int row = 0; row < rows; row++) {
            const char *at = x + row * stride + p * hn_elem_bytes(type);
            if (type == HN_ELEM_bf16) /* short rows: those that come sixteen later */
                __builtin_prefetch(at + 16 * stride);
            i_store((int32_t *)(void *)part[row],
                    see(s, type == HN_ELEM_f32 ? row_of_f32((const void *)at, n, s)
                                              : row_of_bf16((const void *)at, n)));
        }
        transpose16((const char *)part, sizeof part[0], turned);
        if (grouped) {
#pragma GCC unroll 8
            for (int i = 0; i < 16; i += 2) {
                i32x16 first = f_bits(turned[i]), second = f_bits(turned[i + 1]);
                group(&first, &second);
                turned[i] = i_float(first), turned[i + 1] = i_float(second);
            }
        }
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++)
            if (2 * i < n)
                _mm512_mask_storeu_ps(dst + (p / 2 + i) * width, lanes, turned[i]);
    }
}

/* Sixteen elements of two rows that run along lanes, the first of which goes up. */
static inline i32x16 pair_of_rows(const uint16_t *first, const uint16_t *second, int64_t n, seen *s)
{
    const __mmask16 lanes = n < 16 ? m_first(n) : 0xffff;
    const i32x16 up = i_shl(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, first)), 16);
    const i32x16 low = _mm512_cvtepu16_epi32(
        _mm256_maskz_loadu_epi16(second ? lanes : 0, second ? second : first));
    return see(s, i_or(up, low));
}

/* Rows along lanes are read whole, side by side, each in order. */
static void pack_along_lanes(const char *x, int64_t stride, int64_t n_outer, int64_t n_k, int64_t width, bool grouped,
                             float *dst, seen *s)
{
    enum { AHEAD = 8 }; /* rows: pieces of them are too short to be followed */
    const int64_t panel = (n_k + 1) / 2 * width;
    for (int64_t p = 0; p < n_k; p += 2, dst += width) {
        const int64_t row = grouped && p % 4 ? p - 1 : p, other = row + (grouped ? 2 : 1);
        const uint16_t *first = (const void *)(x + row * stride);
        const uint16_t *second = other < n_k ? (const void *)(x + other * stride) : NULL;
        for (int64_t o = 0; o < n_outer; o += width)
            for (int64_t i = o; i < o + width; i += 16) {
                const int64_t left = n_outer - i;
                if (i % 32 == 0) {
                    __builtin_prefetch((const char *)(first + i) + AHEAD * stride);
                    __builtin_prefetch((const char *)(first + i) + (AHEAD + 1) * stride);
                }
                const i32x16 pairs = left <= 0 ? i_set1(0)
                                               : pair_of_rows(first + i, second ? second + i : NULL,
                                                              left, s);
                _mm512_mask_storeu_epi32(dst + o / width * panel + (i - o),
                                         width - (i - o) < 16 ? m_first(width - (i - o)) : 0xffff,
                                         pairs);
            }
    }
}

static bool pack(const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k, int64_t n_k,
                 int64_t width, bool grouped, float *dst, int *lowest)
{
    const bool in_panels = x->is_panel16 && !x->rows_are_k && x->type == HN_ELEM_bf16 &&
                           outer % 16 == 0 && width % 16 == 0;
    const bool along_k = !x->is_panel16 && x->k_stride == hn_elem_bytes(x->type);
    const bool along_lanes =
        !x->is_panel16 && x->type == HN_ELEM_bf16 && x->outer_stride == 2 && !along_k;
    if ((x->type != HN_ELEM_f32 && x->type != HN_ELEM_bf16) || x->pairs || !(in_panels || along_k || along_lanes))
        return false;
    seen s = nothing_seen();
    if (along_lanes) {
        pack_along_lanes((const char *)x->data + outer * 2 + k * x->k_stride, x->k_stride, n_outer,
                         n_k, width, grouped, dst, &s);
        *lowest = lowest_seen(&s);
        return true;
    }
    for (int64_t o = 0; o < n_outer; o += width, dst += (n_k + 1) / 2 * width)
        for (int64_t i = 0; i < width; i += 16) {
            const int64_t left = n_outer - o - i, row = outer + o + i;
            const int room = width - i < 16 ? (int)(width - i) : 16;
            const int rows = left < 0 ? 0 : left < room ? (int)left : room;
            if (in_panels && rows)
                pack_panel((const uint16_t *)x->data + 16 * (row / 16 * x->row_elems + k), rows, n_k,
                           dst + i, width, grouped, &s);
            else
                pack_rows((const char *)x->data + row * x->outer_stride + k * x->k_stride,
                          x->outer_stride, x->type, rows, n_k, dst + i, width,
                          grouped, m_first(room), &s);
        }
    *lowest = lowest_seen(&s);
    return true;
}

/* Whether this processor's instruction does what dots.h says: sums that come out otherwise if the pairs are added
 * first, in the other order, or rounded once. */
static bool is_chain(void)
{
    static const float cases[][5] = { /* a b a b, and the sum to go on from */
        { 1, 0x1p24f, 1, 1, 1 },          { 1, 1, 1, 0x1p24f, 1 },
        { 1, 0x1p24f, -1, 0x1p24f, 1 },   { 1, 0x1p-24f, 1, 0x1p-24f, 1 },
        { 1, 0x1p-24f, 1, 0x1p-40f, 1 },  { 1.9921875f, 1.9921875f, 1.5f, 0x1p-20f, 0x1.2p-19f },
        { 0x1p100f, 0x1p100f, -1, 1, 1 }, { 0x1p127f, 1, 0x1p127f, 1, -0x1p127f },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const float *v = cases[i], want = fmaf(v[2], v[3], fmaf(v[0], v[1], v[4]));
        uint32_t bits[4];
        memcpy(bits, v, sizeof bits);
        const i32x16 a = i_set1((int32_t)(bits[0] | bits[2] >> 16));
        const i32x16 b = i_set1((int32_t)(bits[1] | bits[3] >> 16));
        const float got = _mm512_cvtss_f32(HN_GEMM_STEP(i_float(a), i_float(b), f_set1(v[4])));
        if (memcmp(&want, &got, sizeof got) != 0)
            return false;
    }
    return true;
}

HN_KERNEL_SLOTS(gemm)
{
    static const hn_gemm_dots dots = { .tile = tile, .block_tile = block_tile, .regroup = regroup,
                                       .pack = pack, .join = join };
    k->dots = is_chain() ? &dots : NULL;
}
