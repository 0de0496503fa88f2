/* q8_k: y = q * d. 256 elements of 8 bits, an f32 scale, and the sums of each 16 of the q, which
 * decoding has no use for: 9.125 bits a weight. ggml makes it of activations; files of weights in
 * it are read, none are written. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/temper.h"

enum { BLOCK = HN_ELEMENTS_q8_k, GROUP = 16 };

typedef struct block {
    uint8_t d[4]; /* f32 */
    int8_t q[BLOCK];
    uint8_t sums[2 * BLOCK / GROUP]; /* i16 */
} block;

_Static_assert(sizeof(block) == HN_BYTES_q8_k, "as in GGUF");

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const float d = hn_f32_from_bits(hn_load_32(b[i].d));
        for (int j = 0; j < BLOCK; j++)
            out[i * BLOCK + j] = d * (float)b[i].q[j];
    }
}

static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const uint16_t random = hn_load_16(b[i].d);
        const float size = hn_temper_size(random, deviation / 73.9f);
        hn_store_32(b[i].d, hn_f32_bits(random & 0x8000 ? -size : size));
        for (int g = 0; g < BLOCK / GROUP; g++) {
            int sum = 0;
            for (int j = 0; j < GROUP; j++)
                sum += b[i].q[g * GROUP + j];
            hn_store_16(b[i].sums + 2 * g, (uint16_t)sum);
        }
    }
}

const hn_format hn_format_q8_k = {
    HN_FORMAT_HEAD(q8_k),
    .largest = 127 * 3.0e36f,
    .decode = decode,
    .temper = temper,
};
