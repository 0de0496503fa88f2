/* sha256_blocks.h: SHA-256 of whole blocks of 64 bytes: by the processor's own instructions where it has
 * them (x86-64 with SHA), else in plain C. Both give the same. */
#ifndef HN_BASE_SHA256_BLOCKS_H
#define HN_BASE_SHA256_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

void hn_sha256_blocks(uint32_t state[8], const uint8_t *data, size_t n);
void hn_sha256_blocks_plain(uint32_t state[8], const uint8_t *data, size_t n); /* what it means */

#endif
