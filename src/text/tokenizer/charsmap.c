/* charsmap: the normalisation map inside sentencepiece models: a double-array trie of what is
 * replaced, and the replacements. It is applied as `tokenizers` does and not as sentencepiece,
 * which takes the longest entry at each place: a grapheme cluster of up to five bytes is
 * replaced whole by what the shortest entry that it begins with stands for, so that marks after
 * a mapped character are lost; otherwise its characters are looked up one by one.
 *
 *     u32 bytes of the trie | its units, u32 each | replacements, each ends in NUL */
#include "text/tokenizer/normalize.h"
#include "text/tokenizer/vocab.h"
#include "text/unicode/grapheme.h"

#include <string.h>

enum { MOST_WHOLE = 6 }; /* bytes; from here on, character by character */

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

/* Whether text begins with an entry; *value is where the shortest one's replacement lies. */
static bool find(const char *map, uint32_t n_units, const uint8_t *text, size_t bytes,
                 uint32_t *value)
{
    const char *units = map + 4;
    uint32_t unit = word(units), node = 0;
    node ^= unit >> 10 << ((unit & 1u << 9) >> 6);
    for (size_t i = 0; i < bytes && text[i]; i++) {
        node ^= text[i];
        if (node >= n_units)
            break;
        unit = word(units + 4 * (size_t)node);
        if ((unit & (1u << 31 | 0xff)) != text[i])
            break;
        node ^= unit >> 10 << ((unit & 1u << 9) >> 6);
        if (unit >> 8 & 1 && node < n_units) {
            *value = word(units + 4 * (size_t)node) & 0x7fffffff;
            return true;
        }
    }
    return false;
}

typedef struct charsmap {
    const char *map, *texts;
    uint32_t n_units;
    size_t text_bytes;
} charsmap;

/* The n bytes at a place become what they begin with stands for, if that is anything. */
static bool put(const charsmap *m, const hn_passage *in, size_t at, size_t n, hn_passage *out)
{
    uint32_t value = 0;
    if (!find(m->map, m->n_units, in->bytes + at, n, &value) || value >= m->text_bytes)
        return false;
    hn_passage_put(out, m->texts + value, strlen(m->texts + value), hn_passage_from(in, at));
    return true;
}

void hn_charsmap_apply(const char *map, size_t bytes, const hn_passage *in, hn_passage *out)
{
    const uint32_t trie = word(map);
    const charsmap m = { map, map + 4 + trie, trie / 4, bytes - 4 - trie };
    uint32_t code;
    size_t looked = 0;
    for (size_t at = 0, end; at < in->n && hn_passage_goes_on(out, &looked, at); at = end) {
        end = at + hn_grapheme_at(in->bytes + at, in->bytes + in->n);
        if (end - at < MOST_WHOLE && put(&m, in, at, end - at, out))
            continue;
        for (size_t n; at < end; at += n) {
            n = hn_char_at(in->bytes + at, in->bytes + end, &code);
            if (!put(&m, in, at, n, out))
                hn_passage_copy(out, in, at, n);
        }
    }
}
