/* q2_k: y = (d * scale) * q - (dmin * min). 256 elements of 2 bits, for each 16 a scale and a
 * minimum of 4 bits, two f16: 2.625 bits a weight. Each 128 elements have 32 bytes; element
 * 32 s + m of them is bits 2 s of byte m. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/nested.h"
#include "quant/temper.h"

#include <string.h>

enum { BLOCK = HN_ELEMENTS_q2_k, GROUP = 16, N_GROUPS = BLOCK / GROUP };

typedef struct block {
    uint8_t scale[N_GROUPS]; /* the minimum in the high half */
    uint8_t q[BLOCK / 4];
    uint8_t d[2], dmin[2]; /* f16 */
} block;

_Static_assert(sizeof(block) == HN_BYTES_q2_k, "as in GGUF");

static const float spans[] = { 3, 2.7f, 2.4f, 2.1f, 3.3f, 3.6f, 4, 4.5f, 5.5f };
static const hn_nested_affine shape = { { 3, false, sizeof spans / sizeof *spans, spans },
                                        GROUP,
                                        15 };

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++, b++, out += BLOCK) {
        const float d = hn_f16_to_f32(hn_load_16(b->d));
        const float dmin = hn_f16_to_f32(hn_load_16(b->dmin));
        for (int j = 0; j < BLOCK; j++) {
            const float step = d * (float)(b->scale[j / GROUP] & 15);
            const float offset = dmin * (float)(b->scale[j / GROUP] >> 4);
            const int q = b->q[j / 128 * 32 + j % 32] >> (j % 128 / 32 * 2) & 3;
            out[j] = step * (float)q - offset;
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
    for (int g = 0; g < N_GROUPS; g++)
        out->scale[g] = (uint8_t)(fit.scale[g] | fit.min[g] << 4);
    for (int j = 0; j < BLOCK; j++)
        out->q[j / 128 * 32 + j % 32] |= (uint8_t)((int)fit.q[j] << (j % 128 / 32 * 2));
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

/* Scales of 8 .. 15, the minimum the same, times 3 / 2: the middle of each group at zero. */
static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        for (int g = 0; g < N_GROUPS; g++)
            b[i].scale[g] = (uint8_t)(((b[i].scale[g] & 7) | 8) * 17);
        const float d = hn_temper_f16(b[i].d, deviation / (1.118f * 11.72f));
        hn_store_16(b[i].dmin, hn_f16_within(d * 1.5f));
    }
}

const hn_format hn_format_q2_k = {
    HN_FORMAT_HEAD(q2_k),
    .largest = 15 * 65504.0f,
    .error_bound = 0.8,
    .error_floor = 45 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
