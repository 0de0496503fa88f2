/* q6_k: y = (d * scale) * (q - 32). 256 elements of 6 bits, a scale of 8 bits for each 16, one
 * f16: 6.5625 bits a weight.
 *
 * Each half of 128 elements has 64 bytes of low bits and 32 of high ones. Element 32 * part + l
 * of it (part 0 .. 3) has its low four bits in byte l + 32 * (part % 2), in the high nibble
 * from part 2 on, and its high two in bits 2 * part of byte l. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/nested.h"
#include "quant/temper.h"

#include <string.h>

enum { BLOCK = HN_ELEMENTS_q6_k, GROUP = 16, N_GROUPS = BLOCK / GROUP };

typedef struct block {
    uint8_t low[BLOCK / 2];
    uint8_t high[BLOCK / 4];
    int8_t scale[N_GROUPS];
    uint8_t d[2]; /* f16 */
} block;

_Static_assert(sizeof(block) == HN_BYTES_q6_k, "as in GGUF");

static const float spans[] = { -32, 31, -31, 30, -30, 29, -29, -32.6f, 28, -28 };
static const hn_nested_grid shape = {
    { -32, 31, NULL, sizeof spans / sizeof *spans, spans }, GROUP, -128, 127
};

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

static void encode_block(const float *x, const float *weight, block *out)
{
    hn_nested fit;
    hn_nested_fit(&shape, x, weight, &fit);
    memset(out, 0, sizeof *out);
    hn_store_16(out->d, fit.d);
    memcpy(out->scale, fit.scale, sizeof out->scale);
    for (int j = 0; j < BLOCK; j++) {
        const int half = j / 128, part = j % 128 / 32, l = j % 32, q = (int)fit.q[j] + 32;
        out->low[64 * half + 32 * (part % 2) + l] |= (uint8_t)((q & 15) << (part / 2 * 4));
        out->high[32 * half + l] |= (uint8_t)(q >> 4 << (2 * part));
    }
}

static void encode(const float *x, int64_t n, void *blocks, const float *weight)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++)
        encode_block(x + i * BLOCK, weight ? weight + i * BLOCK : NULL, &b[i]);
}

/* Scales of 64 .. 127 and -128 .. -65: the second bit unlike the first. */
static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        for (int g = 0; g < N_GROUPS; g++)
            b[i].scale[g] = (int8_t)((b[i].scale[g] & ~64) | (~b[i].scale[g] >> 1 & 64));
        hn_temper_f16(b[i].d, deviation / (18.48f * 97.8f));
    }
}

const hn_format hn_format_q6_k = {
    HN_FORMAT_HEAD(q6_k),
    .largest = 1e8f, /* 65504 * 127 * 31 is 2.5e8 */
    .error_bound = 0.1,
    .error_floor = 32 * 128 * 0x1p-24,
    .decode = decode,
    .encode = encode,
    .temper = temper,
};
