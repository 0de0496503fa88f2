/* q3_k: y = (d * (scale - 32)) * q, q -4 .. 3. 256 elements of 3 bits, a scale of 6 bits for
 * each 16, one f16: 3.4375 bits a weight. Low bits as in q2_k. Element 32 s + m of the block
 * has its third bit in bit s of high[m]: set for q >= 0. Scale g has its low four bits in half
 * g / 8 of byte g % 8 and its high two in bits 2 (g / 4) of byte 8 + g % 4. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/nested.h"
#include "quant/temper.h"

#include <string.h>

enum { BLOCK = HN_ELEMENTS_q3_k, GROUP = 16, N_GROUPS = BLOCK / GROUP };

typedef struct block {
    uint8_t high[BLOCK / 8];
    uint8_t low[BLOCK / 4];
    uint8_t packed[12];
    uint8_t d[2]; /* f16 */
} block;

_Static_assert(sizeof(block) == HN_BYTES_q3_k, "as in GGUF");

static const float spans[] = { -4, -3.6f, -4.5f, 3, 3.4f, -3.2f, 2.6f, -5.2f, 4 };
static const hn_nested_grid shape = {
    { -4, 3, NULL, sizeof spans / sizeof *spans, spans }, GROUP, -32, 31
};

static int scale_of(const uint8_t packed[12], int g)
{
    const int low = packed[g % 8] >> (g / 8 * 4) & 15;
    return (low | (packed[8 + g % 4] >> (g / 4 * 2) & 3) << 4) - 32;
}

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, b++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b->d));
        for (int j = 0; j < BLOCK; j++) {
            const float scale = d * (float)scale_of(b->packed, j / GROUP);
            const int low = b->low[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3;
            const int high = b->high[j % 32] >> (j / 32) & 1;
            out[j] = scale * (float)(low - (high ? 0 : 4));
        }
    }
}

static void encode_block(const float *x, const float *weight, block *out)
{
    hn_nested fit;
    hn_nested_fit(&shape, x, weight, &fit);
    memset(out, 0, sizeof *out);
    hn_store_16(out->d, fit.d);
    for (int g = 0; g < N_GROUPS; g++) {
        const int scale = fit.scale[g] + 32;
        out->packed[g % 8] |= (uint8_t)((scale & 15) << (g / 8 * 4));
        out->packed[8 + g % 4] |= (uint8_t)(scale >> 4 << (g / 4 * 2));
    }
    for (int j = 0; j < BLOCK; j++) {
        const int q = (int)fit.q[j] + 4;
        out->low[j / 128 * 32 + j % 32] |= (uint8_t)((q & 3) << (j % 128 / 32 * 2));
        out->high[j % 32] |= (uint8_t)(q >> 2 << (j / 32));
    }
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

/* Scales of -32 .. -17 and 16 .. 31: both of their high bits alike. */
static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        for (int at = 8; at < 12; at++)
            b[i].packed[at] = (uint8_t)((b[i].packed[at] & 0x55) * 3);
        hn_temper_f16(b[i].d, deviation / (2.345f * 24.5f));
    }
}

const hn_format hn_format_q3_k = {
    HN_FORMAT_HEAD(q3_k),
    .largest = 3 * 31 * 65504.0f,
    .error_bound = 0.6,
    .error_floor = 4 * 32 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
