/* added: one walk down a trie a place; most places end at its root, by their first byte. */
#include "text/tokenizer/added.h"

static bool is_word_at(const hn_tokenizer *tok, const uint8_t *at, const uint8_t *end)
{
    uint32_t code;
    hn_char_at(at, end, &code);
    return hn_charset_has(tok->word_chars, code);
}

/* Whether a mark of the template begins within (at, end): a token of data and template may not swallow it. */
static bool holds_mark(const hn_added_search *s, size_t at, size_t end)
{
    const uint8_t *text = s->text.data, *last = text + s->text.bytes;
    for (size_t i = at + 1; i < end; i++) {
        uint32_t node = 0;
        for (const uint8_t *p = text + i; p < last && (node = hn_trie_child(s->trie, node, *p)); p++) {
            const int32_t value = s->trie->value[node];
            if (value >= 0 && hn_guard_has(s->encoder, value) &&
                hn_guard_owns(s->encoder, s->passage, i, (size_t)(p + 1 - text)))
                return true;
        }
    }
    return false;
}

/* Whether a token may stand here: a guarded one only where all of it is the template's. */
static bool may_stand(const hn_added_search *s, int32_t value, size_t at, size_t end)
{
    if (s->tok->added[value].is_special && !s->parse_special)
        return false;
    if (!hn_guard_is_set(s->encoder) || hn_guard_owns(s->encoder, s->passage, at, end))
        return true;
    return !hn_guard_has(s->encoder, value) && !holds_mark(s, at, end);
}

static const hn_added *longest(const hn_added_search *s, size_t at, size_t *bytes)
{
    const hn_added *best = NULL;
    const uint8_t *text = s->text.data, *end = text + s->text.bytes;
    uint32_t node = 0;
    for (const uint8_t *p = text + at; p < end && (node = hn_trie_child(s->trie, node, *p)); p++) {
        const int32_t value = s->trie->value[node];
        const size_t n = (size_t)(p + 1 - text) - at;
        if (value < 0 || !may_stand(s, value, at, at + n))
            continue;
        best = &s->tok->added[value];
        *bytes = n;
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

hn_added_match hn_added_next(const hn_added_search *s, size_t from, size_t taken)
{
    const hn_tokenizer *tok = s->tok;
    const hn_span span = s->text;
    const uint8_t *text = span.data, *end = text + span.bytes;
    for (size_t at = from; s->trie->n_nodes && at < span.bytes; at++) {
        size_t n = 0;
        const hn_added *found = s->trie->root[text[at]] ? longest(s, at, &n) : NULL;
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
