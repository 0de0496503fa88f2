/* q4_0: y = d * (q - 8). 32 elements of 4 bits and one f16 scale: 4.5 bits a weight. Byte j
 * holds element j in its low half and element j + 16 in its high half. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/grid.h"

#include <math.h>

enum { BLOCK = 32 };

typedef struct block {
    uint8_t d[2]; /* f16 */
    uint8_t q[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == 18, "as in GGUF");

static const hn_grid grid = { -8, 7 };

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

/* The largest element, with its sign, at -8: no clipping, and the scale that others use. */
static float plain_scale(const float *x)
{
    float largest = 0;
    for (int j = 0; j < BLOCK; j++)
        if (fabsf(x[j]) > fabsf(largest))
            largest = x[j];
    return largest / -8;
}

static void encode_block(const float *x, const float *weight, block *out)
{
    int8_t q[BLOCK], searched_q[BLOCK];
    uint16_t d = hn_f32_to_f16(plain_scale(x));
    const uint16_t searched = hn_f32_to_f16(hn_grid_fit(grid, BLOCK, x, weight));
    double least = hn_grid_round(grid, BLOCK, x, weight, hn_f16_to_f32(d), q);
    const float fitted = hn_f16_to_f32(searched);
    if (isfinite(fitted) && hn_grid_round(grid, BLOCK, x, weight, fitted, searched_q) < least) {
        d = searched;
        for (int j = 0; j < BLOCK; j++)
            q[j] = searched_q[j];
    }
    hn_store_16(out->d, d);
    for (int j = 0; j < BLOCK / 2; j++)
        out->q[j] = (uint8_t)((q[j] + 8) | (q[j + BLOCK / 2] + 8) << 4);
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

const hn_format hn_format_q4_0 = {
    .name = "q4_0",
    .gguf_id = 2,
    .block_elements = BLOCK,
    .block_bytes = sizeof(block),
    .largest = 8 * 65504.0f,
    .error_bound = 0.36,
    .error_floor = 8 * 0x1p-24,
    .decode = decode,
    .encode = encode,
};
