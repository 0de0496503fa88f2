/* iq4_xs: y = (d * (scale - 32)) * T[q], with the points of iq4_nl. 256 elements of 4 bits, a
 * scale of 6 bits for each 32, one f16: 4.25 bits a weight. Scale g has its low four bits in
 * half g % 2 of byte g / 2 and its high two in bits 2 g of `scale_high`. Each 32 elements have
 * 16 bytes, laid out as in iq4_nl. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/nested.h"
#include "quant/points.h"
#include "quant/temper.h"

#include <string.h>

enum { BLOCK = HN_ELEMENTS_iq4_xs, GROUP = 32, N_GROUPS = BLOCK / GROUP };

typedef struct block {
    uint8_t d[2]; /* f16 */
    uint8_t scale_high[2];
    uint8_t scale_low[N_GROUPS / 2];
    uint8_t q[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == HN_BYTES_iq4_xs, "as in GGUF");

static const int8_t points[16] = HN_POINTS_IQ4;
static const float spans[] = { -127, 113, -118, 104, -136, -110, 120, 96, -104, 89 };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, b++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b->d));
        for (int g = 0; g < N_GROUPS; g++) {
            const int low = b->scale_low[g / 2] >> (g % 2 * 4) & 15;
            const int high = hn_load_16(b->scale_high) >> (2 * g) & 3;
            const float scale = d * (float)((low | high << 4) - 32);
            for (int j = 0; j < GROUP; j++)
                out[g * GROUP + j] =
                    scale * (float)points[b->q[g * 16 + j % 16] >> (j / 16 * 4) & 15];
        }
    }
}

static void pack(const hn_nested *from, const hn_points *table, block *out)
{
    unsigned high = 0;
    memset(out, 0, sizeof *out);
    hn_store_16(out->d, from->d);
    for (int g = 0; g < N_GROUPS; g++) {
        const unsigned scale = (unsigned)(from->scale[g] + 32);
        out->scale_low[g / 2] |= (uint8_t)((scale & 15) << (g % 2 * 4));
        high |= scale >> 4 << (2 * g);
        for (int j = 0; j < GROUP; j++)
            out->q[g * 16 + j % 16] |=
                (uint8_t)(hn_point_code(table, from->q[g * GROUP + j]) << (j / 16 * 4));
    }
    hn_store_16(out->scale_high, (uint16_t)high);
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    hn_points table;
    hn_nested fit;
    block *b = blocks;
    hn_points_prepare(&table, points);
    const hn_nested_grid shape = {
        { -127, 113, table.cells, sizeof spans / sizeof *spans, spans }, GROUP, -32, 31
    };
    for (int64_t i = 0; i < n / BLOCK; i++) {
        hn_nested_fit(&shape, x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &fit);
        pack(&fit, &table, &b[i]);
    }
}

/* Scales of -32 .. -17 and 16 .. 31: both of their high bits alike. */
static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const unsigned one = hn_load_16(b[i].scale_high) & 0x5555u;
        hn_store_16(b[i].scale_high, (uint16_t)(one | one << 1));
        hn_temper_f16(b[i].d, deviation / (68.2f * 24.15f));
    }
}

const hn_format hn_format_iq4_xs = {
    HN_FORMAT_HEAD(iq4_xs),
    .largest = 2e8f,
    .error_bound = 0.25,
    .error_floor = 127 * 32 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
