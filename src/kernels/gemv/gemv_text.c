/* Few rows of x by many rows of w, at one level. Each format is a walk over k that hands
 * vectors of sixteen weights, for ascending k, to TAKE; rows and groups are constants in it, so
 * that the accumulators are registers. */
#include "kernels/gemm/transpose.h"
#include "kernels/gemv/gemv.h"
#include "kernels/quantize/lanes.h"
#include "kernels/simd/f32x16.h"

/* Groups, rows and lanes of a transpose index registers: their loops must go. */
#if defined(HN_LEVEL_ref)
#define ALL
#else
#define ALL _Pragma("GCC unroll 16")
#endif

#define WALK_PARAMS                                                                            \
    const int rows, const int groups, int64_t k, const float *x, const uint8_t *w,             \
        int64_t stride, f32x16(*acc)[HN_GEMV_ROWS], float *room

/* acc[g][:] += v * x[p][:] */
HN_INLINE void take(f32x16 v, int g, int64_t p, const int rows, const float *x,
                    f32x16 (*acc)[HN_GEMV_ROWS])
{
    ALL for (int r = 0; r < rows; r++) acc[g][r] = f_fma(v, f_set1(x[p * rows + r]), acc[g][r]);
}
#define TAKE(v, g, p) take(v, g, p, rows, x, acc)

/* The last k of plain rows: one element of each. */
HN_INLINE f32x16 column(const uint8_t *w, int64_t stride, int64_t p)
{
    float v[16];
    for (int l = 0; l < 16; l++)
        memcpy(v + l, w + l * stride + 4 * p, sizeof v[0]);
    return f_load(v);
}

/* Lines some way ahead: as many streams as rows are more than the hardware follows. */
HN_INLINE void fetch_lines(const uint8_t *w, int64_t stride)
{
    for (int row = 0; row < 16; row++)
        __builtin_prefetch(w + row * stride + 512);
}

HN_INLINE void plain_f32(WALK_PARAMS)
{
    int64_t p = 0;
    (void)room;
    for (; p + 16 <= k; p += 16)
        ALL for (int g = 0; g < groups; g++)
        {
            f32x16 v[16];
            fetch_lines(w + 16 * g * stride + 4 * p, stride);
            transpose16((const char *)w + 16 * g * stride + 4 * p, stride, v);
            ALL for (int i = 0; i < 16; i++) TAKE(v[i], g, p + i);
        }
    for (; p < k; p++)
        ALL for (int g = 0; g < groups; g++) TAKE(column(w + 16 * g * stride, stride, p), g, p);
}

/* Two halves in each 32-bit word: the first is the low one. */
#define PLAIN_HALVES(name, low_half, high_half, one)                                           \
    HN_INLINE void plain_##name(WALK_PARAMS)                                                   \
    {                                                                                          \
        int64_t p = 0;                                                                         \
        (void)room;                                                                            \
        for (; p + 32 <= k; p += 32)                                                           \
            ALL for (int g = 0; g < groups; g++)                                               \
            {                                                                                  \
                f32x16 v[16];                                                                  \
                fetch_lines(w + 16 * g * stride + 2 * p, stride);                              \
                transpose16((const char *)w + 16 * g * stride + 2 * p, stride, v);             \
                ALL for (int i = 0; i < 16; i++)                                               \
                {                                                                              \
                    TAKE(low_half(f_bits(v[i])), g, p + 2 * i);                                \
                    TAKE(high_half(f_bits(v[i])), g, p + 2 * i + 1);                           \
                }                                                                              \
            }                                                                                  \
        for (; p < k; p++)                                                                     \
            ALL for (int g = 0; g < groups; g++)                                               \
            {                                                                                  \
                float v[16];                                                                   \
                for (int l = 0; l < 16; l++) {                                                 \
                    uint16_t h;                                                                \
                    memcpy(&h, w + (16 * g + l) * stride + 2 * p, 2);                          \
                    v[l] = one(h);                                                             \
                }                                                                              \
                TAKE(f_load(v), g, p);                                                         \
            }                                                                                  \
    }
HN_INLINE f32x16 low_bf16(i32x16 pair) { return i_float(i_shl(pair, 16)); }
HN_INLINE f32x16 high_bf16(i32x16 pair)
{
    return i_float(i_and(pair, i_set1((int32_t)0xffff0000u)));
}
HN_INLINE f32x16 low_f16(i32x16 pair)
{
    return f_from_f16(h_narrow(i_and(pair, i_set1(0xffff))));
}
HN_INLINE f32x16 high_f16(i32x16 pair) { return f_from_f16(h_narrow(i_shr(pair, 16))); }
PLAIN_HALVES(bf16, low_bf16, high_bf16, hn_bf16_to_f32)
PLAIN_HALVES(f16, low_f16, high_f16, hn_f16_to_f32)

/* An f16 of each of sixteen rows. */
HN_INLINE f32x16 column_f16(const uint8_t *w, int64_t stride)
{
    uint64_t four[4];
    for (int q = 0; q < 4; q++) {
        uint16_t h[4];
        for (int l = 0; l < 4; l++)
            memcpy(h + l, w + (4 * q + l) * stride, sizeof *h);
        four[q] = h[0] | (uint64_t)h[1] << 16 | (uint64_t)h[2] << 32 | (uint64_t)h[3] << 48;
    }
    return halves_f16((const uint8_t *)four);
}

/* Four bytes of sixteen rows in the lanes: byte b, signed, times 2^24. What is decoded from
 * bits further up is scaled by a power of two too much, and its scale by as much too little: no
 * bit of the product changes, and no shift brings the bits down. */
HN_INLINE f32x16 top_byte(i32x16 v, const int b)
{
#if defined(HN_LEVEL_avx512)
    if (b == 1 || b == 2) {
        const int at = b - 3; /* of byte 3 */
        return i_to_f(_mm512_shuffle_epi8(
            v, _mm512_set4_epi32((15 + at) << 24 | 0x808080, (11 + at) << 24 | 0x808080,
                                 (7 + at) << 24 | 0x808080, (3 + at) << 24 | 0x808080)));
    }
#endif
    const i32x16 moved = b == 0   ? i_shl(v, 24)
                         : b == 1 ? i_shl(v, 16)
                         : b == 2 ? i_shl(v, 8)
                                  : v;
    return i_to_f(b ? i_and(moved, i_set1((int32_t)0xff000000u)) : moved);
}

HN_INLINE void plain_q8_0(WALK_PARAMS)
{
    (void)room, (void)groups;
    for (int64_t p = 0; p < k; p += 32, w += 34) {
        const f32x16 d = f_mul(column_f16(w, stride), f_set1(0x1p-24f));
        fetch_lines(w, stride);
        for (int part = 0; part < 32; part += 16) {
            f32x16 v[4];
            transpose4((const char *)w + 2 + part, stride, v);
            ALL for (int i = 0; i < 16; i++)
                TAKE(f_mul(top_byte(f_bits(v[i / 4]), i % 4), d), 0, p + part + i);
        }
    }
}

/* For counts that are no constants to the compiler. */
HN_INLINE i32x16 shifted_down(i32x16 v, int bits)
{
#if defined(HN_LEVEL_avx512)
    return _mm512_srlv_epi32(v, i_set1(bits));
#else
    return i_shr(v, bits);
#endif
}

/* Scale and minimum of sub-block j of sixteen rows, from their twelve packed bytes. */
HN_INLINE void plain_k_scales(const i32x16 s[3], int j, i32x16 *scale, i32x16 *minimum)
{
    const int at = 8 * (j & 3);
    if (j < 4) {
        *scale = i_and(shifted_down(s[0], at), i_set1(63));
        *minimum = i_and(shifted_down(s[1], at), i_set1(63));
        return;
    }
    const i32x16 low = i_set1(15), two = i_set1(48);
    *scale = i_or(i_and(shifted_down(s[2], at), low), i_and(shifted_down(s[0], at + 2), two));
    *minimum =
        i_or(i_and(shifted_down(s[2], at + 4), low), i_and(shifted_down(s[1], at + 2), two));
}

/* d q - m of nibble n (0 .. 7, a constant) of each lane; scale[n / 2] is d 2^-4n, or d for the
 * last nibble, which alone is shifted down: as the top one it would be negative. d q has 21
 * bits and is exact, so that the fma rounds where the subtraction does. */
HN_INLINE f32x16 nibble_times(i32x16 v, const int n, const f32x16 scale[4], f32x16 less)
{
    const i32x16 q = n == 7 ? i_shr(v, 28) : i_and(v, i_set1(15 << (n == 7 ? 0 : 4 * n)));
    return f_fma(scale[n / 2], i_to_f(q), less);
}

/* 32 weights whose nibbles lie in v: the low ones of each byte, or the high ones. */
HN_INLINE void take_nibbles(const int rows, const float *x, f32x16 (*acc)[HN_GEMV_ROWS],
                            const i32x16 v[8], const bool high, const f32x16 d_less[2])
{
    const f32x16 d = d_less[0];
    const float by = high ? 0x1p-4f : 1.0f;
    const f32x16 scale[4] = { f_mul(d, f_set1(by)), f_mul(d, f_set1(by * 0x1p-8f)),
                              f_mul(d, f_set1(by * 0x1p-16f)),
                              high ? d : f_mul(d, f_set1(0x1p-24f)) };
    ALL for (int i = 0; i < 8; i++)
    {
        ALL for (int c = 0; c < 4; c++)
            TAKE(nibble_times(v[i], 2 * c + high, scale, d_less[1]), 0, 4 * i + c);
    }
}

HN_INLINE void plain_q4_k(WALK_PARAMS)
{
    (void)room, (void)groups;
    for (int64_t p = 0; p < k; p += 256, w += 144) {
        const f32x16 d = column_f16(w, stride), dmin = column_f16(w + 2, stride);
        f32x16 packed[4];
        transpose4((const char *)w + 4, stride, packed);
        const i32x16 s[3] = { f_bits(packed[0]), f_bits(packed[1]), f_bits(packed[2]) };
        for (int j = 0; j < 8; j += 2, x += 64 * rows) {
            const uint8_t *q = w + 16 + 16 * j;
            f32x16 bytes[8];
            i32x16 v[8], scale[2], minimum[2];
            fetch_lines(q, stride);
            transpose4((const char *)q, stride, bytes);
            transpose4((const char *)q + 16, stride, bytes + 4);
            ALL for (int i = 0; i < 8; i++) v[i] = f_bits(bytes[i]);
            for (int h = 0; h < 2; h++)
                plain_k_scales(s, j + h, scale + h, minimum + h);
            const f32x16 low[2] = { f_mul(d, i_to_f(scale[0])),
                                    f_neg(f_mul(dmin, i_to_f(minimum[0]))) };
            const f32x16 high[2] = { f_mul(d, i_to_f(scale[1])),
                                     f_neg(f_mul(dmin, i_to_f(minimum[1]))) };
            take_nibbles(rows, x, acc, v, false, low);
            take_nibbles(rows, x + 32 * rows, acc, v, true, high);
        }
    }
}

HN_INLINE void panel_f32(WALK_PARAMS)
{
    (void)room;
    for (int64_t p = 0; p < k; p++)
        ALL for (int g = 0; g < groups; g++)
            TAKE(f_load((const float *)(const void *)(w + g * stride + 64 * p)), g, p);
}

HN_INLINE void panel_bf16(WALK_PARAMS)
{
    (void)room;
    for (int64_t p = 0; p < k; p++)
        ALL for (int g = 0; g < groups; g++)
            TAKE(f_from_bf16(h_load((const uint16_t *)(const void *)(w + g * stride + 32 * p))),
                 g, p);
}

HN_INLINE void panel_f16(WALK_PARAMS)
{
    (void)room;
    for (int64_t p = 0; p < k; p++)
        ALL for (int g = 0; g < groups; g++)
            TAKE(f_from_f16(h_load((const uint16_t *)(const void *)(w + g * stride + 32 * p))),
                 g, p);
}

HN_INLINE void panel_q8_0(WALK_PARAMS)
{
    (void)room;
    for (int64_t p = 0; p < k; p += 32, w += 16 * 34) {
        f32x16 d[HN_GEMV_GROUPS];
        ALL for (int g = 0; g < groups; g++) d[g] = halves_f16(w + g * stride);
        for (int j = 0; j < 32; j++)
            ALL for (int g = 0; g < groups; g++)
                TAKE(f_mul(i_to_f(bytes_i8(w + g * stride + 32 + 16 * j)), d[g]), g, p + j);
    }
}

HN_INLINE void panel_q4_0(WALK_PARAMS)
{
    (void)room;
    for (int64_t p = 0; p < k; p += 32, w += 16 * 18) {
        f32x16 d[HN_GEMV_GROUPS];
        ALL for (int g = 0; g < groups; g++) d[g] = halves_f16(w + g * stride);
        for (int j = 0; j < 16; j++)
            ALL for (int g = 0; g < groups; g++)
            {
                const i32x16 q = bytes_u8(w + g * stride + 32 + 16 * j);
                TAKE(f_mul(nibble(q, -8), d[g]), g, p + j);
            }
        for (int j = 0; j < 16; j++)
            ALL for (int g = 0; g < groups; g++)
            {
                const i32x16 q = bytes_u8(w + g * stride + 32 + 16 * j);
                TAKE(f_mul(nibble(i_shr(q, 4), -8), d[g]), g, p + 16 + j);
            }
    }
}

HN_INLINE void panel_q4_k(WALK_PARAMS)
{
    (void)room;
    for (int64_t p = 0; p < k; p += 256, w += 16 * 144)
        for (int j = 0; j < 8; j++) {
            f32x16 d[HN_GEMV_GROUPS], m[HN_GEMV_GROUPS];
            ALL for (int g = 0; g < groups; g++) k_scales(w + g * stride, j, d + g, m + g);
            const uint8_t *q = w + 256 + 16 * 32 * (j / 2);
            if (j & 1) {
                for (int i = 0; i < 32; i++)
                    ALL for (int g = 0; g < groups; g++)
                    {
                        const i32x16 b = i_shr(bytes_u8(q + g * stride + 16 * i), 4);
                        TAKE(f_sub(f_mul(d[g], nibble(b, 0)), m[g]), g, p + 32 * j + i);
                    }
            } else {
                for (int i = 0; i < 32; i++)
                    ALL for (int g = 0; g < groups; g++)
                    {
                        const i32x16 b = bytes_u8(q + g * stride + 16 * i);
                        TAKE(f_sub(f_mul(d[g], nibble(b, 0)), m[g]), g, p + 32 * j + i);
                    }
            }
        }
}

/* Sixteen values of a Q6_K block: half h, quarter of it (a constant), group `is`. */
HN_INLINE void q6_k_part(WALK_PARAMS, int64_t p, int h, const int quarter, int is)
{
    const int low_at = 64 * h + 32 * (quarter & 1) + 16 * is, top_at = 128 + 32 * h + 16 * is;
    f32x16 d[HN_GEMV_GROUPS];
    (void)k, (void)room;
    ALL for (int g = 0; g < groups; g++)
    {
        d[g] = f_mul(halves_f16(w + g * stride + 16 * 208),
                     i_to_f(bytes_i8(w + g * stride + 16 * (192 + 8 * h + is + 2 * quarter))));
    }
    for (int i = 0; i < 16; i++)
        ALL for (int g = 0; g < groups; g++)
        {
            const i32x16 low = bytes_u8(w + g * stride + 16 * (low_at + i));
            const i32x16 top = bytes_u8(w + g * stride + 16 * (top_at + i));
            TAKE(f_mul(d[g], six_bits(low, top, quarter)), g,
                 p + 128 * h + 32 * quarter + 16 * is + i);
        }
}

HN_INLINE void panel_q6_k(WALK_PARAMS)
{
    for (int64_t p = 0; p < k; p += 256, w += 16 * 210)
        for (int h = 0; h < 2; h++) {
#define QUARTER(quarter)                                                                       \
    for (int is = 0; is < 2; is++)                                                             \
        q6_k_part(rows, groups, k, x, w, stride, acc, room, p, h, quarter, is);
            QUARTER(0)
            QUARTER(1)
            QUARTER(2)
            QUARTER(3)
#undef QUARTER
        }
}

/* A walk between loading and storing its accumulators. */
#define AROUND(walk, n_rows, n_groups)                                                         \
    {                                                                                          \
        f32x16 acc[HN_GEMV_GROUPS][HN_GEMV_ROWS];                                              \
        ALL for (int g = 0; g < n_groups; g++) ALL for (int r = 0; r < n_rows; r++)            \
            acc[g][r] = accumulate ? f_load(y + r * ldy + 16 * g) : f_zero();                  \
        walk(n_rows, n_groups, k, x, w, stride, acc, room);                                    \
        ALL for (int g = 0; g < n_groups; g++) ALL for (int r = 0; r < n_rows; r++)            \
            f_store(y + r * ldy + 16 * g, acc[g][r]);                                          \
    }

/* `span` is the bytes from one group to the next. Panels are taken several at a time where
 * there are few rows, to hide the latency of the chains; transposes hide it themselves. */
#define ONE_OR_TWO(walk, n_rows, span, pairs)                                                  \
    case n_rows:                                                                               \
        if (pairs && groups >= 2) {                                                            \
            AROUND(walk, n_rows, 2)                                                            \
            groups--, w = (const char *)w + (span), y += 16;                                   \
        } else {                                                                               \
            AROUND(walk, n_rows, 1)                                                            \
        }                                                                                      \
        break;
#define ONE(walk, n_rows)                                                                      \
    case n_rows:                                                                               \
        AROUND(walk, n_rows, 1) break;
#if defined(HN_LEVEL_ref)
#define KERNEL(walk, span, pairs)                                                              \
    static void do_##walk(HN_PARAMS_gemv)                                                      \
    {                                                                                          \
        for (; groups > 0; groups--, w = (const char *)w + (span), y += 16)                    \
            AROUND(walk, rows, 1)                                                              \
    }
#else
#define KERNEL(walk, span, pairs)                                                              \
    static void do_##walk(HN_PARAMS_gemv)                                                      \
    {                                                                                          \
        if (pairs && rows == 1 && groups == 4) {                                               \
            AROUND(walk, 1, 4)                                                                 \
            return;                                                                            \
        }                                                                                      \
        for (; groups > 0; groups--, w = (const char *)w + (span), y += 16)                    \
            switch (rows) {                                                                    \
                ONE(walk, 1)                                                                   \
                ONE_OR_TWO(walk, 2, span, pairs)                                               \
                ONE(walk, 3)                                                                   \
                ONE_OR_TWO(walk, 4, span, pairs)                                               \
                ONE(walk, 5) ONE(walk, 6) ONE(walk, 7) ONE(walk, 8)                            \
            }                                                                                  \
    }
#endif
KERNEL(plain_f32, 16 * stride, false)
KERNEL(plain_bf16, 16 * stride, false)
KERNEL(plain_f16, 16 * stride, false)
KERNEL(plain_q8_0, 16 * stride, false)
KERNEL(plain_q4_k, 16 * stride, false)
KERNEL(panel_f32, stride, true)
KERNEL(panel_bf16, stride, true)
KERNEL(panel_f16, stride, true)
KERNEL(panel_q8_0, stride, true)
KERNEL(panel_q4_0, stride, true)
KERNEL(panel_q4_k, stride, true)
KERNEL(panel_q6_k, stride, true)

/* Block formats: 256 weights of sixteen rows at a time to f32 in `room`, and on as f32. */
static void plain_blocks(hn_elem type, HN_PARAMS_gemv)
{
    enum { CHUNK = 256, LD = HN_GEMV_ROOM / 16 };
    for (; groups > 0; groups--, w = (const char *)w + 16 * stride, y += 16)
        for (int64_t p = 0; p < k; p += CHUNK) {
            const int64_t n = k - p < CHUNK ? k - p : CHUNK;
            for (int row = 0; row < 16; row++)
                HN_KERNEL_NAME(decode_kernels)
                    .row[type](n, (const char *)w + row * stride + hn_elem_span(type, p),
                               room + LD * row);
            do_plain_f32(rows, 1, n, x + p * rows, room, LD * (int64_t)sizeof *room, y, ldy,
                         accumulate || p > 0, NULL);
        }
}
#define BLOCKS(name)                                                                           \
    static void do_plain_##name(HN_PARAMS_gemv)                                                \
    {                                                                                          \
        plain_blocks(HN_ELEM_##name, rows, groups, k, x, w, stride, y, ldy, accumulate, room); \
    }
BLOCKS(q4_0)
BLOCKS(q6_k)

/* Formats without a walk of their own: a panel is decoded 256 weights at a time into `room`,
 * which is then a panel of f32. */
static void panel_blocks(hn_elem type, HN_PARAMS_gemv)
{
    enum { CHUNK = 256 };
    for (; groups > 0; groups--, w = (const char *)w + stride, y += 16)
        for (int64_t p = 0; p < k; p += CHUNK) {
            const int64_t n = k - p < CHUNK ? k - p : CHUNK;
            HN_KERNEL_NAME(decode_kernels)
                .panel[type](n, (const char *)w + 16 * hn_elem_span(type, p), room, 16);
            do_panel_f32(rows, 1, n, x + p * rows, room, 0, y, ldy, accumulate || p > 0, NULL);
        }
}
#define DECODED(name)                                                                          \
    BLOCKS(name)                                                                               \
    static void do_panel_##name(HN_PARAMS_gemv)                                                \
    {                                                                                          \
        panel_blocks(HN_ELEM_##name, rows, groups, k, x, w, stride, y, ldy, accumulate, room); \
    }
DECODED(q4_1)
DECODED(q5_0)
DECODED(q5_1)
DECODED(q2_k)
DECODED(q3_k)
DECODED(q5_k)
DECODED(iq4_nl)
DECODED(iq4_xs)
DECODED(mxfp4)
DECODED(nvfp4)
DECODED(tq1_0)
DECODED(tq2_0)
DECODED(q1_0)
DECODED(q2_0)

const hn_gemv_kernels HN_KERNEL_NAME(gemv_kernels) = {
#define HN_ELEM_SLOT(name, elems, bytes, unit)                                                 \
    .plain[HN_ELEM_##name] = do_plain_##name, .panel[HN_ELEM_##name] = do_panel_##name,
    HN_ELEM_LIST(HN_ELEM_SLOT)
#undef HN_ELEM_SLOT
};
