/* temper.h: making a scale out of random bits, for blocks that are random all over. */
#ifndef HN_QUANT_TEMPER_H
#define HN_QUANT_TEMPER_H

#include "base/bytes.h"
#include "base/half.h"
#include "quant/grid.h"

/* `size` times a factor in [0.75, 1.25) out of 15 random bits, its mean square 1. */
static inline float hn_temper_size(uint16_t random, float size)
{
    return size * 0.98974f * (0.75f + (float)(random & 0x7fff) * 0x1p-16f);
}

/* Replaces two random bytes by an f16 of about `size`, of either sign, which brings the mean of
 * lopsided grids to zero over many blocks; returns it. */
static inline float hn_temper_f16(uint8_t at[2], float size)
{
    const uint16_t random = hn_load_16(at);
    const uint16_t d =
        (uint16_t)(hn_f16_within(hn_temper_size(random, size)) | (random & 0x8000));
    hn_store_16(at, d);
    return hn_f16_to_f32(d);
}

#endif
