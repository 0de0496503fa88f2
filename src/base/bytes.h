/* bytes.h: little-endian numbers at any address, on any machine. */
#ifndef HN_BASE_BYTES_H
#define HN_BASE_BYTES_H

#include <stdint.h>

static inline uint16_t hn_load_16(const void *at)
{
    const uint8_t *b = (const uint8_t *)at;
    return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t hn_load_32(const void *at)
{
    const uint8_t *b = (const uint8_t *)at;
    return (uint32_t)hn_load_16(b) | (uint32_t)hn_load_16(b + 2) << 16;
}

static inline uint64_t hn_load_64(const void *at)
{
    const uint8_t *b = (const uint8_t *)at;
    return (uint64_t)hn_load_32(b) | (uint64_t)hn_load_32(b + 4) << 32;
}

static inline void hn_store_16(void *at, uint16_t value)
{
    uint8_t *b = (uint8_t *)at;
    b[0] = (uint8_t)value;
    b[1] = (uint8_t)(value >> 8);
}

static inline void hn_store_32(void *at, uint32_t value)
{
    uint8_t *b = (uint8_t *)at;
    hn_store_16(b, (uint16_t)value);
    hn_store_16(b + 2, (uint16_t)(value >> 16));
}

static inline void hn_store_64(void *at, uint64_t value)
{
    uint8_t *b = (uint8_t *)at;
    hn_store_32(b, (uint32_t)value);
    hn_store_32(b + 4, (uint32_t)(value >> 32));
}

#endif
