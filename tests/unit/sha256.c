/* FIPS 180-4's examples, and that the processor's rounds are those of the text. */
#include "base/rng.h"
#include "base/sha256.h"
#include "base/sha256_blocks.h"
#include "tests/harness/check.h"

#include <stdlib.h>
#include <string.h>

static void check_digest(const char *text, size_t times, const char *want)
{
    hn_sha256 sha;
    uint8_t digest[32];
    char found[65];
    hn_sha256_begin(&sha);
    for (size_t i = 0; i < times; i++)
        hn_sha256_add(&sha, text, strlen(text));
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, found);
    CHECK_THAT(!strcmp(found, want), "%zu times '%s': %s, expected %s", times, text, found, want);
}

/* Every length around the places where the padding takes a block more, one digest of all of them; in one
 * piece and in two. (Python's hashlib says which.) */
static void check_lengths(void)
{
    hn_sha256 all, one;
    uint8_t data[200], digest[32];
    char found[65];
    hn_sha256_begin(&all);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + 3);
    for (size_t n = 0; n < sizeof data; n++) {
        hn_sha256_begin(&one);
        hn_sha256_add(&one, data, n / 3);
        hn_sha256_add(&one, data + n / 3, n - n / 3);
        hn_sha256_end(&one, digest);
        hn_sha256_add(&all, digest, sizeof digest);
    }
    hn_sha256_end(&all, digest);
    hn_sha256_text(digest, found);
    CHECK_TEXT("615d67a99b8c846e1f0582dfe127019e93c33a66e89ced6a4f81f932c82ece87", found);
}

/* Beyond 4 GiB: the length's upper half, against a last block that is made by hand. */
static void check_long(void)
{
    static const uint8_t zeros[64];
    hn_sha256 sha;
    uint8_t digest[32], block[64] = { 0x80 }, want[32];
    const uint64_t bytes = (UINT64_C(5) << 32) + 64, bits = bytes * 8;
    hn_sha256_begin(&sha);
    uint32_t state[8];
    memcpy(state, sha.state, sizeof state);
    sha.bytes = bytes - 64; /* as if so many had been added */
    hn_sha256_add(&sha, zeros, sizeof zeros);
    hn_sha256_end(&sha, digest);
    for (int i = 0; i < 8; i++)
        block[56 + i] = (uint8_t)(bits >> (56 - 8 * i));
    hn_sha256_blocks_plain(state, zeros, 1);
    hn_sha256_blocks_plain(state, block, 1);
    for (int i = 0; i < 32; i++)
        want[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
    CHECK(!memcmp(want, digest, sizeof want));
}

int main(int argc, char **argv)
{
    static uint8_t data[64 * 33 + 1];
    check_open(argc, argv);
    check_digest("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_digest("aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    check_lengths();
    check_long();
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    for (size_t n = 0; n <= 32; n++) {
        uint32_t a[8], b[8];
        for (uint32_t i = 0; i < 8; i++)
            a[i] = b[i] = (uint32_t)n * 0x9e3779b9u + i;
        hn_sha256_blocks(a, data + n % 2, n); /* of any alignment */
        hn_sha256_blocks_plain(b, data + n % 2, n);
        CHECK_THAT(!memcmp(a, b, sizeof a), "%zu blocks", n);
    }
    return check_close();
}
