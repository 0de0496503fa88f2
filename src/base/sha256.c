#include "base/sha256.h"

#include "base/file.h"

#include <string.h>
#include <unistd.h>
#include <errno.h>
#include <stdbool.h>

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static void add_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        const uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        const uint32_t e = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
        const uint32_t chosen = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const uint32_t first = v[7] + e + chosen + constants[i] + w[i];
        const uint32_t a = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
        const uint32_t most = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + a + most;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

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
            add_block(sha->state, at);
            at += 64;
            bytes -= 64;
            continue;
        }
        const size_t n = bytes < 64 - held ? bytes : 64 - held;
        memcpy(sha->block + held, at, n);
        held += n;
        at += n;
        bytes -= n;
        if (held == 64) {
            add_block(sha->state, sha->block);
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
    ssize_t n;
    const int file = hn_file_reader(path);
    HN_REQUIRE(file >= 0, HN_ERR_IO, "%s: %s", path, strerror(errno));
    hn_sha256_begin(&sha);
    while ((n = read(file, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR))
        hn_sha256_add(&sha, piece, n > 0 ? (size_t)n : 0);
    close(file);
    HN_REQUIRE(n == 0, HN_ERR_IO, "%s: it cannot be read", path);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    return HN_OK;
}
