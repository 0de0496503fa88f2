/* States are made as they are met, by a table of keys that gives the same number for the same key: so an
 * intersection has only the pairs that a text can reach. */
#include "text/grammar/automaton.h"

#include <string.h>

/* Room for one more; false, and the failure is set, if there is none. */
static bool grow(hn_build *b, void *array, size_t n, size_t *room, size_t size)
{
    void **at = array;
    if (b->status != HN_OK)
        return false;
    if (n <= *room)
        return true;
    size_t wanted = *room ? 2 * *room : 32;
    while (wanted < n)
        wanted *= 2;
    void *grown = hn_realloc_array(b->heap, HN_TAG_TEXT, *at, wanted, size);
    if (!grown) {
        hn_build_fail(b, HN_ERR_MEMORY);
        return false;
    }
    *at = grown;
    *room = wanted;
    return true;
}

/* ---- keys ---- */

static uint32_t hash_words(const uint32_t *words, size_t n)
{
    uint32_t hash = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ words[i]) * 0x9e3779b1u;
        hash ^= hash >> 15;
    }
    return hash;
}

static size_t key_slot(const hn_met *k, const uint32_t *words, size_t n)
{
    size_t at = hash_words(words, n) & (k->slot_room - 1);
    for (; k->slots[at]; at = (at + 1) & (k->slot_room - 1)) {
        const uint32_t i = k->slots[at] - 1;
        if (k->at[i + 1] - k->at[i] == n && (!n || !memcmp(k->words + k->at[i], words, n * sizeof *words)))
            break;
    }
    return at;
}

static bool grow_keys(hn_build *b, hn_met *k)
{
    if (2 * (k->n + 1) <= k->slot_room)
        return true;
    uint32_t *old = k->slots;
    const size_t room = k->slot_room ? 2 * k->slot_room : 64;
    k->slots = hn_alloc_array(b->heap, HN_TAG_TEXT, room, sizeof *k->slots);
    if (!k->slots) {
        k->slots = old;
        hn_build_fail(b, HN_ERR_MEMORY);
        return false;
    }
    hn_free(b->heap, old);
    k->slot_room = room;
    for (size_t i = 0; i < k->n; i++)
        k->slots[key_slot(k, k->words + k->at[i], k->at[i + 1] - k->at[i])] = (uint32_t)i + 1;
    return true;
}

uint32_t hn_met_add(hn_build *b, hn_met *k, const uint32_t *words, size_t n)
{
    if (!grow(b, &k->at, k->n + 2, &k->room, sizeof *k->at) || !grow(b, &k->words, k->n_words + n, &k->word_room, sizeof *k->words) ||
        !grow_keys(b, k) || !hn_build_step(b, 1 + (int64_t)n))
        return 0;
    const size_t at = key_slot(k, words, n);
    if (k->slots[at])
        return k->slots[at] - 1;
    if ((int64_t)k->n >= b->limits.states) {
        hn_build_fail(b, hn_fail(HN_ERR_UNSUPPORTED, "the grammar has more than %lld states", (long long)b->limits.states));
        return 0;
    }
    if (n)
        memcpy(k->words + k->n_words, words, n * sizeof *words);
    k->n_words += n;
    k->slots[at] = (uint32_t)++k->n;
    k->at[k->n] = (uint32_t)k->n_words;
    return (uint32_t)k->n - 1;
}

void hn_met_free(const hn_build *b, hn_met *k)
{
    hn_free(b->heap, k->words);
    hn_free(b->heap, k->at);
    hn_free(b->heap, k->slots);
    *k = (hn_met){ 0 };
}

/* ---- automata ---- */

void hn_automaton_free(hn_automaton *a)
{
    if (a->heap) {
        hn_free(a->heap, a->edges);
        hn_free(a->heap, a->first);
        hn_free(a->heap, a->accepts);
    }
    *a = (hn_automaton){ 0 };
}

void hn_automaton_add_state(hn_build *b, hn_automaton *a, bool accepts)
{
    size_t room = a->room;
    a->heap = b->heap;
    if (!grow(b, &a->first, a->n + 2, &room, sizeof *a->first) || !grow(b, &a->accepts, a->n + 2, &a->room, sizeof *a->accepts))
        return;
    a->first[a->n] = (uint32_t)a->n_edges;
    a->accepts[a->n++] = accepts;
}

void hn_automaton_add_edge(hn_build *b, hn_automaton *a, uint32_t low, uint32_t high, uint32_t to)
{
    if (!grow(b, &a->edges, a->n_edges + 1, &a->edge_room, sizeof *a->edges))
        return;
    hn_char_edge *last = a->n_edges > a->first[a->n - 1] ? &a->edges[a->n_edges - 1] : NULL;
    if (last && last->to == to && last->high + 1 == low)
        last->high = high;
    else
        a->edges[a->n_edges++] = (hn_char_edge){ low, high, to };
}

void hn_automaton_close(hn_build *b, hn_automaton *a)
{
    if (b->status != HN_OK || !a->n)
        hn_automaton_free(a);
    else
        a->first[a->n] = (uint32_t)a->n_edges;
}

static void add_common(hn_build *b, hn_automaton *out, hn_met *keys, const hn_automaton *x, uint32_t i, const hn_automaton *y,
                       uint32_t k)
{
    uint32_t p = x->first[i], q = y->first[k];
    while (p < x->first[i + 1] && q < y->first[k + 1] && hn_build_step(b, 1)) {
        const hn_char_edge *e = &x->edges[p], *f = &y->edges[q];
        const uint32_t low = e->low > f->low ? e->low : f->low, high = e->high < f->high ? e->high : f->high;
        if (low <= high)
            hn_automaton_add_edge(b, out, low, high, hn_met_add(b, keys, (uint32_t[]){ e->to, f->to }, 2));
        if (e->high < f->high)
            p++;
        else
            q++;
    }
}

void hn_automaton_intersect(hn_build *b, hn_automaton *a, const hn_automaton *with)
{
    hn_automaton out = { 0 };
    hn_met keys = { 0 };
    if (a->n && with->n)
        hn_met_add(b, &keys, (uint32_t[]){ 0, 0 }, 2);
    for (size_t i = 0; i < keys.n && b->status == HN_OK; i++) {
        const uint32_t x = keys.words[2 * i], y = keys.words[2 * i + 1];
        hn_automaton_add_state(b, &out, a->accepts[x] && with->accepts[y]);
        add_common(b, &out, &keys, a, x, with, y);
    }
    hn_met_free(b, &keys);
    hn_automaton_close(b, &out);
    hn_automaton_free(a);
    *a = out;
}

void hn_automaton_invert(hn_build *b, hn_automaton *a)
{
    hn_automaton out = { 0 };
    const uint32_t all = (uint32_t)a->n;
    for (uint32_t i = 0; i < a->n && b->status == HN_OK; i++) {
        uint32_t next = 0;
        hn_automaton_add_state(b, &out, !a->accepts[i]);
        for (uint32_t e = a->first[i]; e < a->first[i + 1]; e++) {
            if (a->edges[e].low > next)
                hn_automaton_add_edge(b, &out, next, a->edges[e].low - 1, all);
            hn_automaton_add_edge(b, &out, a->edges[e].low, a->edges[e].high, a->edges[e].to);
            next = a->edges[e].high + 1;
        }
        if (next <= HN_LAST_CHAR)
            hn_automaton_add_edge(b, &out, next, HN_LAST_CHAR, all);
    }
    hn_automaton_add_state(b, &out, true);
    if (b->status == HN_OK)
        hn_automaton_add_edge(b, &out, 0, HN_LAST_CHAR, all);
    hn_automaton_close(b, &out);
    hn_automaton_free(a);
    *a = out;
}

void hn_automaton_of_length(hn_build *b, int64_t least, int64_t most, hn_automaton *out)
{
    const int64_t last = most < 0 ? least : most;
    *out = (hn_automaton){ 0 };
    if (b->status == HN_OK && last > b->limits.repetition) {
        hn_build_fail(b, hn_fail(HN_ERR_UNSUPPORTED, "a length of %lld: expected at most %lld", (long long)last,
                                 (long long)b->limits.repetition));
        return;
    }
    for (int64_t i = 0; i <= last && hn_build_step(b, 1); i++) {
        hn_automaton_add_state(b, out, i >= least);
        if (i < last || most < 0)
            hn_automaton_add_edge(b, out, 0, HN_LAST_CHAR, (uint32_t)(i < last ? i + 1 : i));
    }
    hn_automaton_close(b, out);
}

bool hn_automaton_has(const hn_automaton *a, const char *text, size_t bytes)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + bytes;
    uint32_t state = 0;
    while (a->n && at < end) {
        uint32_t code, e = a->first[state];
        at += hn_char_at(at, end, &code);
        while (e < a->first[state + 1] && a->edges[e].high < code)
            e++;
        if (e == a->first[state + 1] || a->edges[e].low > code)
            return false;
        state = a->edges[e].to;
    }
    return a->n && a->accepts[state];
}

/* All states were met from the first one on. */
bool hn_automaton_is_empty(const hn_automaton *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->accepts[i])
            return false;
    return true;
}

/* ---- as rules ---- */

static const char hex[] = "0123456789abcdef";

/* The canonical spelling of a range in a string: as it is but for what must be escaped. */
static void add_json_range(hn_build *b, uint32_t from, uint32_t low, uint32_t high, uint32_t to)
{
    static const char escapes[] = "\b\f\n\r\t", letters[] = "bfnrt";
    for (; low <= high && low < 0x20; low++) {
        const char *short_form = low ? strchr(escapes, (int)low) : NULL;
        const char text[] = { '\\', 'u', '0', '0', hex[low >> 4], hex[low & 15] };
        if (short_form)
            hn_build_text(b, from, (const char[]){ '\\', letters[short_form - escapes] }, 2, to);
        else
            hn_build_text(b, from, text, sizeof text, to);
    }
    for (int i = 0; i < 2; i++) {
        const uint32_t c = i ? '\\' : '"';
        if (low > c || high < c)
            continue;
        if (low < c)
            hn_build_chars(b, from, low, c - 1, to);
        hn_build_text(b, from, (const char[]){ '\\', (char)c }, 2, to);
        low = c + 1;
    }
    if (low <= high)
        hn_build_chars(b, from, low, high, to);
}

static void add_hex(hn_build *b, uint32_t from, int low, int high, uint32_t to)
{
    if (low <= 9)
        hn_build_bytes(b, from, (uint8_t)('0' + low), (uint8_t)('0' + (high < 9 ? high : 9)), to);
    if (high < 10)
        return;
    const int first = low > 10 ? low - 10 : 0;
    hn_build_bytes(b, from, (uint8_t)('a' + first), (uint8_t)('a' + high - 10), to);
    hn_build_bytes(b, from, (uint8_t)('A' + first), (uint8_t)('A' + high - 10), to);
}

static uint32_t hex_node(hn_build *b, uint32_t from, int low, int high)
{
    const uint32_t to = hn_build_node(b);
    add_hex(b, from, low, high, to);
    return to;
}

void hn_build_json_char(hn_build *b, uint32_t from, uint32_t to)
{
    static const char short_forms[] = "\"\\/bfnrt";
    const uint32_t escape = hn_build_node(b), code = hn_build_node(b), second = hn_build_node(b);
    hn_build_chars(b, from, 0x20, 0x21, to);
    hn_build_chars(b, from, 0x23, 0x5b, to);
    hn_build_chars(b, from, 0x5d, HN_LAST_CHAR, to);
    hn_build_bytes(b, from, '\\', '\\', escape);
    for (size_t i = 0; i + 1 < sizeof short_forms; i++)
        hn_build_bytes(b, escape, (uint8_t)short_forms[i], (uint8_t)short_forms[i], to);
    hn_build_bytes(b, escape, 'u', 'u', code);
    const uint32_t last2 = hn_build_node(b), last1 = hn_build_node(b); /* digits that are left */
    const uint32_t d = hn_build_node(b), high = hn_build_node(b), high2 = hn_build_node(b), high1 = hn_build_node(b);
    add_hex(b, code, 0, 12, second);
    add_hex(b, code, 14, 15, second);
    add_hex(b, second, 0, 15, last2);
    add_hex(b, last2, 0, 15, last1);
    add_hex(b, last1, 0, 15, to);
    add_hex(b, code, 13, 13, d); /* d800 to dfff are halves of a character */
    add_hex(b, d, 0, 7, last2);
    add_hex(b, d, 8, 11, high2);
    add_hex(b, high2, 0, 15, high1);
    add_hex(b, high1, 0, 15, high);
    const uint32_t mark = hn_build_node(b), low4 = hn_build_node(b);
    hn_build_bytes(b, high, '\\', '\\', mark);
    hn_build_bytes(b, mark, 'u', 'u', low4);
    const uint32_t low3 = hex_node(b, low4, 13, 13), low2 = hex_node(b, low3, 12, 15), low1 = hex_node(b, low2, 0, 15);
    add_hex(b, low1, 0, 15, to);
}

static void emit_edge(hn_build *b, const hn_char_edge *e, hn_spelling spelling, uint32_t from, uint32_t to)
{
    if (spelling == HN_SPELLED_PLAIN)
        hn_build_chars(b, from, e->low, e->high, to);
    else if (!e->low && e->high == HN_LAST_CHAR)
        hn_build_json_char(b, from, to);
    else
        add_json_range(b, from, e->low, e->high, to);
}

void hn_automaton_emit(hn_build *b, const hn_automaton *a, hn_spelling spelling, uint32_t from, uint32_t to)
{
    const uint32_t base = b->n_nodes;
    for (size_t i = 0; i < a->n; i++)
        hn_build_node(b);
    if (a->n)
        hn_build_empty(b, from, base);
    for (uint32_t i = 0; i < a->n && b->status == HN_OK; i++) {
        for (uint32_t e = a->first[i]; e < a->first[i + 1]; e++)
            emit_edge(b, &a->edges[e], spelling, base + i, base + a->edges[e].to);
        if (a->accepts[i])
            hn_build_empty(b, base + i, to);
    }
}
