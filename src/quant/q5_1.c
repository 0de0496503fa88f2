/* q5_1: y = d * q + m. 32 elements of 5 bits, a scale and a minimum in f16: 6 bits a weight.
 * Bits lie as in q5_0. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/affine.h"
#include "quant/temper.h"

enum { BLOCK = HN_ELEMENTS_q5_1 };

typedef struct block {
    uint8_t d[2], m[2]; /* f16 */
    uint8_t high[4];
    uint8_t low[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == HN_BYTES_q5_1, "as in GGUF");

static const float spans[] = { 31, 30.3f, 29.6f, 29, 31.6f };
static const hn_affine_grid grid = { 31, true, sizeof spans / sizeof *spans, spans };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        const float m = hn_f16_to_f32(hn_load_16(b[i].m));
        const uint32_t high = hn_load_32(b[i].high);
        for (int j = 0; j < BLOCK; j++) {
            const int low = b[i].low[j % 16] >> (j / 16 * 4) & 15;
            out[i * BLOCK + j] = d * (float)(low | (int)(high >> j & 1) << 4) + m;
        }
    }
}

static void encode_block(const float *x, const float *weight, block *out)
{
    hn_samples samples;
    hn_affine_f16 fit;
    hn_samples_take(&samples, BLOCK, x, weight);
    hn_affine_fit_f16(&grid, &samples, BLOCK, &fit);
    hn_store_16(out->d, fit.d);
    hn_store_16(out->m, fit.m);
    uint32_t high = 0;
    for (int j = 0; j < BLOCK / 2; j++) {
        const uint32_t a = (uint32_t)fit.q[j], b = (uint32_t)fit.q[j + 16];
        out->low[j] = (uint8_t)((a & 15) | (b & 15) << 4);
        high |= a >> 4 << j | b >> 4 << (j + 16);
    }
    hn_store_32(out->high, high);
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

/* m = -d top / 2 puts the middle at zero. */
static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const float d = hn_temper_f16(b[i].d, deviation / 9.233f);
        hn_store_16(b[i].m, hn_f16_within(d * -15.5f));
    }
}

const hn_format hn_format_q5_1 = {
    HN_FORMAT_HEAD(q5_1),
    .largest = 65504,
    .error_bound = 0.1,
    .error_floor = 32 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
