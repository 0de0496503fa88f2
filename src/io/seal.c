/* The digest is of the file with the digits themselves as zeros, so it can stand within. They are found as text,
 * and must be there once. */
#include "io/seal.h"

#include "base/sha256.h"
#include "base/work.h"

#include <string.h>

enum { DIGITS = 64 };

size_t hn_seal_find(const void *file, size_t bytes, const char *digits)
{
    const char *data = file, *found = NULL;
    for (const char *at = data; bytes >= DIGITS && at + DIGITS <= data + bytes; at++) {
        at = memchr(at, digits[0], (size_t)(data + bytes - at) - DIGITS + 1);
        if (!at)
            break;
        if (memcmp(at, digits, DIGITS) != 0)
            continue;
        if (found)
            return SIZE_MAX;
        found = at;
    }
    return found ? (size_t)(found - data) : SIZE_MAX;
}

static hn_status add_all(hn_sha256 *sha, const char *data, size_t bytes)
{
    enum { PIECE = 1 << 20 };
    for (size_t at = 0; at < bytes; at += PIECE) {
        HN_TRY(hn_work_tell(at, bytes, "SHA-256 of the file"));
        hn_sha256_add(sha, data + at, bytes - at < PIECE ? bytes - at : PIECE);
    }
    return HN_OK;
}

hn_status hn_seal_check(const void *file, size_t bytes, const char *digits)
{
    hn_sha256 sha;
    uint8_t digest[32];
    char text[65];
    const char *data = file;
    const size_t at = hn_seal_find(file, bytes, digits);
    HN_REQUIRE(at != SIZE_MAX, HN_ERR_FORMAT, "the digest that it says is of it is not one");
    hn_sha256_begin(&sha);
    HN_TRY(add_all(&sha, data, at));
    hn_sha256_add(&sha, HN_SEAL_BLANK, DIGITS);
    HN_TRY(add_all(&sha, data + at + DIGITS, bytes - at - DIGITS));
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    HN_REQUIRE(!memcmp(text, digits, DIGITS), HN_ERR_FORMAT,
               "the SHA-256 of its bytes is %s, it says %.64s: the file was altered", text, digits);
    return HN_OK;
}
