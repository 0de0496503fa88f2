/* Names are compared as they stand, secrets by their digests and with all of them each time. Whose something is,
 * over a restart too, is a number made of the name alone. */
#include "server/keys.h"

#include "base/ascii.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/os/files.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "server/http_parse.h"

#include <string.h>

enum { MOST_BYTES = 1 << 20, MOST_WORDS = 4 };

struct hn_keys {
    hn_heap *heap;
    hn_key *at;
    size_t n;
};

void hn_keys_free(hn_keys *keys)
{
    if (!keys)
        return;
    hn_free(keys->heap, keys->at);
    hn_free(keys->heap, keys);
}

size_t hn_keys_count(const hn_keys *keys) { return keys->n; }

/* ---- comparing ---- */

static void digest_of(const char *secret, size_t n, uint8_t digest[32])
{
    hn_sha256 sha;
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, secret, n);
    hn_sha256_end(&sha, digest);
}

/* Of its name, whatever else is in the file, so that what is kept of it over a restart stays its own. */
static uint64_t owner_of(const char *name)
{
    uint8_t digest[32];
    digest_of(name, strlen(name), digest);
    const uint64_t owner = hn_load_64(digest);
    return owner ? owner : 1;
}

/* 1 if they are the same, else 0, by the same steps. */
static size_t is_same(const uint8_t a[32], const uint8_t b[32])
{
    unsigned differs = 0;
    for (int i = 0; i < 32; i++)
        differs |= (unsigned)(a[i] ^ b[i]);
    return (size_t)((differs - 1) >> 31);
}

const hn_key *hn_keys_find(const hn_keys *keys, const char *secret)
{
    uint8_t digest[32];
    size_t found = 0; /* 1 and its place; 0: none */
    digest_of(secret, strlen(secret), digest);
    for (size_t i = 0; i < keys->n; i++)
        found |= (0 - is_same(digest, keys->at[i].digest)) & (i + 1);
    return found ? &keys->at[found - 1] : NULL;
}

const hn_key *hn_keys_named(const hn_keys *keys, const char *name)
{
    for (size_t i = 0; i < keys->n; i++)
        if (!strcmp(keys->at[i].name, name))
            return &keys->at[i];
    return NULL;
}

const hn_key *hn_keys_of(const hn_keys *keys, const hn_http_request *request)
{
    const char *bearer = hn_http_find_field(request, "authorization");
    const char *plain = hn_http_find_field(request, "x-api-key");
    if (bearer && !hn_ascii_same_n(bearer, "bearer ", 7))
        return NULL;
    if (bearer)
        bearer += 7 + strspn(bearer + 7, " ");
    const hn_key *a = bearer ? hn_keys_find(keys, bearer) : NULL, *b = plain ? hn_keys_find(keys, plain) : NULL;
    if (bearer && plain)
        return a == b ? a : NULL;
    return bearer ? a : b;
}

/* ---- reading ---- */

static bool is_name(const char *word)
{
    for (const char *c = word; *c; c++) {
        const char low = hn_ascii_lower(*c);
        if (!((low >= 'a' && low <= 'z') || (*c >= '0' && *c <= '9') || strchr("._-", *c)))
            return false;
    }
    return strlen(word) <= HN_KEY_NAME;
}

static bool is_printable(const char *word)
{
    for (const char *c = word; *c; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return false;
    return true;
}

/* Words of a line, in its place; MOST_WORDS: so many or more. */
static size_t split(char *line, char *words[MOST_WORDS])
{
    size_t n = 0;
    for (line += strspn(line, " \t"); *line && n < MOST_WORDS; n++) {
        words[n] = line;
        line += strcspn(line, " \t");
        const size_t blanks = strspn(line, " \t");
        if (blanks)
            *line = 0;
        line += blanks;
    }
    return n;
}

/* What is wrong is said without what stands there: it may be a secret. */
static hn_status read_key(hn_keys *keys, char *words[MOST_WORDS], size_t n, const char *path, size_t line)
{
    HN_REQUIRE(n == 2 || n == 3, HN_ERR_FORMAT, "%s line %zu: expected NAME SECRET [admin], found %zu word%s", path, line, n,
               n == 1 ? "" : n >= MOST_WORDS ? "s or more" : "s");
    HN_REQUIRE(n == 2 || !strcmp(words[2], "admin"), HN_ERR_FORMAT, "%s line %zu: the third word may be admin alone", path, line);
    HN_REQUIRE(is_name(words[0]), HN_ERR_FORMAT,
               "%s line %zu: a name is at most %d letters, digits, dots, underscores and hyphens", path, line, HN_KEY_NAME);
    const size_t bytes = strlen(words[1]);
    HN_REQUIRE(is_printable(words[1]) && bytes >= HN_KEY_LEAST_SECRET && bytes <= HN_KEY_MOST_SECRET, HN_ERR_FORMAT,
               "%s line %zu: a secret is %d to %d printable characters of ASCII", path, line, HN_KEY_LEAST_SECRET,
               HN_KEY_MOST_SECRET);
    hn_key *key = &keys->at[keys->n];
    memcpy(key->name, words[0], strlen(words[0]));
    key->is_admin = n == 3;
    key->owner = owner_of(words[0]);
    digest_of(words[1], bytes, key->digest);
    for (size_t i = 0; i < keys->n; i++) {
        HN_REQUIRE(strcmp(keys->at[i].name, key->name) != 0, HN_ERR_FORMAT, "%s line %zu: the name %s was there before", path,
                   line, key->name);
        HN_REQUIRE(keys->at[i].owner != key->owner, HN_ERR_FORMAT, "%s line %zu: the names %s and %s have the same number: change one",
                   path, line, key->name, keys->at[i].name);
        HN_REQUIRE(!is_same(keys->at[i].digest, key->digest), HN_ERR_FORMAT, "%s line %zu: the secret is that of %s", path, line,
                   keys->at[i].name);
    }
    keys->n++;
    return HN_OK;
}

static hn_status read_line(hn_keys *keys, char *text, const char *path, size_t line)
{
    char *words[MOST_WORDS];
    const size_t bytes = strlen(text);
    if (bytes && text[bytes - 1] == '\r')
        text[bytes - 1] = 0;
    text += strspn(text, " \t");
    if (!*text || *text == '#')
        return HN_OK;
    return read_key(keys, words, split(text, words), path, line);
}

static hn_status read_lines(hn_keys *keys, char *text, size_t bytes, const char *path)
{
    size_t n_lines = 1;
    for (size_t i = 0; i < bytes; i++) {
        HN_REQUIRE(text[i], HN_ERR_FORMAT, "%s line %zu: has a NUL", path, n_lines);
        n_lines += text[i] == '\n';
    }
    keys->at = hn_alloc_array(keys->heap, HN_TAG_FILE, n_lines, sizeof *keys->at);
    if (!keys->at)
        return hn_fail_within(HN_ERR_MEMORY, "%s: ", path);
    for (size_t line = 1; text; line++) {
        char *end = strchr(text, '\n');
        if (end)
            *end = 0;
        HN_TRY(read_line(keys, text, path, line));
        text = end ? end + 1 : NULL;
    }
    HN_REQUIRE(keys->n, HN_ERR_FORMAT, "%s: has no key", path);
    return HN_OK;
}

hn_status hn_keys_read(hn_keys **out, hn_heap *heap, const char *path)
{
    hn_os_file about;
    void *text = NULL;
    size_t bytes = 0;
    *out = NULL;
    HN_REQUIRE(!hn_os_about(path, &about) || !about.is_open_to_others, HN_ERR_ARGUMENT,
               "%s: others may read it: expected permissions of its owner alone (chmod 600)", path);
    HN_TRY(hn_file_read(heap, path, MOST_BYTES, &text, &bytes));
    hn_keys *keys = hn_alloc(heap, HN_TAG_FILE, sizeof *keys);
    hn_status status = keys ? HN_OK : HN_ERR_MEMORY;
    if (keys) {
        keys->heap = heap;
        status = read_lines(keys, text, bytes, path);
    }
    memset(text, 0, bytes);
    hn_free(heap, text);
    if (status != HN_OK) {
        hn_keys_free(keys);
        return status;
    }
    *out = keys;
    return HN_OK;
}
