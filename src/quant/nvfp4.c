/* nvfp4: y = s * T[q], T twice the values of FP4 E2M1. 64 elements of 4 bits, for each 16 half
 * of an unsigned FP8 E4M3: 4.5 bits a weight. Byte 8 g + j holds element 16 g + j in its low
 * half and 16 g + j + 8 in its high. Scales below 2^-6 have few bits: files keep a scale for
 * the whole tensor beside it, which is not part of the format. */
#include "quant/format.h"

#include "quant/points.h"

#include <math.h>
#include <stddef.h>

enum { BLOCK = HN_ELEMENTS_nvfp4, GROUP = 16, N_GROUPS = BLOCK / GROUP, LARGEST_CODE = 0x7e };

typedef struct block {
    uint8_t scale[N_GROUPS];
    uint8_t q[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == HN_BYTES_nvfp4, "as in GGUF");

static const int8_t points[16] = HN_POINTS_FP4;
static const float spans[] = { 12, 8, 10.5f, 13.5f, 6 };

/* Half of the E4M3 value; its NaN, 0x7f, counts as zero and the sign is not looked at, as in
 * ggml. */
static float scale_of(uint8_t code)
{
    const int exponent = code >> 3 & 15, mantissa = code & 7;
    if (code == 0x7f)
        return 0;
    if (exponent == 0)
        return (float)mantissa * 0x1p-10f;
    return (float)(8 + mantissa) * (float)(1u << exponent) * 0x1p-11f;
}

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, out += BLOCK)
        for (int g = 0; g < N_GROUPS; g++) {
            const float scale = scale_of(b[i].scale[g]);
            for (int j = 0; j < GROUP; j++)
                out[g * GROUP + j] =
                    scale * (float)points[b[i].q[g * 8 + j % 8] >> (j / 8 * 4) & 15];
        }
}

/* The largest code whose scale is at most `wanted`. */
static int code_below(float wanted)
{
    int code = 0;
    for (int bit = 64; bit > 0; bit /= 2)
        if (code + bit <= LARGEST_CODE && scale_of((uint8_t)(code + bit)) <= wanted)
            code += bit;
    return code;
}

static void encode_group(const hn_points *table, const hn_samples *samples, int g, block *out)
{
    const hn_grid grid = { -12, 12, table->cells, sizeof spans / sizeof *spans, spans };
    const int from = g * GROUP;
    const float wanted = fabsf(hn_grid_fit(&grid, samples, from, GROUP)) * samples->unit;
    const int centre = code_below(wanted);
    float q[GROUP];
    double least = (double)INFINITY;
    for (int code = centre - 1; code <= centre + 2; code++) {
        if (code < 0 || code > LARGEST_CODE)
            continue;
        const float scale = scale_of((uint8_t)code) / samples->unit;
        const double error = hn_grid_error(
            hn_grid_sum(&grid, samples, from, GROUP, hn_inverse(scale)), (double)scale);
        if (error >= least)
            continue;
        least = error;
        out->scale[g] = (uint8_t)code;
    }
    hn_grid_nearest(&grid, samples, from, GROUP,
                    hn_inverse(scale_of(out->scale[g]) / samples->unit), q);
    for (int j = 0; j < GROUP / 2; j++)
        out->q[g * 8 + j] =
            (uint8_t)(hn_point_code(table, q[j]) | hn_point_code(table, q[j + 8]) << 4);
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    hn_points table;
    hn_samples samples;
    block *b = blocks;
    hn_points_prepare(&table, points);
    for (int64_t i = 0; i < n / BLOCK; i++) {
        hn_samples_take(&samples, BLOCK, x + i * BLOCK, weight ? weight + i * BLOCK : NULL);
        for (int g = 0; g < N_GROUPS; g++)
            encode_group(&table, &samples, g, &b[i]);
    }
}

/* Of the two codes around deviation / (root mean square of T), each as often as makes the mean
 * square right. */
static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    const float wanted = deviation / 5.852f;
    const int below = code_below(wanted), code = below < LARGEST_CODE ? below : below - 1;
    const float low = scale_of((uint8_t)code), high = scale_of((uint8_t)(code + 1));
    const float share = (wanted * wanted - low * low) / (high * high - low * low) * 256;
    for (int64_t i = 0; i < n / BLOCK; i++)
        for (int g = 0; g < N_GROUPS; g++)
            b[i].scale[g] = (uint8_t)(code + ((float)b[i].scale[g] < share));
}

const hn_format hn_format_nvfp4 = {
    HN_FORMAT_HEAD(nvfp4),
    .largest = 12 * 224.0f,
    .error_bound = 0.35,
    .error_floor = 12 * 0x1p-10,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
