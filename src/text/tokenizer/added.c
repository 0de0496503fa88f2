/* added: one walk down a trie a place; most places end at its root, by their first byte. */
#include "text/tokenizer/added.h"

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

/* No word character may touch it. */
static bool stands_alone(const hn_tokenizer *tok, const uint8_t *text, const uint8_t *end,
                         const hn_added_match *m)
{
    if (m->begin &&
        is_word_at(tok, text + m->begin - hn_char_before(text, text + m->begin), end))
        return false;
    return text + m->end == end || !is_word_at(tok, text + m->end, end);
}

static void take_blanks(const hn_tokenizer *tok, const hn_added *added, hn_span span,
                        size_t taken, hn_added_match *m)
{
    const uint8_t *text = span.data, *end = text + span.bytes;
    uint32_t code;
    while (added->strips_left && m->begin > taken) {
        const size_t n = hn_char_before(text + taken, text + m->begin);
        hn_char_at(text + m->begin - n, end, &code);
        if (!hn_charset_has(tok->white, code))
            break;
        m->begin -= n;
    }
    while (added->strips_right && m->end < span.bytes) {
        const size_t n = hn_char_at(text + m->end, end, &code);
        if (!hn_charset_has(tok->white, code))
            break;
        m->end += n;
    }
}

hn_added_match hn_added_next(const hn_tokenizer *tok, const hn_trie *trie, hn_span span,
                             size_t from, size_t taken, bool parse_special)
{
    const uint8_t *text = span.data, *end = text + span.bytes;
    for (size_t at = from; trie->n_nodes && at < span.bytes; at++) {
        size_t n = 0;
        const hn_added *found =
            trie->root[text[at]] ? longest(tok, trie, text + at, end, parse_special, &n) : NULL;
        if (!found)
            continue;
        hn_added_match m = { at, at + n, at + n, found->id };
        if (found->single_word && !stands_alone(tok, text, end, &m)) {
            at = m.end - 1;
            continue;
        }
        take_blanks(tok, found, span, taken, &m);
        return m;
    }
    return (hn_added_match){ span.bytes, span.bytes, span.bytes, -1 };
}
