/* tq2_0: y = d * (q - 1), q 0, 1 or 2. 256 elements of 2 bits and one f16 scale: 2.0625 bits a
 * weight. Each 128 elements have 32 bytes; element 32 s + m of them is bits 2 s of byte m. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/grid.h"
#include "quant/temper.h"

#include <string.h>

enum { BLOCK = HN_ELEMENTS_tq2_0 };

typedef struct block {
    uint8_t q[BLOCK / 4];
    uint8_t d[2]; /* f16 */
} block;

_Static_assert(sizeof(block) == HN_BYTES_tq2_0, "as in GGUF");

/* Exact for what is ternary already; the rest for bells and for long tails. */
static const float spans[] = { 1, 1.5f, 2, 2.5f, 3.2f, 4.5f, 7, 12 };
static const hn_grid grid = { -1, 1, NULL, sizeof spans / sizeof *spans, spans };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        for (int j = 0; j < BLOCK; j++) {
            const int q = b[i].q[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3;
            out[j] = d * (float)(q - 1);
        }
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
        out->q[j / 128 * 32 + j % 32] |= (uint8_t)(((int)q[j] + 1) << (j % 128 / 32 * 2));
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

/* The code 3 would be 2 d: it becomes 1, a zero, which is then half of all. */
static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        for (int j = 0; j < BLOCK / 4; j++)
            b[i].q[j] = (uint8_t)(b[i].q[j] & ~((b[i].q[j] & 0x55) << 1));
        hn_temper_f16(b[i].d, deviation / 0.7071f);
    }
}

const hn_format hn_format_tq2_0 = {
    HN_FORMAT_HEAD(tq2_0),
    .largest = 65504,
    .error_bound = 1,
    .error_floor = 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
