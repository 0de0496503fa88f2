/* q8_0: y = q * d. 32 elements of 8 bits and one f16 scale: 8.5 bits a weight. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/grid.h"
#include "quant/temper.h"

#include <math.h>

enum { BLOCK = HN_ELEMENTS_q8_0 };

typedef struct block {
    uint8_t d[2]; /* f16 */
    int8_t q[BLOCK];
} block;

_Static_assert(sizeof(block) == HN_BYTES_q8_0, "as in GGUF");

static const float spans[] = { 127 };
static const hn_grid grid = { -127, 127, NULL, 1, spans };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        for (int j = 0; j < BLOCK; j++)
            out[i * BLOCK + j] = (float)b[i].q[j] * d;
    }
}

/* 255 levels leave little to search for: the largest sits at 127, and the scale is refined. */
static void encode_block(const float *x, const float *weight, block *out)
{
    hn_samples samples;
    float q[BLOCK], largest = 0;
    hn_samples_take(&samples, BLOCK, x, weight);
    for (int j = 0; j < BLOCK; j++)
        largest = fabsf(samples.x[j]) > largest ? fabsf(samples.x[j]) : largest;
    hn_store_16(out->d, hn_grid_round_f16(&grid, &samples, BLOCK, largest / 127, q));
    for (int j = 0; j < BLOCK; j++)
        out->q[j] = (int8_t)q[j];
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
        hn_temper_f16(b[i].d, deviation / 73.9f);
}

const hn_format hn_format_q8_0 = {
    HN_FORMAT_HEAD(q8_0),
    .largest = 127 * 65504.0f,
    .error_bound = 0.0065,
    .error_floor = 256 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
