/* q2_0: y = (q - 1) * d. 64 elements of 2 bits, four to a byte from the low end, and one f16
 * scale: 2.25 bits a weight. The points -1, 0, 1, 2 are lopsided: a negative d mirrors them. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/grid.h"
#include "quant/temper.h"

#include <string.h>

enum { BLOCK = HN_ELEMENTS_q2_0 };

typedef struct block {
    uint8_t d[2]; /* f16 */
    uint8_t q[BLOCK / 4];
} block;

_Static_assert(sizeof(block) == HN_BYTES_q2_0, "as in GGUF");

static const float spans[] = { 2, 1.6f, 2.5f, 1, 3.2f, -1, -1.6f, -2.3f, 4.5f, -3.5f };
static const hn_grid grid = { -1, 2, NULL, sizeof spans / sizeof *spans, spans };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        for (int j = 0; j < BLOCK; j++)
            out[i * BLOCK + j] = (float)((b[i].q[j / 4] >> (j % 4 * 2) & 3) - 1) * d;
    }
}

static void encode_block(const float *x, const float *weight, block *out)
{
    hn_samples samples;
    float q[BLOCK];
    hn_samples_take(&samples, BLOCK, x, weight);
    memset(out, 0, sizeof *out);
    hn_store_16(out->d, hn_grid_fit_f16(&grid, &samples, BLOCK, q));
    for (int j = 0; j < BLOCK; j++)
        out->q[j / 4] |= (uint8_t)(((int)q[j] + 1) << (j % 4 * 2));
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
        hn_temper_f16(b[i].d, deviation / 1.2247f);
}

const hn_format hn_format_q2_0 = {
    HN_FORMAT_HEAD(q2_0),
    .largest = 65504,
    .error_bound = 1,
    .error_floor = 2 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
