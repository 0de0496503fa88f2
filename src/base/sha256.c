/* Whole blocks are digested where they lie; only what is left over is copied. The rounds are sha256_blocks.c's. */
#include "base/sha256.h"

#include "base/file.h"
#include "base/os/files.h"
#include "base/sha256_blocks.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

void hn_sha256_begin(hn_sha256 *sha)
{
    static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(sha->state, first, sizeof first);
    sha->bytes = 0;
}

void hn_sha256_add(hn_sha256 *sha, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    size_t held = (size_t)(sha->bytes % 64);
    sha->bytes += bytes;
    while (bytes) {
        if (!held && bytes >= 64) {
            const size_t n = bytes / 64;
            hn_sha256_blocks(sha->state, at, n);
            at += 64 * n;
            bytes -= 64 * n;
            continue;
        }
        const size_t n = bytes < 64 - held ? bytes : 64 - held;
        memcpy(sha->block + held, at, n);
        held += n;
        at += n;
        bytes -= n;
        if (held == 64) {
            hn_sha256_blocks(sha->state, sha->block, 1);
            held = 0;
        }
    }
}

void hn_sha256_end(hn_sha256 *sha, uint8_t digest[32])
{
    const uint64_t bits = sha->bytes * 8;
    uint8_t tail[72] = { 0x80 };
    const size_t held = (size_t)(sha->bytes % 64), zeros = (held < 56 ? 56 : 120) - held;
    for (int i = 0; i < 8; i++)
        tail[zeros + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    hn_sha256_add(sha, tail, zeros + 8);
    for (int i = 0; i < 32; i++)
        digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
}

void hn_sha256_text(const uint8_t digest[32], char text[65])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[64] = '\0';
}

hn_status hn_sha256_file(const char *path, char text[65])
{
    uint8_t piece[4096], digest[32];
    hn_sha256 sha;
    ptrdiff_t n;
    const int file = hn_file_reader(path);
    HN_REQUIRE(file >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    hn_sha256_begin(&sha);
    while ((n = hn_os_read(file, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        hn_sha256_add(&sha, piece, n > 0 ? (size_t)n : 0);
    hn_os_close(file);
    HN_REQUIRE(n == 0, HN_ERR_IO, "%s: it cannot be read", path);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    return HN_OK;
}
