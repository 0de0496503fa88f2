/* Few rows of x by many rows of w, at one level. Each format is a walk over k that hands
 * vectors of sixteen weights, for ascending k, to TAKE; rows and groups are constants in it, so
 * that the accumulators are registers. */
#include "kernels/gemm/transpose.h"
#include "kernels/gemv/gemv.h"
#include "kernels/gemv/lanes.h"
#include "kernels/simd/f32x16.h"

#define WALK_PARAMS                                                                            \
    const int rows, const int groups, int64_t k, const float *x, const uint8_t *w,             \
        int64_t stride, f32x16 acc[HN_GEMV_GROUPS][HN_GEMV_ROWS]

/* acc[g][:] += v * x[p][:] */
HN_INLINE void take(f32x16 v, int g, int64_t p, const int rows, const float *x,
                    f32x16 acc[HN_GEMV_GROUPS][HN_GEMV_ROWS])
{
    for (int r = 0; r < rows; r++)
        acc[g][r] = f_fma(v, f_set1(x[p * rows + r]), acc[g][r]);
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

/* A cache line of each of sixteen rows, taken whole: rows may all fall into one set of the
 * first-level cache, and would not be there for a second piece. */
HN_INLINE void take_lines(const uint8_t *w, int64_t stride, float lines[16][16])
{
    for (int row = 0; row < 16; row++) {
        __builtin_prefetch(w + row * stride + 512);
        f_store(lines[row], f_load((const float *)(const void *)(w + row * stride)));
    }
}

HN_INLINE void plain_f32(WALK_PARAMS)
{
    int64_t p = 0;
    for (; p + 16 <= k; p += 16)
        for (int g = 0; g < groups; g++) {
            float lines[16][16];
            take_lines(w + 16 * g * stride + 4 * p, stride, lines);
            for (int part = 0; part < 16; part += 4) {
                f32x16 v[4];
                transpose4((const char *)(lines[0] + part), sizeof lines[0], v);
                for (int i = 0; i < 4; i++)
                    TAKE(v[i], g, p + part + i);
            }
        }
    for (; p < k; p++)
        for (int g = 0; g < groups; g++)
            TAKE(column(w + 16 * g * stride, stride, p), g, p);
}

/* Two halves in each 32-bit word: the first is the low one. */
#define PLAIN_HALVES(name, low_half, high_half, one)                                           \
    HN_INLINE void plain_##name(WALK_PARAMS)                                                   \
    {                                                                                          \
        int64_t p = 0;                                                                         \
        for (; p + 32 <= k; p += 32)                                                           \
            for (int g = 0; g < groups; g++) {                                                 \
                float lines[16][16];                                                           \
                take_lines(w + 16 * g * stride + 2 * p, stride, lines);                        \
                for (int part = 0; part < 16; part += 4) {                                     \
                    f32x16 v[4];                                                               \
                    transpose4((const char *)(lines[0] + part), sizeof lines[0], v);           \
                    for (int i = 0; i < 4; i++) {                                              \
                        TAKE(low_half(f_bits(v[i])), g, p + 2 * (part + i));                   \
                        TAKE(high_half(f_bits(v[i])), g, p + 2 * (part + i) + 1);              \
                    }                                                                          \
                }                                                                              \
            }                                                                                  \
        for (; p < k; p++)                                                                     \
            for (int g = 0; g < groups; g++) {                                                 \
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

HN_INLINE void panel_f32(WALK_PARAMS)
{
    for (int64_t p = 0; p < k; p++)
        for (int g = 0; g < groups; g++)
            TAKE(f_load((const float *)(const void *)(w + g * stride + 64 * p)), g, p);
}

HN_INLINE void panel_bf16(WALK_PARAMS)
{
    for (int64_t p = 0; p < k; p++)
        for (int g = 0; g < groups; g++)
            TAKE(f_from_bf16(h_load((const uint16_t *)(const void *)(w + g * stride + 32 * p))),
                 g, p);
}

HN_INLINE void panel_f16(WALK_PARAMS)
{
    for (int64_t p = 0; p < k; p++)
        for (int g = 0; g < groups; g++)
            TAKE(f_from_f16(h_load((const uint16_t *)(const void *)(w + g * stride + 32 * p))),
                 g, p);
}

HN_INLINE void panel_q8_0(WALK_PARAMS)
{
    for (int64_t p = 0; p < k; p += 32, w += 16 * 34) {
        f32x16 d[HN_GEMV_GROUPS];
        for (int g = 0; g < groups; g++)
            d[g] = halves_f16(w + g * stride);
        for (int j = 0; j < 32; j++)
            for (int g = 0; g < groups; g++)
                TAKE(f_mul(i_to_f(bytes_i8(w + g * stride + 32 + 16 * j)), d[g]), g, p + j);
    }
}

HN_INLINE void panel_q4_0(WALK_PARAMS)
{
    for (int64_t p = 0; p < k; p += 32, w += 16 * 18) {
        f32x16 d[HN_GEMV_GROUPS];
        for (int g = 0; g < groups; g++)
            d[g] = halves_f16(w + g * stride);
        for (int j = 0; j < 16; j++)
            for (int g = 0; g < groups; g++) {
                const i32x16 q = bytes_u8(w + g * stride + 32 + 16 * j);
                TAKE(f_mul(nibble(q, -8), d[g]), g, p + j);
            }
        for (int j = 0; j < 16; j++)
            for (int g = 0; g < groups; g++) {
                const i32x16 q = bytes_u8(w + g * stride + 32 + 16 * j);
                TAKE(f_mul(nibble(i_shr(q, 4), -8), d[g]), g, p + 16 + j);
            }
    }
}

/* Six-bit scale and minimum of sub-block j, times d and dmin, for sixteen rows. */
HN_INLINE void k_scales(const uint8_t *block, int j, f32x16 *scale, f32x16 *minimum)
{
    const uint8_t *s = block + 64;
    const f32x16 d = halves_f16(block), dmin = halves_f16(block + 32);
    i32x16 sc, mn;
    if (j < 4) {
        sc = i_and(bytes_u8(s + 16 * j), i_set1(63));
        mn = i_and(bytes_u8(s + 16 * (j + 4)), i_set1(63));
    } else {
        const i32x16 both = bytes_u8(s + 16 * (j + 4));
        sc = i_or(i_and(both, i_set1(15)), i_shl(i_shr(bytes_u8(s + 16 * (j - 4)), 6), 4));
        mn = i_or(i_shr(both, 4), i_shl(i_shr(bytes_u8(s + 16 * j), 6), 4));
    }
    *scale = f_mul(d, i_to_f(sc));
    *minimum = f_mul(dmin, i_to_f(mn));
}

HN_INLINE void panel_q4_k(WALK_PARAMS)
{
    for (int64_t p = 0; p < k; p += 256, w += 16 * 144)
        for (int j = 0; j < 8; j++) {
            f32x16 d[HN_GEMV_GROUPS], m[HN_GEMV_GROUPS];
            for (int g = 0; g < groups; g++)
                k_scales(w + g * stride, j, d + g, m + g);
            const uint8_t *q = w + 256 + 16 * 32 * (j / 2);
            if (j & 1) {
                for (int i = 0; i < 32; i++)
                    for (int g = 0; g < groups; g++) {
                        const i32x16 b = i_shr(bytes_u8(q + g * stride + 16 * i), 4);
                        TAKE(f_sub(f_mul(d[g], nibble(b, 0)), m[g]), g, p + 32 * j + i);
                    }
            } else {
                for (int i = 0; i < 32; i++)
                    for (int g = 0; g < groups; g++) {
                        const i32x16 b = bytes_u8(q + g * stride + 16 * i);
                        TAKE(f_sub(f_mul(d[g], nibble(b, 0)), m[g]), g, p + 32 * j + i);
                    }
            }
        }
}

/* Sub-block `part` (0..15) of a Q6_K block, sixteen values: quarters of 32 share bytes. */
HN_INLINE void q6_k_part(WALK_PARAMS, int64_t p, int part)
{
    const int h = part >> 3, quarter = part >> 1 & 3, is = part & 1;
    const int low_at = 64 * h + 32 * (quarter & 1) + 16 * is, top_at = 128 + 32 * h + 16 * is;
    f32x16 d[HN_GEMV_GROUPS];
    (void)k;
    for (int g = 0; g < groups; g++)
        d[g] = f_mul(halves_f16(w + g * stride + 16 * 208),
                     i_to_f(bytes_i8(w + g * stride + 16 * (192 + 8 * h + is + 2 * quarter))));
    for (int i = 0; i < 16; i++)
        for (int g = 0; g < groups; g++) {
            const i32x16 low = bytes_u8(w + g * stride + 16 * (low_at + i));
            const i32x16 top = bytes_u8(w + g * stride + 16 * (top_at + i));
            const i32x16 four = quarter < 2 ? i_and(low, i_set1(15)) : i_shr(low, 4);
            const i32x16 two = i_and(quarter == 0   ? top
                                     : quarter == 1 ? i_shr(top, 2)
                                     : quarter == 2 ? i_shr(top, 4)
                                                    : i_shr(top, 6),
                                     i_set1(3));
            const i32x16 q = i_sub(i_or(four, i_shl(two, 4)), i_set1(32));
            TAKE(f_mul(d[g], i_to_f(q)), g, p + 16 * part + i);
        }
}

HN_INLINE void panel_q6_k(WALK_PARAMS)
{
    for (int64_t p = 0; p < k; p += 256, w += 16 * 210) {
#define PART(part) q6_k_part(rows, groups, k, x, w, stride, acc, p, part);
        PART(0)
        PART(1) PART(2) PART(3) PART(4) PART(5) PART(6) PART(7) PART(8) PART(9) PART(10)
            PART(11) PART(12) PART(13) PART(14) PART(15)
#undef PART
    }
}

/* A walk between loading and storing its accumulators. */
#define AROUND(walk, n_rows, n_groups)                                                         \
    {                                                                                          \
        f32x16 acc[HN_GEMV_GROUPS][HN_GEMV_ROWS];                                              \
        for (int g = 0; g < n_groups; g++)                                                     \
            for (int r = 0; r < n_rows; r++)                                                   \
                acc[g][r] = accumulate ? f_load(y + r * ldy + 16 * g) : f_zero();              \
        walk(n_rows, n_groups, k, x, w, stride, acc);                                          \
        for (int g = 0; g < n_groups; g++)                                                     \
            for (int r = 0; r < n_rows; r++)                                                   \
                f_store(y + r * ldy + 16 * g, acc[g][r]);                                      \
    }

/* More groups where there are few rows, to hide the latency of the chains. `span` is the bytes
 * from one group to the next. */
#define KERNEL(walk, span)                                                                     \
    static void do_##walk(HN_PARAMS_gemv)                                                      \
    {                                                                                          \
        if (rows == 1 && groups == 4) {                                                        \
            AROUND(walk, 1, 4)                                                                 \
            return;                                                                            \
        }                                                                                      \
        for (; groups > 0; groups--, w = (const char *)w + (span), y += 16)                    \
            switch (rows) {                                                                    \
            case 1:                                                                            \
                AROUND(walk, 1, 1) break;                                                      \
            case 2:                                                                            \
                if (groups >= 2) {                                                             \
                    AROUND(walk, 2, 2)                                                         \
                    groups--, w = (const char *)w + (span), y += 16;                           \
                    break;                                                                     \
                }                                                                              \
                AROUND(walk, 2, 1) break;                                                      \
            case 3:                                                                            \
                AROUND(walk, 3, 1) break;                                                      \
            case 4:                                                                            \
                AROUND(walk, 4, 1) break;                                                      \
            case 5:                                                                            \
                AROUND(walk, 5, 1) break;                                                      \
            case 6:                                                                            \
                AROUND(walk, 6, 1) break;                                                      \
            case 7:                                                                            \
                AROUND(walk, 7, 1) break;                                                      \
            default:                                                                           \
                AROUND(walk, 8, 1) break;                                                      \
            }                                                                                  \
    }
KERNEL(plain_f32, 16 * stride)
KERNEL(plain_bf16, 16 * stride)
KERNEL(plain_f16, 16 * stride)
KERNEL(panel_f32, stride)
KERNEL(panel_bf16, stride)
KERNEL(panel_f16, stride)
KERNEL(panel_q8_0, stride)
KERNEL(panel_q4_0, stride)
KERNEL(panel_q4_k, stride)
KERNEL(panel_q6_k, stride)

const hn_gemv_kernels HN_KERNEL_NAME(gemv_kernels) = {
    .plain = { [HN_ELEM_f32] = do_plain_f32,
               [HN_ELEM_f16] = do_plain_f16,
               [HN_ELEM_bf16] = do_plain_bf16 },
#define HN_ELEM_SLOT(name, elems, bytes, unit) [HN_ELEM_##name] = do_panel_##name,
    .panel = { HN_ELEM_LIST(HN_ELEM_SLOT) },
#undef HN_ELEM_SLOT
};
