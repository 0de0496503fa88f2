/* added: one walk down a trie a place; most places end at its root, by their first byte. */
#include "text/added.h"

static bool is_word_at(const hn_tokenizer *tok, const uint8_t *at, const uint8_t *end)
{
    uint32_t code;
    hn_char_at(at, end, &code);
    return hn_charset_has(tok->word_chars, code);
}

static const hn_added *longest(const hn_tokenizer *tok, const hn_trie *trie, const uint8_t *at,
                               const uint8_t *end, bool parse_special, size_t *bytes)
{
    const hn_added *best = NULL;
    uint32_t node = 0;
    for (const uint8_t *p = at; p < end && (node = hn_trie_child(trie, node, *p)); p++) {
        const int32_t value = trie->value[node];
        if (value < 0 || (tok->added[value].is_special && !parse_special))
            continue;
        best = &tok->added[value];
        *bytes = (size_t)(p + 1 - at);
    }
    return best;
}

bool hn_added_next(const hn_tokenizer *tok, const hn_trie *trie, const uint8_t *text,
                   size_t bytes, size_t from, bool parse_special, hn_added_match *out)
{
    const uint8_t *end = text + bytes;
    uint32_t code;
    for (size_t at = from; trie->n_nodes && at < bytes; at++) {
        if (!trie->root[text[at]])
            continue;
        size_t n = 0;
        const hn_added *found = longest(tok, trie, text + at, end, parse_special, &n);
        if (!found)
            continue;
        *out = (hn_added_match){ at, at + n, found->id };
        if (found->single_word) {
            const bool after_word =
                at && is_word_at(tok, text + at - hn_char_before(text, text + at), end);
            if (after_word || (out->end < bytes && is_word_at(tok, text + out->end, end))) {
                at = out->end - 1;
                continue;
            }
        }
        while (found->strips_left && out->begin > from) {
            n = hn_char_before(text + from, text + out->begin);
            hn_char_at(text + out->begin - n, end, &code);
            if (!hn_charset_has(tok->white, code))
                break;
            out->begin -= n;
        }
        while (found->strips_right && out->end < bytes) {
            n = hn_char_at(text + out->end, end, &code);
            if (!hn_charset_has(tok->white, code))
                break;
            out->end += n;
        }
        return true;
    }
    return false;
}
