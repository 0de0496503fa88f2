/* The decoders of decode.h. Plain loops of constant length: the compiler turns each into the
 * level's vectors, and no multiply-add is contracted, so every level rounds alike. */
#include "kernels/quantize/decode.h"

#include "base/half.h"

#include <string.h>

#if defined(HN_LEVEL_avx2) || defined(HN_LEVEL_avx512)
#include <immintrin.h>
#elif defined(HN_LEVEL_neon)
#include <arm_neon.h>
#endif

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

static inline void halves_at(const uint8_t *x, float y[16])
{
#if defined(HN_LEVEL_avx512)
    _mm512_storeu_ps(y, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)x)));
#elif defined(HN_LEVEL_avx2)
    for (int i = 0; i < 16; i += 8)
        _mm256_storeu_ps(y + i, _mm256_cvtph_ps(_mm_loadu_si128(
                                    (const __m128i *)(const void *)(x + 2 * i))));
#elif defined(HN_LEVEL_neon)
    for (int i = 0; i < 16; i += 4)
        vst1q_f32(y + i,
                  vcvt_f32_f16(vreinterpret_f16_u16(vreinterpret_u16_u8(vld1_u8(x + 2 * i)))));
#else
    for (int i = 0; i < 16; i++)
        y[i] = half_at(x + 2 * i);
#endif
}

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
    for (int64_t i = 0; i < n; i++) {
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
        const float d = half_at(block);
        int8_t q[32];
        memcpy(q, block + 2, sizeof q);
        for (int j = 0; j < 32; j++)
            y[i + j] = (float)q[j] * d;
    }
}

static void row_q4_0(int64_t n, const void *x, float *y)
{
    const uint8_t *block = x;
    for (int64_t i = 0; i < n; i += 32, block += 18) {
        const float d = half_at(block);
        uint8_t q[16];
        memcpy(q, block + 2, sizeof q);
        for (int j = 0; j < 16; j++)
            y[i + j] = (float)((q[j] & 15) - 8) * d;
        for (int j = 0; j < 16; j++)
            y[i + 16 + j] = (float)((q[j] >> 4) - 8) * d;
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
            const float d0 = d * (float)k_scale(s, j), m0 = dmin * (float)k_min(s, j);
            const float d1 = d * (float)k_scale(s, j + 1), m1 = dmin * (float)k_min(s, j + 1);
            uint8_t q[32];
            memcpy(q, block + 16 + 16 * j, sizeof q);
            float *to = y + i + 32 * j;
            for (int l = 0; l < 32; l++)
                to[l] = d0 * (float)(q[l] & 15) - m0;
            for (int l = 0; l < 32; l++)
                to[32 + l] = d1 * (float)(q[l] >> 4) - m1;
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
                uint8_t a[16], b[16], top[16];
                memcpy(a, block + 64 * h + 16 * is, 16);
                memcpy(b, block + 64 * h + 32 + 16 * is, 16);
                memcpy(top, block + 128 + 32 * h + 16 * is, 16);
                float *to = y + i + 128 * h + 16 * is, s[4];
                for (int g = 0; g < 4; g++)
                    s[g] = d * (float)(int8_t)block[192 + 8 * h + is + 2 * g];
                for (int l = 0; l < 16; l++)
                    to[l] = s[0] * (float)(((a[l] & 15) | (top[l] & 3) << 4) - 32);
                for (int l = 0; l < 16; l++)
                    to[32 + l] = s[1] * (float)(((b[l] & 15) | (top[l] >> 2 & 3) << 4) - 32);
                for (int l = 0; l < 16; l++)
                    to[64 + l] = s[2] * (float)(((a[l] >> 4) | (top[l] >> 4 & 3) << 4) - 32);
                for (int l = 0; l < 16; l++)
                    to[96 + l] = s[3] * (float)(((b[l] >> 4) | (top[l] >> 6) << 4) - 32);
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
        float d[16];
        halves_at(block, d);
        for (int j = 0; j < 32; j++) {
            int8_t q[16];
            memcpy(q, block + 32 + 16 * j, 16);
            float *to = y + (p + j) * ld;
            for (int l = 0; l < 16; l++)
                to[l] = (float)q[l] * d[l];
        }
    }
}

static void panel_q4_0(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 32, block += 16 * 18) {
        float d[16];
        halves_at(block, d);
        for (int j = 0; j < 16; j++) {
            uint8_t q[16];
            memcpy(q, block + 32 + 16 * j, 16);
            float *low = y + (p + j) * ld, *high = low + 16 * ld;
            for (int l = 0; l < 16; l++)
                low[l] = (float)((q[l] & 15) - 8) * d[l];
            for (int l = 0; l < 16; l++)
                high[l] = (float)((q[l] >> 4) - 8) * d[l];
        }
    }
}

/* d * scale and dmin * minimum of sub-block j for sixteen rows; s is twelve bytes of each. */
static inline void k_scales16(const uint8_t *s, int j, const float d[16], const float dmin[16],
                              float scale[16], float least[16])
{
    uint8_t low[16], high[16], top[16];
    memcpy(low, s + 16 * (j < 4 ? j : j + 4), 16);
    memcpy(high, s + 16 * (j < 4 ? j + 4 : j), 16);
    memcpy(top, s + 16 * (j < 4 ? j : j - 4), 16);
    for (int l = 0; l < 16; l++) {
        const int sc = j < 4 ? low[l] & 63 : (low[l] & 15) | (top[l] >> 6) << 4;
        const int mn = j < 4 ? high[l] & 63 : (low[l] >> 4) | (high[l] >> 6) << 4;
        scale[l] = d[l] * (float)sc;
        least[l] = dmin[l] * (float)mn;
    }
}

static void panel_q4_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 144) {
        float d[16], dmin[16], d0[16], d1[16], m0[16], m1[16];
        halves_at(block, d);
        halves_at(block + 32, dmin);
        for (int j = 0; j < 8; j += 2) {
            k_scales16(block + 64, j, d, dmin, d0, m0);
            k_scales16(block + 64, j + 1, d, dmin, d1, m1);
            for (int i = 0; i < 32; i++) {
                uint8_t q[16];
                memcpy(q, block + 256 + 16 * (16 * j + i), 16);
                float *low = y + (p + 32 * j + i) * ld, *high = low + 32 * ld;
                for (int l = 0; l < 16; l++)
                    low[l] = d0[l] * (float)(q[l] & 15) - m0[l];
                for (int l = 0; l < 16; l++)
                    high[l] = d1[l] * (float)(q[l] >> 4) - m1[l];
            }
        }
    }
}

static void panel_q6_k(int64_t n, const void *x, float *y, int64_t ld)
{
    const uint8_t *block = x;
    for (int64_t p = 0; p < n; p += 256, block += 16 * 210) {
        float d[16], s[4][16];
        halves_at(block + 16 * 208, d);
        for (int part = 0; part < 4; part++) { /* half and group of sixteen */
            const int h = part >> 1, is = part & 1;
            for (int g = 0; g < 4; g++)
                for (int l = 0; l < 16; l++)
                    s[g][l] = d[l] * (float)(int8_t)block[16 * (192 + 8 * h + is + 2 * g) + l];
            for (int i = 0; i < 16; i++) {
                uint8_t a[16], b[16], top[16];
                memcpy(a, block + 16 * (64 * h + 16 * is + i), 16);
                memcpy(b, block + 16 * (64 * h + 32 + 16 * is + i), 16);
                memcpy(top, block + 16 * (128 + 32 * h + 16 * is + i), 16);
                float *to = y + (p + 128 * h + 16 * is + i) * ld;
                for (int l = 0; l < 16; l++)
                    to[l] = s[0][l] * (float)(((a[l] & 15) | (top[l] & 3) << 4) - 32);
                for (int l = 0; l < 16; l++)
                    to[32 * ld + l] =
                        s[1][l] * (float)(((b[l] & 15) | (top[l] >> 2 & 3) << 4) - 32);
                for (int l = 0; l < 16; l++)
                    to[64 * ld + l] =
                        s[2][l] * (float)(((a[l] >> 4) | (top[l] >> 4 & 3) << 4) - 32);
                for (int l = 0; l < 16; l++)
                    to[96 * ld + l] =
                        s[3][l] * (float)(((b[l] >> 4) | (top[l] >> 6) << 4) - 32);
            }
        }
    }
}

const hn_decode_kernels HN_KERNEL_NAME(decode_kernels) = {
#define HN_ELEM_SLOTS(name, elems, bytes, unit)                                                \
    .row[HN_ELEM_##name] = row_##name, .panel[HN_ELEM_##name] = panel_##name,
    HN_ELEM_LIST(HN_ELEM_SLOTS)
#undef HN_ELEM_SLOTS
};
