/* q4_k: y = (d * scale) * q - (dmin * min). 256 elements of 4 bits; a scale and a minimum of 6
 * bits for each 32; two f16: 4.5 bits a weight. Each 64 elements have 32 bytes: the low halves
 * are the first 32 of them, the high halves the others.
 *
 * The twelve bytes of scales (s) and minima (m), eight of each, bits high to low:
 *
 *     0-3   s4..s7 bits 5,4 | s0..s3
 *     4-7   m4..m7 bits 5,4 | m0..m3
 *     8-11  m4..m7 bits 3-0 | s4..s7 bits 3-0
 */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/affine.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { BLOCK = 256, GROUP = HN_AFFINE_GROUP, N_GROUPS = BLOCK / GROUP, LARGEST_6_BITS = 63 };

typedef struct block {
    uint8_t d[2], dmin[2]; /* f16 */
    uint8_t packed[12];
    uint8_t q[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == 144, "as in GGUF");

/* A block before its bits are packed. */
typedef struct draft {
    uint16_t d, dmin;
    uint8_t scale[N_GROUPS], min[N_GROUPS];
    uint8_t q[BLOCK];
    double error;
} draft;

static void unpack_group(const uint8_t packed[12], int g, int *scale, int *min)
{
    if (g < 4) {
        *scale = packed[g] & 63;
        *min = packed[g + 4] & 63;
        return;
    }
    *scale = (packed[g + 4] & 15) | packed[g - 4] >> 6 << 4;
    *min = packed[g + 4] >> 4 | packed[g] >> 6 << 4;
}

static void pack_group(uint8_t packed[12], int g, int scale, int min)
{
    if (g < 4) {
        packed[g] = (uint8_t)(packed[g] | scale);
        packed[g + 4] = (uint8_t)(packed[g + 4] | min);
        return;
    }
    packed[g + 4] = (uint8_t)((scale & 15) | (min & 15) << 4);
    packed[g - 4] = (uint8_t)(packed[g - 4] | scale >> 4 << 6);
    packed[g] = (uint8_t)(packed[g] | min >> 4 << 6);
}

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, b++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b->d));
        const float dmin = hn_f16_to_f32(hn_load_16(b->dmin));
        for (int g = 0; g < N_GROUPS; g++) {
            int scale, min;
            unpack_group(b->packed, g, &scale, &min);
            const float step = d * (float)scale, offset = dmin * (float)min;
            const uint8_t *q = b->q + g / 2 * GROUP;
            for (int j = 0; j < GROUP; j++)
                out[g * GROUP + j] = step * (float)(q[j] >> (g % 2 * 4) & 15) - offset;
        }
    }
}

static void pack(const draft *from, block *out)
{
    memset(out, 0, sizeof *out);
    hn_store_16(out->d, from->d);
    hn_store_16(out->dmin, from->dmin);
    for (int g = 0; g < N_GROUPS; g++) {
        pack_group(out->packed, g, from->scale[g], from->min[g]);
        for (int j = 0; j < GROUP; j++)
            out->q[g / 2 * GROUP + j] |= (uint8_t)(from->q[g * GROUP + j] << (g % 2 * 4));
    }
}

/* 0 .. 63 */
static int six_bits(float wanted, float unit)
{
    return unit > 0 ? hn_grid_point((hn_grid){ 0, LARGEST_6_BITS }, wanted, unit) : 0;
}

/* Given d and dmin, each group's 6-bit scale and minimum: the nearest to what it wanted, or
 * neighbours. */
static draft choose_scales(const float *x, const float *weight, const hn_affine *wanted,
                           uint16_t d, uint16_t dmin)
{
    draft made = { .d = d, .dmin = dmin };
    const float unit = hn_f16_to_f32(d), min_unit = hn_f16_to_f32(dmin);
    for (int g = 0; g < N_GROUPS; g++) {
        const int scale_at = six_bits(wanted[g].step, unit);
        const int min_at = six_bits(wanted[g].offset, min_unit);
        const float *w = weight ? weight + g * GROUP : NULL;
        double least = INFINITY;
        for (int trial = 0; trial < 9; trial++) {
            /* the nearest first, so that an exact fit is found at once and kept */
            const int scale = scale_at + (trial % 3 == 2 ? -1 : trial % 3);
            const int min = min_at + (trial / 3 == 2 ? -1 : trial / 3);
            uint8_t q[GROUP];
            if (scale < 0 || scale > LARGEST_6_BITS || min < 0 || min > LARGEST_6_BITS)
                continue;
            const hn_affine tried = { unit * (float)scale, min_unit * (float)min };
            const double error = hn_affine_round(tried, x + g * GROUP, w, q);
            if (error >= least)
                continue;
            least = error;
            made.scale[g] = (uint8_t)scale;
            made.min[g] = (uint8_t)min;
            memcpy(made.q + g * GROUP, q, sizeof q);
        }
        made.error += least;
    }
    return made;
}

/* d and dmin of least squared error for the draft's scales, minima and points: x = d a - dmin
 * b. */
static hn_affine refine(const float *x, const float *weight, const draft *from)
{
    double aa = 0, ab = 0, bb = 0, xa = 0, xb = 0;
    for (int j = 0; j < BLOCK; j++) {
        const double w = weight ? (double)weight[j] : 1;
        const double a = from->scale[j / GROUP] * from->q[j], b = -from->min[j / GROUP];
        aa += w * a * a;
        ab += w * a * b;
        bb += w * b * b;
        xa += w * (double)x[j] * a;
        xb += w * (double)x[j] * b;
    }
    const double det = aa * bb - ab * ab;
    if (det <= aa * bb * 1e-9)
        return (hn_affine){ aa > 0 ? (float)(xa / aa) : 0, 0 };
    return (hn_affine){ (float)((xa * bb - xb * ab) / det),
                        (float)((xb * aa - xa * ab) / det) };
}

static uint16_t finite_f16(float positive)
{
    const uint16_t half = hn_f32_to_f16(positive);
    return half < 0x7c00 ? half : 0x7bff;
}

static void encode_block(const float *x, const float *weight, block *out)
{
    hn_affine wanted[N_GROUPS], most = { 0, 0 };
    for (int g = 0; g < N_GROUPS; g++) {
        wanted[g] = hn_affine_fit(x + g * GROUP, weight ? weight + g * GROUP : NULL);
        most.step = wanted[g].step > most.step ? wanted[g].step : most.step;
        most.offset = wanted[g].offset > most.offset ? wanted[g].offset : most.offset;
    }
    uint16_t d = finite_f16(most.step / LARGEST_6_BITS);
    uint16_t dmin = finite_f16(most.offset / LARGEST_6_BITS);
    draft best = { .error = INFINITY };
    for (int turn = 0; turn < 4; turn++) {
        const draft made = choose_scales(x, weight, wanted, d, dmin);
        if (made.error >= best.error)
            break;
        best = made;
        const hn_affine refined = refine(x, weight, &made);
        const uint16_t next = hn_f32_to_f16(refined.step);
        const uint16_t next_min = hn_f32_to_f16(refined.offset);
        const bool is_usable =
            refined.step > 0 && refined.offset >= 0 && next < 0x7c00 && next_min < 0x7c00;
        if (made.error == 0 || !is_usable || (next == d && next_min == dmin))
            break;
        d = next;
        dmin = next_min;
    }
    pack(&best, out);
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

const hn_format hn_format_q4_k = {
    .name = "q4_k",
    .gguf_id = 12,
    .block_elements = BLOCK,
    .block_bytes = sizeof(block),
    .largest = LARGEST_6_BITS * 65504.0f, /* as an offset; a step reaches further */
    .error_bound = 0.45,
    .error_floor = 15 * 63 * 0x1p-24,
    .decode = decode,
    .encode = encode,
};
