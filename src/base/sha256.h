/* sha256.h: SHA-256 (FIPS 180-4): what names a file's bytes. */
#ifndef HN_BASE_SHA256_H
#define HN_BASE_SHA256_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct hn_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
} hn_sha256;

void hn_sha256_begin(hn_sha256 *sha);
void hn_sha256_add(hn_sha256 *sha, const void *data, size_t bytes);
void hn_sha256_end(hn_sha256 *sha, uint8_t digest[32]); /* begin again before more */

/* Of a file's bytes, in 64 hexadecimal digits. */
hn_status hn_sha256_file(const char *path, char text[65]);

/* 64 hexadecimal digits and a NUL. */
void hn_sha256_text(const uint8_t digest[32], char text[65]);

#endif
