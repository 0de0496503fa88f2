/* k_scales.h: how q4_k and q5_k pack eight scales (s) and eight minima (m) of six bits into
 * twelve bytes, bits high to low:
 *
 *     0-3   s4..s7 bits 5,4 | s0..s3
 *     4-7   m4..m7 bits 5,4 | m0..m3
 *     8-11  m4..m7 bits 3-0 | s4..s7 bits 3-0
 */
#ifndef HN_QUANT_K_SCALES_H
#define HN_QUANT_K_SCALES_H

#include <stdint.h>

static inline void hn_k_scales_unpack(const uint8_t packed[12], int g, int *scale, int *min)
{
    if (g < 4) {
        *scale = packed[g] & 63;
        *min = packed[g + 4] & 63;
        return;
    }
    *scale = (packed[g + 4] & 15) | packed[g - 4] >> 6 << 4;
    *min = packed[g + 4] >> 4 | packed[g] >> 6 << 4;
}

static inline void hn_k_scales_pack(uint8_t packed[12], const int8_t scale[8],
                                    const int8_t min[8])
{
    for (int g = 0; g < 4; g++) {
        packed[g] = (uint8_t)(scale[g] | scale[g + 4] >> 4 << 6);
        packed[g + 4] = (uint8_t)(min[g] | min[g + 4] >> 4 << 6);
        packed[g + 8] = (uint8_t)((scale[g + 4] & 15) | (min[g + 4] & 15) << 4);
    }
}

/* Out of random bytes: scales of 32 .. 63, the minima the same. */
static inline void hn_k_scales_temper(uint8_t packed[12])
{
    for (int g = 0; g < 4; g++) {
        packed[g] |= 0xa0;
        packed[g + 4] = packed[g];
        packed[g + 8] = (uint8_t)((packed[g + 8] & 15) * 17);
    }
}

#endif
