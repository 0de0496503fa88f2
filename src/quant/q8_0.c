/* q8_0: y = q * d. 32 elements of 8 bits and one f16 scale: 8.5 bits a weight. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/grid.h"

#include <math.h>

enum { BLOCK = 32 };

typedef struct block {
    uint8_t d[2]; /* f16 */
    int8_t q[BLOCK];
} block;

_Static_assert(sizeof(block) == 34, "as in GGUF");

static const hn_grid grid = { -127, 127 };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        for (int j = 0; j < BLOCK; j++)
            out[i * BLOCK + j] = (float)b[i].q[j] * d;
    }
}

/* 255 levels leave little to search for: the largest element sits at 127, and the f16
 * neighbours of that scale are tried. */
static void encode_block(const float *x, const float *weight, block *out)
{
    float largest = 0;
    for (int j = 0; j < BLOCK; j++)
        largest = fabsf(x[j]) > largest ? fabsf(x[j]) : largest;
    const uint16_t centre = hn_f32_to_f16(largest / 127);
    double least = INFINITY;
    static const int steps[] = { 0, 1, -1, -2 };
    for (int s = 0; s < 4; s++) {
        const uint16_t d = (uint16_t)(centre + steps[s]);
        if (s && (centre < 2 || d >= 0x7c00))
            continue;
        block tried;
        hn_store_16(tried.d, d);
        const double error = hn_grid_round(grid, BLOCK, x, weight, hn_f16_to_f32(d), tried.q);
        if (error < least) {
            least = error;
            *out = tried;
        }
    }
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

const hn_format hn_format_q8_0 = {
    .name = "q8_0",
    .gguf_id = 8,
    .block_elements = BLOCK,
    .block_bytes = sizeof(block),
    .largest = 127 * 65504.0f,
    .error_bound = 0.0065,
    .error_floor = 256 * 0x1p-24,
    .decode = decode,
    .encode = encode,
};
