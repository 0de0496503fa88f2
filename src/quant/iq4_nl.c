/* iq4_nl: y = d * T[q], sixteen points T that are denser near zero. 32 elements of 4 bits and
 * one f16 scale: 4.5 bits a weight. Byte j holds element j in its low half, j + 16 in its high.
 */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/points.h"
#include "quant/temper.h"

enum { BLOCK = HN_ELEMENTS_iq4_nl };

typedef struct block {
    uint8_t d[2]; /* f16 */
    uint8_t q[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == HN_BYTES_iq4_nl, "as in GGUF");

static const int8_t points[16] = HN_POINTS_IQ4;
static const float spans[] = { -127, 113, -118, 104, -136, -110, 120, 96, -104, 89 };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        for (int j = 0; j < BLOCK / 2; j++) {
            out[j] = d * (float)points[b[i].q[j] & 15];
            out[j + BLOCK / 2] = d * (float)points[b[i].q[j] >> 4];
        }
    }
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    hn_points table;
    hn_samples samples;
    float q[BLOCK];
    block *b = blocks;
    hn_points_prepare(&table, points);
    const hn_grid grid = { -127, 113, table.cells, sizeof spans / sizeof *spans, spans };
    for (int64_t i = 0; i < n / BLOCK; i++) {
        hn_samples_take(&samples, BLOCK, x + i * BLOCK, weight ? weight + i * BLOCK : NULL);
        hn_store_16(b[i].d, hn_grid_fit_f16(&grid, &samples, BLOCK, q));
        for (int j = 0; j < BLOCK / 2; j++)
            b[i].q[j] = (uint8_t)(hn_point_code(&table, q[j]) |
                                  hn_point_code(&table, q[j + BLOCK / 2]) << 4);
    }
}

static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        hn_temper_f16(b[i].d, deviation / 68.2f);
}

const hn_format hn_format_iq4_nl = {
    HN_FORMAT_HEAD(iq4_nl),
    .largest = 113 * 65504.0f,
    .error_bound = 0.25,
    .error_floor = 127 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
