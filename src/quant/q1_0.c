/* q1_0: y = d or -d. 128 elements of 1 bit, set for d, and one f16 scale: 1.125 bits a weight.
 */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/temper.h"

#include <math.h>
#include <string.h>

enum { BLOCK = HN_ELEMENTS_q1_0 };

typedef struct block {
    uint8_t d[2]; /* f16 */
    uint8_t bits[BLOCK / 8];
} block;

_Static_assert(sizeof(block) == HN_BYTES_q1_0, "as in GGUF");

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        for (int j = 0; j < BLOCK; j++)
            out[i * BLOCK + j] = b[i].bits[j / 8] >> (j % 8) & 1 ? d : -d;
    }
}

/* The mean magnitude is the best d. */
static void encode_block(const float *x, const float *weight, block *out)
{
    hn_samples samples;
    double sum = 0, weights = 0;
    hn_samples_take(&samples, BLOCK, x, weight);
    memset(out, 0, sizeof *out);
    for (int j = 0; j < BLOCK; j++) {
        sum += (double)fabsf(samples.wx[j]);
        weights += (double)samples.weight[j];
        out->bits[j / 8] |= (uint8_t)((x[j] >= 0) << (j % 8));
    }
    hn_store_16(out->d, hn_f16_within((float)(sum / weights) * samples.unit));
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
        hn_temper_f16(b[i].d, deviation / 1);
}

const hn_format hn_format_q1_0 = {
    HN_FORMAT_HEAD(q1_0),
    .largest = 65504,
    .error_bound = 1,
    .error_floor = 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
