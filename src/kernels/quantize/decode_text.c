/* The decoders of decode.h. No multiply-add is contracted: every level rounds alike. */
#include "kernels/quantize/decode.h"
#include "kernels/quantize/lanes.h"

#include "base/half.h"

#include <string.h>

static inline float half_at(const uint8_t *x)
{
    uint16_t h;
    memcpy(&h, x, sizeof h);
#if defined(HN_LEVEL_avx2) || defined(HN_LEVEL_avx512)
    return _cvtsh_ss(h);
#else
    return hn_f16_to_f32(h);
#endif
}

static inline void halves_at(const uint8_t *x, float y[16]) { f_store(y, halves_f16(x)); }

static void row_f32(int64_t n, const void *x, float *y) { memcpy(y, x, (size_t)n * sizeof *y); }

static void row_f16(int64_t n, const void *x, float *y)
{
    const uint8_t *h = x;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        halves_at(h + 2 * i, y + i);
    for (; i < n; i++)
        y[i] = half_at(h + 2 * i);
}

static void row_bf16(int64_t n, const void *x, float *y)
{
    const uint8_t *bytes = x;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        f_store(y + i, f_from_bf16(h_load((const uint16_t *)(const void *)(bytes + 2 * i))));
    for (; i < n; i++) {
        uint16_t h;
        memcpy(&h, bytes + 2 * i, sizeof h);
        const uint32_t bits = (uint32_t)h << 16;
        memcpy(y + i, &bits, sizeof bits);
    }
}

static void row_q8_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 34) {
        const f32x16 d = f_set1(half_at(block));
        f_store(y + i, f_mul(i_to_f(bytes_i8(block + 2)), d));
        f_store(y + i + 16, f_mul(i_to_f(bytes_i8(block + 18)), d));
    }
}

static void row_q4_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 18) {
        const f32x16 d = f_set1(half_at(block));
        const i32x16 q = bytes_u8(block + 2);
        f_store(y + i, f_mul(nibble(q, -8), d));
        f_store(y + i + 16, f_mul(nibble(i_shr(q, 4), -8), d));
    }
}

/* Scale and minimum of sub-block j of a Q4_K block: six bits each, packed in twelve bytes. */
static inline int k_scale(const uint8_t *s, int j)
{
    return j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
}

static inline int k_min(const uint8_t *s, int j)
{
    return j < 4 ? s[j + 4] & 63 : (s[j + 4] >> 4) | (s[j] >> 6) << 4;
}

static void row_q4_k(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 144) {
        const float d = half_at(block), dmin = half_at(block + 2);
        const uint8_t *s = block + 4;
        for (int j = 0; j < 8; j += 2) {
            const f32x16 d0 = f_set1(d * (float)k_scale(s, j));
            const f32x16 m0 = f_set1(dmin * (float)k_min(s, j));
            const f32x16 d1 = f_set1(d * (float)k_scale(s, j + 1));
            const f32x16 m1 = f_set1(dmin * (float)k_min(s, j + 1));
            float *to = y + i + 32 * j;
            for (int l = 0; l < 32; l += 16) {
                const i32x16 q = bytes_u8(block + 16 + 16 * j + l);
                f_store(to + l, f_sub(f_mul(d0, nibble(q, 0)), m0));
                f_store(to + 32 + l, f_sub(f_mul(d1, nibble(i_shr(q, 4), 0)), m1));
            }
        }
    }
}

static void row_q6_k(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 256, block += 210) {
        const float d = half_at(block + 208);
        for (int h = 0; h < 2; h++)
            for (int is = 0; is < 2; is++) {
                const i32x16 a = bytes_u8(block + 64 * h + 16 * is);
                const i32x16 b = bytes_u8(block + 64 * h + 32 + 16 * is);
                const i32x16 top = bytes_u8(block + 128 + 32 * h + 16 * is);
                float *to = y + i + 128 * h + 16 * is;
                f32x16 scale[4];
                for (int g = 0; g < 4; g++)
                    scale[g] = f_set1(d * (float)(int8_t)block[192 + 8 * h + is + 2 * g]);
                f_store(to, f_mul(scale[0], six_bits(a, top, 0)));
                f_store(to + 32, f_mul(scale[1], six_bits(b, top, 1)));
                f_store(to + 64, f_mul(scale[2], six_bits(a, top, 2)));
                f_store(to + 96, f_mul(scale[3], six_bits(b, top, 3)));
            }
    }
}

/* Panels: the same formulas with a row in each lane. `x` is a block of sixteen rows. */

static void panel_f32(int64_t n, const void *x, float *y, int64_t ld)
{
    const float *from = x;
    for (int64_t p = 0; p < n; p++)
        memcpy(y + p * ld, from + 16 * p, 16 * sizeof *y);
}

static void panel_f16(int64_t n, const void *x, float *y, int64_t ld)
{
    for (int64_t p = 0; p < n; p++)
        halves_at((const uint8_t *)x + 32 * p, y + p * ld);
}

static void panel_bf16(int64_t n, const void *x, float *y, int64_t ld)
{
    for (int64_t p = 0; p < n; p++)
        row_bf16(16, (const uint8_t *)x + 32 * p, y + p * ld);
}

static void panel_q8_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 32, block += 16 * 34) {
        const f32x16 d = halves_f16(block);
        for (int j = 0; j < 32; j++)
            f_store(y + (p + j) * ld, f_mul(i_to_f(bytes_i8(block + 32 + 16 * j)), d));
    }
}

static void panel_q4_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 32, block += 16 * 18) {
        const f32x16 d = halves_f16(block);
        for (int j = 0; j < 16; j++) {
            const i32x16 q = bytes_u8(block + 32 + 16 * j);
            f_store(y + (p + j) * ld, f_mul(nibble(q, -8), d));
            f_store(y + (p + 16 + j) * ld, f_mul(nibble(i_shr(q, 4), -8), d));
        }
    }
}

static void panel_q4_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 144)
        for (int j = 0; j < 8; j += 2) {
            f32x16 d0, m0, d1, m1;
            k_scales(block, j, &d0, &m0);
            k_scales(block, j + 1, &d1, &m1);
            for (int i = 0; i < 32; i++) {
                const i32x16 q = bytes_u8(block + 256 + 16 * (16 * j + i));
                float *to = y + (p + 32 * j + i) * ld;
                f_store(to, f_sub(f_mul(d0, nibble(q, 0)), m0));
                f_store(to + 32 * ld, f_sub(f_mul(d1, nibble(i_shr(q, 4), 0)), m1));
            }
        }
}

static void panel_q6_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 210)
        for (int part = 0; part < 4; part++) { /* half and group of sixteen */
            const int h = part >> 1, is = part & 1;
            const f32x16 d = halves_f16(block + 16 * 208);
            f32x16 scale[4];
            for (int g = 0; g < 4; g++)
                scale[g] = f_mul(d, i_to_f(bytes_i8(block + 16 * (192 + 8 * h + is + 2 * g))));
            for (int i = 0; i < 16; i++) {
                const i32x16 a = bytes_u8(block + 16 * (64 * h + 16 * is + i));
                const i32x16 b = bytes_u8(block + 16 * (64 * h + 32 + 16 * is + i));
                const i32x16 top = bytes_u8(block + 16 * (128 + 32 * h + 16 * is + i));
                float *to = y + (p + 128 * h + 16 * is + i) * ld;
                f_store(to, f_mul(scale[0], six_bits(a, top, 0)));
                f_store(to + 32 * ld, f_mul(scale[1], six_bits(b, top, 1)));
                f_store(to + 64 * ld, f_mul(scale[2], six_bits(a, top, 2)));
                f_store(to + 96 * ld, f_mul(scale[3], six_bits(b, top, 3)));
            }
        }
}

const hn_decode_kernels HN_KERNEL_NAME(decode_kernels) = {
#define HN_ELEM_SLOTS(name, elems, bytes, unit)                                                \
    .row[HN_ELEM_##name] = row_##name, .panel[HN_ELEM_##name] = panel_##name,
    HN_ELEM_LIST(HN_ELEM_SLOTS)
#undef HN_ELEM_SLOTS
};
