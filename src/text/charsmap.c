/* charsmap: the normalisation map inside sentencepiece models: a double-array trie of what is
 * replaced, and the replacements. At each place the longest entry counts.
 *
 *     u32 bytes of the trie | its units, u32 each | replacements, each ends in NUL */
#include "text/normalize.h"

#include <string.h>

static uint32_t word(const char *at)
{
    const uint8_t *b = (const uint8_t *)at;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

hn_status hn_charsmap_check(const char *map, size_t bytes)
{
    const uint32_t trie = bytes >= 4 ? word(map) : 0;
    HN_REQUIRE(bytes >= 4 && trie <= bytes - 4 && trie % 4 == 0 && trie, HN_ERR_FORMAT,
               "precompiled_charsmap: its trie has %u bytes of %zu", (unsigned)trie, bytes);
    HN_REQUIRE(bytes > 4 + (size_t)trie && map[bytes - 1] == 0, HN_ERR_FORMAT,
               "precompiled_charsmap: its replacements do not end in NUL");
    return HN_OK;
}

/* Bytes of the longest entry that text begins with; *value is where its replacement lies. */
static size_t find(const char *map, uint32_t n_units, const uint8_t *text, size_t bytes,
                   uint32_t *value)
{
    const char *units = map + 4;
    size_t longest = 0;
    uint32_t unit = word(units), node = 0;
    node ^= unit >> 10 << ((unit & 1u << 9) >> 6);
    for (size_t i = 0; i < bytes; i++) {
        node ^= text[i];
        if (node >= n_units)
            break;
        unit = word(units + 4 * (size_t)node);
        if ((unit & (1u << 31 | 0xff)) != text[i])
            break;
        const bool ends = unit >> 8 & 1;
        node ^= unit >> 10 << ((unit & 1u << 9) >> 6);
        if (ends && node < n_units) {
            *value = word(units + 4 * (size_t)node) & 0x7fffffff;
            longest = i + 1;
        }
    }
    return longest;
}

void hn_charsmap_apply(const char *map, size_t bytes, const hn_passage *in, hn_passage *out)
{
    const uint32_t trie = word(map);
    const char *texts = map + 4 + trie;
    const size_t text_bytes = bytes - 4 - trie;
    for (size_t at = 0; at < in->n;) {
        uint32_t value = 0, code;
        size_t n = find(map, trie / 4, in->bytes + at, in->n - at, &value);
        if (n && value < text_bytes) {
            hn_passage_put(out, texts + value, strlen(texts + value), hn_passage_from(in, at));
        } else {
            n = hn_char_at(in->bytes + at, in->bytes + in->n, &code);
            hn_passage_copy(out, in, at, n);
        }
        at += n;
    }
}
