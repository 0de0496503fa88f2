/* format.h: block formats of quantised weights. A block of `block_elements` consecutive
 * elements of a row is `block_bytes` bytes, little endian, with no alignment.
 *
 * Decoding follows the format's formula with every product rounded to f32 in written order,
 * never fused: the same bits on every machine. Encoding searches scales for the least squared
 * error; it too gives the same bytes everywhere. */
#ifndef HN_QUANT_FORMAT_H
#define HN_QUANT_FORMAT_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct hn_format {
    const char *name; /* as in GGUF, in lower case: "q4_k" */
    uint32_t gguf_id;
    int block_elements, block_bytes;
    float largest; /* magnitudes up to this can be encoded */

    /* After encoding without weights and decoding, no element of a block is off by more than
     * error_bound * (largest magnitude of the block) + error_floor. */
    double error_bound, error_floor;

    /* n is a multiple of block_elements; any bytes decode, to infinity or NaN if need be. */
    void (*decode)(const void *blocks, int64_t n, float *out);

    /* The same, where x is finite and within `largest`. weight: how much each element's squared
     * error counts, finite and not negative; NULL: all alike. Call hn_format_encode instead. NULL
     * of a format that is only read. */
    void (*encode)(const float *x, int64_t n, void *blocks, const float *weight);

    /* Makes weights of blocks full of random bytes: overwrites scales and what else not every
     * bit pattern will do for, out of the random bits there. All values become finite, with a
     * mean near zero and a standard deviation near `deviation` over many blocks. */
    void (*temper)(void *blocks, int64_t n, float deviation);
} hn_format;

/* What types.def says of a format: HN_GGUF_ID_q4_k, HN_ELEMENTS_q4_k, HN_BYTES_q4_k. */
enum {
#define HN_FORMAT(name, gguf, id, elements, bytes, kernels, sums, offset, most, panel)                             \
    HN_GGUF_ID_##name = id, HN_ELEMENTS_##name = elements, HN_BYTES_##name = bytes,
#include "quant/types.def"
};

enum {
#define HN_FORMAT(name, gguf, id, elements, bytes, kernels, sums, offset, most, panel) HN_FORMAT_##name,
#include "quant/types.def"
    HN_N_FORMATS
};

/* The first fields of an hn_format: const hn_format hn_format_q4_k = { HN_FORMAT_HEAD(q4_k), ... */
#define HN_FORMAT_HEAD(format)                                                                 \
    .name = #format, .gguf_id = HN_GGUF_ID_##format, .block_elements = HN_ELEMENTS_##format,   \
    .block_bytes = HN_BYTES_##format

extern const hn_format *const hn_formats[HN_N_FORMATS];

#define HN_FORMAT(name, gguf, id, elements, bytes, kernels, sums, offset, most, panel)                             \
    extern const hn_format hn_format_##name;
#include "quant/types.def"

/* NULL if there is none; sets no message. */
const hn_format *hn_format_named(const char *name);
const hn_format *hn_format_of_gguf(uint32_t gguf_id);

double hn_format_bits(const hn_format *format); /* per weight */

/* Bytes of n elements; n must be a multiple of block_elements. */
int64_t hn_format_bytes(const hn_format *format, int64_t n);

/* Refuses, with the element's number and before writing anything: what is not finite or beyond
 * `largest` (HN_ERR_NUMERIC), an importance that is not finite or negative (HN_ERR_NUMERIC),
 * a length that is no multiple of the block (HN_ERR_SHAPE), and a format that is only read
 * (HN_ERR_UNSUPPORTED). */
hn_status hn_format_encode(const hn_format *format, const float *x, int64_t n, void *blocks,
                           const float *importance_or_null);

/* Encodes one block, and cannot fail: of one that cannot be encoded every bit is set, which is NaN
 * where the scale is an f16 (hn_format_stores). For what is written while a model runs. */
void hn_format_store(const hn_format *format, const float *x, void *block);
bool hn_format_stores(const hn_format *format);

#endif
