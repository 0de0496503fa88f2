/* q8_1: y = q * d. 32 elements of 8 bits, an f16 scale, and an f16 that holds d times the sum of
 * the q, which decoding has no use for: 9 bits a weight. ggml makes it of activations; files of
 * weights in it are read, none are written. */
#include "quant/format.h"

#include "base/bytes.h"
#include "base/half.h"
#include "quant/temper.h"

enum { BLOCK = HN_ELEMENTS_q8_1 };

typedef struct block {
    uint8_t d[2], sum[2]; /* f16 */
    int8_t q[BLOCK];
} block;

_Static_assert(sizeof(block) == HN_BYTES_q8_1, "as in GGUF");

static void decode(const void *blocks, int64_t n, float *out)
{
    const block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const float d = hn_f16_to_f32(hn_load_16(b[i].d));
        for (int j = 0; j < BLOCK; j++)
            out[i * BLOCK + j] = (float)b[i].q[j] * d;
    }
}

static void temper(void *blocks, int64_t n, float deviation)
{
    block *b = blocks;
    for (int64_t i = 0; i < n / BLOCK; i++) {
        const float d = hn_temper_f16(b[i].d, deviation / 73.9f);
        int sum = 0;
        for (int j = 0; j < BLOCK; j++)
            sum += b[i].q[j];
        hn_store_16(b[i].sum, hn_f32_to_f16(d * (float)sum));
    }
}

const hn_format hn_format_q8_1 = {
    HN_FORMAT_HEAD(q8_1),
    .largest = 127 * 65504.0f,
    .decode = decode,
    .temper = temper,
};
