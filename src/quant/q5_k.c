/* q5_k: y = (d * scale) * q - (dmin * min). 256 elements of 5 bits; a scale and a minimum of 6
 * bits for each 32; two f16: 5.5 bits a weight. The low four bits lie as in q4_k; the fifth of
 * element 32 g + m is bit g of high[m]. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/k_scales.h"
#include "quant/nested.h"
#include "quant/temper.h"

#include <string.h>

enum { BLOCK = HN_ELEMENTS_q5_k, GROUP = 32, N_GROUPS = BLOCK / GROUP };

typedef struct block {
    uint8_t d[2], dmin[2]; /* f16 */
    uint8_t packed[12];
    uint8_t high[BLOCK / 8];
    uint8_t low[BLOCK / 2];
} block;

_Static_assert(sizeof(block) == HN_BYTES_q5_k, "as in GGUF");

static const float spans[] = { 31, 30.6f, 30.2f, 29.8f, 29.4f, 29, 28.5f, 31.4f, 32, 32.6f };
static const hn_nested_affine shape = { { 31, false, sizeof spans / sizeof *spans, spans },
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
            for (int j = 0; j < GROUP; j++) {
                const int low = b->low[g / 2 * GROUP + j] >> (g % 2 * 4) & 15;
                const int q = low | (b->high[j] >> g & 1) << 4;
                out[g * GROUP + j] = step * (float)q - offset;
            }
        }
    }
}

static void encode_block(const float *x, const float *weight, block *out)
{
    hn_nested fit;
    hn_nested_affine_fit(&shape, x, weight, &fit);
    memset(out, 0, sizeof *out);
    hn_store_16(out->d, fit.d);
    hn_store_16(out->dmin, fit.dmin);
    hn_k_scales_pack(out->packed, fit.scale, fit.min);
    for (int g = 0; g < N_GROUPS; g++)
        for (int j = 0; j < GROUP; j++) {
            const int q = (int)fit.q[g * GROUP + j];
            out->low[g / 2 * GROUP + j] |= (uint8_t)((q & 15) << (g % 2 * 4));
            out->high[j] |= (uint8_t)(q >> 4 << g);
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
        const float d = hn_temper_f16(b[i].d, deviation / (9.233f * 48.4f)) * 15.5f;
        hn_store_16(b[i].dmin, hn_f16_within(d));
    }
}

const hn_format hn_format_q5_k = {
    HN_FORMAT_HEAD(q5_k),
    .largest = 63 * 65504.0f, /* as an offset; a step reaches further */
    .error_bound = 0.3,
    .error_floor = 31 * 63 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
