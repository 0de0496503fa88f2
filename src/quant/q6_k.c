/* q6_k: y = (d * scale) * (q - 32). 256 elements of 6 bits, a scale of 8 bits for each 16, one
 * f16: 6.5625 bits a weight.
 *
 * Each half of 128 elements has 64 bytes of low bits and 32 of high ones. Element 32 * part + l
 * of it (part 0 .. 3) has its low four bits in byte l + 32 * (part % 2), in the high nibble
 * from part 2 on, and its high two in bits 2 * part of byte l. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/grid.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { BLOCK = 256, GROUP = 16, N_GROUPS = BLOCK / GROUP };

typedef struct block {
    uint8_t low[BLOCK / 2];
    uint8_t high[BLOCK / 4];
    int8_t scale[N_GROUPS];
    uint8_t d[2]; /* f16 */
} block;

_Static_assert(sizeof(block) == 210, "as in GGUF");

static const hn_grid grid = { -32, 31 };
static const hn_grid scale_grid = { -128, 127 };

/* A block before its bits are packed. */
typedef struct draft {
    uint16_t d;
    int8_t scale[N_GROUPS];
    int8_t q[BLOCK];
    double error;
} draft;

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, b++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b->d));
        for (int j = 0; j < BLOCK; j++) {
            const int half = j / 128, part = j % 128 / 32, l = j % 32;
            const int low = b->low[64 * half + 32 * (part % 2) + l] >> (part / 2 * 4) & 15;
            const int high = b->high[32 * half + l] >> (2 * part) & 3;
            const float scale = d * (float)b->scale[j / GROUP];
            out[j] = scale * (float)((low | high << 4) - 32);
        }
    }
}

static void pack(const draft *from, block *out)
{
    memset(out, 0, sizeof *out);
    hn_store_16(out->d, from->d);
    memcpy(out->scale, from->scale, sizeof out->scale);
    for (int j = 0; j < BLOCK; j++) {
        const int half = j / 128, part = j % 128 / 32, l = j % 32, q = from->q[j] + 32;
        out->low[64 * half + 32 * (part % 2) + l] |= (uint8_t)((q & 15) << (part / 2 * 4));
        out->high[32 * half + l] |= (uint8_t)(q >> 4 << (2 * part));
    }
}

/* Given d, each group's 8-bit scale: the nearest to what it wanted, or a neighbour. */
static draft choose_scales(const float *x, const float *weight, const float *wanted, uint16_t d)
{
    draft made = { .d = d };
    const float size = hn_f16_to_f32(d);
    for (int g = 0; g < N_GROUPS; g++) {
        const int centre = hn_grid_point(scale_grid, wanted[g], size);
        const float *w = weight ? weight + g * GROUP : NULL;
        double least = INFINITY;
        for (int step = 0; step < 3; step++) {
            const int scale = centre + (step == 2 ? -1 : step);
            int8_t q[GROUP];
            if (scale < scale_grid.low || scale > scale_grid.high)
                continue;
            const double error =
                hn_grid_round(grid, GROUP, x + g * GROUP, w, size * (float)scale, q);
            if (error >= least)
                continue;
            least = error;
            made.scale[g] = (int8_t)scale;
            memcpy(made.q + g * GROUP, q, sizeof q);
        }
        made.error += least;
    }
    return made;
}

/* The d of least squared error for the draft's scales and points, or 0. */
static float refine(const float *x, const float *weight, const draft *from)
{
    double xp = 0, pp = 0;
    for (int j = 0; j < BLOCK; j++) {
        const double w = weight ? (double)weight[j] : 1;
        const double point = from->scale[j / GROUP] * from->q[j];
        xp += w * (double)x[j] * point;
        pp += w * point * point;
    }
    return pp > 0 ? (float)(xp / pp) : 0;
}

static void encode_block(const float *x, const float *weight, block *out)
{
    float wanted[N_GROUPS], largest = 0;
    for (int g = 0; g < N_GROUPS; g++) {
        wanted[g] = hn_grid_fit(grid, GROUP, x + g * GROUP, weight ? weight + g * GROUP : NULL);
        if (fabsf(wanted[g]) > fabsf(largest))
            largest = wanted[g];
    }
    draft best = { .error = INFINITY };
    static const float spans[] = { -128, 127 };
    for (int s = 0; s < 2 && best.error > 0; s++) {
        uint16_t d = hn_f32_to_f16(largest / spans[s]);
        for (int turn = 0; turn < 3; turn++) {
            const draft made = choose_scales(x, weight, wanted, d);
            const bool is_better = made.error < best.error;
            if (is_better)
                best = made;
            const uint16_t refined = hn_f32_to_f16(refine(x, weight, &made));
            if (!is_better || made.error == 0 || refined == d || !(refined & 0x7fff))
                break;
            d = refined;
        }
    }
    pack(&best, out);
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

const hn_format hn_format_q6_k = {
    .name = "q6_k",
    .gguf_id = 14,
    .block_elements = BLOCK,
    .block_bytes = sizeof(block),
    .largest = 1e8f, /* 65504 * 127 * 31 is 2.5e8 */
    .error_bound = 0.1,
    .error_floor = 32 * 128 * 0x1p-24,
    .decode = decode,
    .encode = encode,
};
