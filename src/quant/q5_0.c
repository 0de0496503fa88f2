/* q5_0: y = d * (q - 16). 32 elements of 5 bits and one f16 scale: 5.5 bits a weight. The low
 * four bits lie as in q4_0; bit j of `high` is the fifth of element j. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/grid.h"
#include "quant/temper.h"

enum { BLOCK = HN_ELEMENTS_q5_0 };

typedef struct block {
    uint8_t d[2]; /* f16 */
    uint8_t high[4];
    uint8_t low[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == HN_BYTES_q5_0, "as in GGUF");

static const float spans[] = { -16, -15, 15, -14, 14, 13, -13, -15.5f, 14.5f, -16.6f };
static const hn_grid grid = { -16, 15, NULL, sizeof spans / sizeof *spans, spans };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        const uint32_t high = hn_load_32(b[i].high);
        for (int j = 0; j < BLOCK; j++) {
            const int low = b[i].low[j % 16] >> (j / 16 * 4) & 15;
            const int q = low | (int)(high >> j & 1) << 4;
            out[i * BLOCK + j] = d * (float)(q - 16);
        }
    }
}

static void encode_block(const float *x, const float *weight, block *out)
{
    hn_samples samples;
    float q[BLOCK];
    uint32_t high = 0;
    hn_samples_take(&samples, BLOCK, x, weight);
    hn_store_16(out->d, hn_grid_fit_f16(&grid, &samples, BLOCK, q));
    for (int j = 0; j < BLOCK / 2; j++) {
        const uint32_t a = (uint32_t)((int)q[j] + 16), b = (uint32_t)((int)q[j + 16] + 16);
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

static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        hn_temper_f16(b[i].d, deviation / 9.247f);
}

const hn_format hn_format_q5_0 = {
    HN_FORMAT_HEAD(q5_0),
    .largest = 15 * 65504.0f,
    .error_bound = 0.2,
    .error_floor = 16 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
