/* q4_0: y = d * (q - 8). 32 elements of 4 bits and one f16 scale: 4.5 bits a weight. Byte j
 * holds element j in its low half and element j + 16 in its high half. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/grid.h"
#include "quant/temper.h"

enum { BLOCK = HN_ELEMENTS_q4_0 };

typedef struct block {
    uint8_t d[2]; /* f16 */
    uint8_t q[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == HN_BYTES_q4_0, "as in GGUF");

/* The largest, with its sign, at either end or a little inside or outside. */
static const float spans[] = { -8, -7.5f, -8.6f, 7, 6, -7, 7.6f, -6, 5, -5, 4 };
static const hn_grid grid = { -8, 7, NULL, sizeof spans / sizeof *spans, spans };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        for (int j = 0; j < BLOCK / 2; j++) {
            out[j] = d * (float)((b[i].q[j] & 15) - 8);
            out[j + BLOCK / 2] = d * (float)((b[i].q[j] >> 4) - 8);
        }
    }
}

static void encode_block(const float *x, const float *weight, block *out)
{
    hn_samples samples;
    float q[BLOCK];
    hn_samples_take(&samples, BLOCK, x, weight);
    hn_store_16(out->d, hn_grid_fit_f16(&grid, &samples, BLOCK, q));
    for (int j = 0; j < BLOCK / 2; j++)
        out->q[j] = (uint8_t)(((int)q[j] + 8) | ((int)q[j + BLOCK / 2] + 8) << 4);
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
        hn_temper_f16(b[i].d, deviation / 4.637f);
}

const hn_format hn_format_q4_0 = {
    HN_FORMAT_HEAD(q4_0),
    .largest = 8 * 65504.0f,
    .error_bound = 0.36,
    .error_floor = 8 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
