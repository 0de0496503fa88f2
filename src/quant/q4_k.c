/* q4_k: y = (d * scale) * q - (dmin * min). 256 elements of 4 bits; a scale and a minimum of 6
 * bits for each 32; two f16: 4.5 bits a weight. Each 64 elements have 32 bytes: the low halves
 * are the first 32 of them, the high halves the others. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/k_scales.h"
#include "quant/nested.h"
#include "quant/temper.h"

enum { BLOCK = HN_ELEMENTS_q4_k, GROUP = 32, N_GROUPS = BLOCK / GROUP };

typedef struct block {
    uint8_t d[2], dmin[2]; /* f16 */
    uint8_t packed[12];
    uint8_t q[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == HN_BYTES_q4_k, "as in GGUF");

static const float spans[] = { 15, 14.6f, 14.2f, 13.8f, 13.4f, 13, 12.5f, 15.5f, 16, 16.6f };
static const hn_nested_affine shape = { { 15, false, sizeof spans / sizeof *spans, spans },
                                        GROUP,
                                        63 };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, b++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b->d));
        const float dmin = hn_f16_to_f32(hn_load_16(b->dmin));
        for (int g = 0; g < N_GROUPS; g++) {
            int scale, min;
            hn_k_scales_unpack(b->packed, g, &scale, &min);
            const float step = d * (float)scale, offset = dmin * (float)min;
            const uint8_t *q = b->q + g / 2 * GROUP;
            for (int j = 0; j < GROUP; j++)
                out[g * GROUP + j] = step * (float)(q[j] >> (g % 2 * 4) & 15) - offset;
        }
    }
}

static void encode_block(const float *x, const float *weight, block *out)
{
    hn_nested fit;
    hn_nested_affine_fit(&shape, x, weight, &fit);
    hn_store_16(out->d, fit.d);
    hn_store_16(out->dmin, fit.dmin);
    hn_k_scales_pack(out->packed, fit.scale, fit.min);
    for (int j = 0; j < BLOCK / 2; j++) {
        const float *q = fit.q + j / GROUP * 2 * GROUP + j % GROUP;
        out->q[j] = (uint8_t)((int)q[0] | (int)q[GROUP] << 4);
    }
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

/* Scales of 32 .. 63, the minimum the same, times top / 2: the middle of each group at zero. */
static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        hn_k_scales_temper(b[i].packed);
        const float d = hn_temper_f16(b[i].d, deviation / (4.61f * 48.4f)) * 7.5f;
        hn_store_16(b[i].dmin, hn_f16_within(d));
    }
}

const hn_format hn_format_q4_k = {
    HN_FORMAT_HEAD(q4_k),
    .largest = 63 * 65504.0f, /* as an offset; a step reaches further */
    .error_bound = 0.45,
    .error_floor = 15 * 63 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
