/* half.h: f16 and bf16, stored as uint16_t, to and from f32.
 *
 * Narrowing rounds to nearest, ties to even; what is too large becomes infinity; denormals are
 * exact both ways; a NaN stays a NaN, made quiet, with its sign and the payload that fits.
 * Integer arithmetic alone, so no rounding mode, flag or instruction set has a say. */
#ifndef HN_BASE_HALF_H
#define HN_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t hn_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float hn_f32_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float hn_f16_to_f32(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 31u, mantissa = half & 0x3ffu;
    if (exponent == 31) {
        const uint32_t quiet = mantissa ? 0x400000u : 0;
        return hn_f32_from_bits(sign | 0x7f800000u | quiet | mantissa << 13);
    }
    if (exponent == 0) {
        if (!mantissa)
            return hn_f32_from_bits(sign);
        for (exponent = 1; !(mantissa & 0x400u); exponent--) /* wraps below 0, as intended */
            mantissa <<= 1;
        mantissa &= 0x3ffu;
    }
    return hn_f32_from_bits(sign | (exponent + 112u) << 23 | mantissa << 13);
}

static inline uint16_t hn_f32_to_f16(float x)
{
    const uint32_t bits = hn_f32_bits(x), sign = (bits >> 16) & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    if (magnitude >= 0x477ff000u) /* 65520, half way to what would be 2^16 */
        return (uint16_t)(sign | 0x7c00u);
    uint32_t kept, lost, half_way;
    if (magnitude >= 0x38800000u) { /* 2^-14: normal */
        kept = (magnitude - 0x38000000u) >> 13;
        lost = magnitude & 0x1fffu;
        half_way = 0x1000u;
    } else {
        const uint32_t exponent = magnitude >> 23;
        if (exponent < 102) /* below 2^-25, half of the smallest denormal */
            return (uint16_t)sign;
        const uint32_t shift = 126u - exponent; /* 14 .. 24 */
        const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        kept = mantissa >> shift;
        lost = mantissa & ((1u << shift) - 1u);
        half_way = 1u << (shift - 1u);
    }
    kept += lost > half_way || (lost == half_way && (kept & 1u)); /* may carry into exponent */
    return (uint16_t)(sign | kept);
}

static inline float hn_bf16_to_f32(uint16_t brain)
{
    uint32_t bits = (uint32_t)brain << 16;
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        bits |= 0x400000u;
    return hn_f32_from_bits(bits);
}

static inline uint16_t hn_f32_to_bf16(float x)
{
    const uint32_t bits = hn_f32_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
