/* q4_1: y = d * q + m. 32 elements of 4 bits, a scale and a minimum in f16: 5 bits a weight.
 * Byte j holds element j in its low half and element j + 16 in its high half. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/affine.h"
#include "quant/temper.h"

enum { BLOCK = HN_ELEMENTS_q4_1 };

typedef struct block {
    uint8_t d[2], m[2]; /* f16 */
    uint8_t q[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == HN_BYTES_q4_1, "as in GGUF");

static const float spans[] = { 15, 14.5f, 14, 13.5f, 15.5f, 16 };
static const hn_affine_grid grid = { 15, true, sizeof spans / sizeof *spans, spans };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        const float m = hn_f16_to_f32(hn_load_16(b[i].m));
        for (int j = 0; j < BLOCK / 2; j++) {
            out[j] = d * (float)(b[i].q[j] & 15) + m;
            out[j + BLOCK / 2] = d * (float)(b[i].q[j] >> 4) + m;
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
    for (int j = 0; j < BLOCK / 2; j++)
        out->q[j] = (uint8_t)((int)fit.q[j] | (int)fit.q[j + BLOCK / 2] << 4);
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
        const float d = hn_temper_f16(b[i].d, deviation / 4.61f);
        hn_store_16(b[i].m, hn_f16_within(d * -7.5f));
    }
}

const hn_format hn_format_q4_1 = {
    HN_FORMAT_HEAD(q4_1),
    .largest = 65504,
    .error_bound = 0.2,
    .error_floor = 32 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
