/* mxfp4: y = 2^(e - 128) * T[q], T twice the values of FP4 E2M1. 32 elements of 4 bits and an
 * exponent of 8: 4.25 bits a weight. Byte j holds element j in its low half, j + 16 in its
 * high. e = 255, a NaN in the standard, is 2^127 here, as in ggml. */
#include "quant/format.h"

#include "base/half.h"
#include "quant/points.h"

#include <math.h>
#include <stddef.h>

enum { BLOCK = HN_ELEMENTS_mxfp4, LARGEST_EXPONENT = 252 /* 12 * 2^124 is finite */ };

typedef struct block {
    uint8_t e;
    uint8_t q[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == HN_BYTES_mxfp4, "as in GGUF");

static const int8_t points[16] = HN_POINTS_FP4;

/* 2^(e - 128), the first two denormal */
static float scale_of(int e)
{
    return hn_f32_from_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, out += BLOCK) {
        const float d = scale_of(b[i].e);
        for (int j = 0; j < BLOCK / 2; j++) {
            out[j] = d * (float)points[b[i].q[j] & 15];
            out[j + BLOCK / 2] = d * (float)points[b[i].q[j] >> 4];
        }
    }
}

/* The largest number is in [1, 2) units. Its exponent e puts it between 8 and 16 grid units,
 * of which 12 is the last; one less clips more and one more resolves less. */
static void encode_block(const hn_points *table, const hn_samples *samples, block *out)
{
    const hn_grid grid = { -12, 12, table->cells, 0, NULL };
    const int centre = (int)(hn_f32_bits(samples->unit) >> 23) + 1 - 3;
    float q[BLOCK];
    double least = (double)INFINITY;
    for (int e = centre - 1; e <= centre + 1; e++) {
        const int within = e < 0 ? 0 : e > LARGEST_EXPONENT ? LARGEST_EXPONENT : e;
        const float scale = scale_of(within) / samples->unit;
        const double error = hn_grid_error(
            hn_grid_sum(&grid, samples, 0, BLOCK, hn_inverse(scale)), (double)scale);
        if (error >= least)
            continue;
        least = error;
        out->e = (uint8_t)within;
    }
    hn_grid_nearest(&grid, samples, 0, BLOCK, hn_inverse(scale_of(out->e) / samples->unit), q);
    for (int j = 0; j < BLOCK / 2; j++)
        out->q[j] =
            (uint8_t)(hn_point_code(table, q[j]) | hn_point_code(table, q[j + BLOCK / 2]) << 4);
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    hn_points table;
    hn_samples samples;
    block *b = blocks;
    hn_points_prepare(&table, points);
    for (int64_t i = 0; i < n / BLOCK; i++) {
        hn_samples_take(&samples, BLOCK, x + i * BLOCK, weight ? weight + i * BLOCK : NULL);
        encode_block(&table, &samples, &b[i]);
    }
}

/* Of the two powers around deviation / (root mean square of T), each as often as makes the mean
 * square right. */
static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    const float wanted = deviation / 5.852f;
    const int below = (int)(hn_f32_bits(wanted) >> 23) + 1;
    const int e = below > LARGEST_EXPONENT - 1 ? LARGEST_EXPONENT - 1 : below;
    const float ratio = wanted / scale_of(e);
    const float share = (ratio * ratio - 1) / 3 * 256;
    for (int64_t i = 0; i < n / BLOCK; i++)
        b[i].e = (uint8_t)(e + ((float)b[i].e < share));
}

const hn_format hn_format_mxfp4 = {
    HN_FORMAT_HEAD(mxfp4),
    .largest = 0x1.8p127f,
    .error_bound = 0.5,
    .error_floor = 0x1p-127,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
