/* Edges are of bytes, never of characters: a range of characters becomes sequences of ranges of bytes here, which
 * share their ends. Every node and edge counts against the limits. */
#include "text/grammar/build.h"

#include "base/work.h"

#include <string.h>

hn_build hn_build_on(hn_heap *heap, const hn_grammar_limits *limits)
{
    return (hn_build){ .heap = heap, .limits = *limits, .n_nodes = 1 };
}

void hn_build_free(hn_build *b)
{
    hn_free(b->heap, b->edges);
    hn_free(b->heap, b->rules);
    hn_free(b->heap, b->tokens);
    *b = (hn_build){ .heap = b->heap };
}

void hn_build_fail(hn_build *b, hn_status status)
{
    if (b->status == HN_OK)
        b->status = status;
}

enum { STEPS_A_LOOK = 1 << 12 };

bool hn_build_step(hn_build *b, int64_t n)
{
    const int64_t looked = b->n_steps / STEPS_A_LOOK;
    b->n_steps += n;
    if (b->status == HN_OK && b->n_steps > b->limits.steps)
        b->status = hn_fail(HN_ERR_UNSUPPORTED, "the grammar takes more than %lld steps to make", (long long)b->limits.steps);
    if (b->status == HN_OK && looked != b->n_steps / STEPS_A_LOOK)
        b->status = hn_work_look("a grammar");
    return b->status == HN_OK;
}

/* Room for one more of an array. */
static bool grow(hn_build *b, void *array, size_t n, size_t *room, size_t size)
{
    void **at = array;
    if (b->status != HN_OK)
        return false;
    if (n < *room)
        return true;
    const size_t wanted = *room ? 2 * *room : 64;
    void *grown = hn_realloc_array(b->heap, HN_TAG_TEXT, *at, wanted, size);
    if (!grown) {
        b->status = HN_ERR_MEMORY;
        return false;
    }
    *at = grown;
    *room = wanted;
    return true;
}

uint32_t hn_build_node(hn_build *b)
{
    if (b->status != HN_OK)
        return 0;
    if (b->n_nodes >= b->limits.states) {
        b->status = hn_fail(HN_ERR_UNSUPPORTED, "the grammar has more than %lld states", (long long)b->limits.states);
        return 0;
    }
    return b->n_nodes++;
}

static void add_edge(hn_build *b, uint32_t from, hn_edge edge)
{
    enum { EDGES_A_STATE = 8 };
    if (b->status == HN_OK && (int64_t)b->n_edges >= EDGES_A_STATE * b->limits.states)
        b->status = hn_fail(HN_ERR_UNSUPPORTED, "the grammar has more than %lld edges between its states",
                            (long long)(EDGES_A_STATE * b->limits.states));
    if (grow(b, &b->edges, b->n_edges, &b->edge_room, sizeof *b->edges))
        b->edges[b->n_edges++] = (hn_build_edge){ edge, from };
}

void hn_build_bytes(hn_build *b, uint32_t from, uint8_t low, uint8_t high, uint32_t to)
{
    add_edge(b, from, (hn_edge){ .kind = HN_EDGE_BYTE, .low = low, .high = high, .to = to });
}

void hn_build_empty(hn_build *b, uint32_t from, uint32_t to)
{
    add_edge(b, from, (hn_edge){ .kind = HN_EDGE_EMPTY, .to = to });
}

void hn_build_call(hn_build *b, uint32_t from, uint32_t rule, uint32_t to)
{
    add_edge(b, from, (hn_edge){ .kind = HN_EDGE_CALL, .what = rule, .to = to });
}

void hn_build_text(hn_build *b, uint32_t from, const char *text, size_t bytes, uint32_t to)
{
    if (!bytes)
        hn_build_empty(b, from, to);
    for (size_t i = 0; i < bytes; i++) {
        const uint32_t next = i + 1 < bytes ? hn_build_node(b) : to;
        hn_build_bytes(b, from, (uint8_t)text[i], (uint8_t)text[i], next);
        from = next;
    }
}

void hn_build_control(hn_build *b, uint32_t from, uint32_t to)
{
    add_edge(b, from, (hn_edge){ .kind = HN_EDGE_CONTROL, .to = to });
}

void hn_build_token(hn_build *b, uint32_t from, hn_edge_kind kind, int32_t id, const char *text, size_t bytes, uint32_t to)
{
    if (!grow(b, &b->tokens, b->n_tokens, &b->token_room, sizeof *b->tokens))
        return;
    b->tokens[b->n_tokens] = (hn_named_token){ id, text, (uint32_t)bytes };
    add_edge(b, from, (hn_edge){ .kind = (uint8_t)kind, .what = (uint32_t)b->n_tokens++, .to = to });
}

uint32_t hn_build_rule_new(hn_build *b)
{
    const uint32_t start = hn_build_node(b), end = hn_build_node(b);
    if (!grow(b, &b->rules, b->n_rules, &b->rule_room, sizeof *b->rules))
        return 0;
    b->rules[b->n_rules] = (hn_build_rule){ .start = start, .end = end };
    return (uint32_t)b->n_rules++;
}

/* ---- UTF-8 ---- */

/* Sequences of n bytes from `low` to `high`, which begin with the same bytes but for the last `n`. Where the rest may be
 * anything, tails are shared: tail[k] is a node k continuation bytes before `to`, or 0. */
static void add_sequences(hn_build *b, uint32_t from, const uint8_t *low, const uint8_t *high, int n, uint32_t *tail)
{
    if (n == 1) {
        hn_build_bytes(b, from, low[0], high[0], tail[0]);
        return;
    }
    uint8_t least[4] = { 0, 0x80, 0x80, 0x80 }, most[4] = { 0, 0xbf, 0xbf, 0xbf };
    const bool from_least = !memcmp(low + 1, least + 1, (size_t)n - 1), to_most = !memcmp(high + 1, most + 1, (size_t)n - 1);
    if (low[0] == high[0] && !(from_least && to_most)) {
        const uint32_t next = hn_build_node(b);
        hn_build_bytes(b, from, low[0], low[0], next);
        add_sequences(b, next, low + 1, high + 1, n - 1, tail);
        return;
    }
    uint8_t first = low[0], last = high[0];
    if (!from_least) {
        most[0] = low[0];
        add_sequences(b, from, low, most, n, tail);
        first++;
    }
    if (!to_most) {
        least[0] = high[0];
        add_sequences(b, from, least, high, n, tail);
        last--;
    }
    if (first > last)
        return;
    for (int k = 1; k < n; k++)
        if (!tail[k]) {
            tail[k] = hn_build_node(b);
            hn_build_bytes(b, tail[k], 0x80, 0xbf, tail[k - 1]);
        }
    hn_build_bytes(b, from, first, last, tail[n - 1]);
}

void hn_build_chars(hn_build *b, uint32_t from, uint32_t low, uint32_t high, uint32_t to)
{
    static const hn_range parts[] = { { 0, 0x7f }, { 0x80, 0x7ff }, { 0x800, 0xd7ff }, { 0xe000, 0xffff }, { 0x10000, 0x10ffff } };
    uint32_t tail[4] = { to };
    for (size_t i = 0; i < HN_COUNT(parts); i++) {
        const uint32_t l = low > parts[i].low ? low : parts[i].low, h = high < parts[i].high ? high : parts[i].high;
        char first[4], last[4];
        if (l > h)
            continue;
        const size_t n = hn_utf8_put(l, first);
        hn_utf8_put(h, last);
        add_sequences(b, from, (const uint8_t *)first, (const uint8_t *)last, (int)n, tail);
    }
}
