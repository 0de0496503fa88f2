/* A grammar that waits: any text, byte by byte, with how much of a trigger it ends in. What has a text is read by its text, so a
 * token that stands in the vocabulary as a word counts as the word; tokens without one are let by, but for the triggers. */
#include "text/grammar/build.h"

#include <string.h>

typedef struct waiting {
    hn_build *b;
    const char *texts[2 * HN_MOST_TRIGGERS];
    size_t bytes[2 * HN_MOST_TRIGGERS];
    uint32_t first[2 * HN_MOST_TRIGGERS]; /* the node after one byte of the text; others follow */
    int n;
    uint32_t begin, found;
} waiting;

/* The node where the longest end of the text is the beginning of a trigger; `found`, if a whole one is. */
static uint32_t node_of(const waiting *w, const char *text, size_t n)
{
    for (size_t from = 0; from < n; from++)
        for (int i = 0; i < w->n; i++) {
            const size_t rest = n - from;
            if (rest > w->bytes[i] || memcmp(text + from, w->texts[i], rest))
                continue;
            return rest == w->bytes[i] ? w->found : w->first[i] + (uint32_t)rest - 1;
        }
    return w->begin;
}

/* Whether a whole trigger ends the text. */
static bool has_trigger(const waiting *w, const char *text, size_t n)
{
    for (int i = 0; i < w->n; i++)
        if (w->bytes[i] <= n && !memcmp(text + n - w->bytes[i], w->texts[i], w->bytes[i]))
            return true;
    return false;
}

static void add_node(const waiting *w, uint32_t node, const char *text, size_t n, uint32_t end)
{
    const hn_grammar_triggers *t = &w->b->limits.triggers;
    char longer[HN_TRIGGER_BYTES + 1];
    uint32_t low = 0, last = 0;
    memcpy(longer, text, n);
    for (uint32_t c = 0; c <= 256; c++) {
        longer[n] = (char)c;
        const uint32_t to = c == 256 ? UINT32_MAX : has_trigger(w, longer, n + 1) ? w->found : node_of(w, longer, n + 1);
        if (c && to != last) {
            hn_build_bytes(w->b, node, (uint8_t)low, (uint8_t)(c - 1), last);
            low = c;
        }
        last = to;
    }
    hn_build_empty(w->b, node, end);
    hn_build_control(w->b, node, w->begin);
    for (int32_t i = 0; i < t->n_tokens; i++)
        hn_build_token(w->b, node, HN_EDGE_TOKEN, -1, t->tokens[i], strlen(t->tokens[i]), w->found);
}

static void add_text(waiting *w, const char *text)
{
    const size_t n = strlen(text);
    if (n > HN_TRIGGER_BYTES) {
        hn_build_fail(w->b, hn_fail(HN_ERR_UNSUPPORTED, "a trigger of %zu bytes: expected at most %d", n, HN_TRIGGER_BYTES));
        return;
    }
    w->texts[w->n] = text;
    w->bytes[w->n] = n;
    w->first[w->n++] = w->b->n_nodes;
    for (size_t i = 1; i < n; i++)
        hn_build_node(w->b);
}

uint32_t hn_build_lazy(hn_build *b, uint32_t rule)
{
    const hn_grammar_triggers *t = &b->limits.triggers;
    waiting w = { .b = b };
    const uint32_t lazy = hn_build_rule_new(b);
    if (b->status != HN_OK)
        return 0;
    const uint32_t end = b->rules[lazy].end;
    w.begin = b->rules[lazy].start;
    w.found = hn_build_node(b);
    for (int32_t i = 0; i < t->n_texts; i++)
        add_text(&w, t->texts[i]);
    for (int32_t i = 0; i < t->n_tokens; i++)
        add_text(&w, t->tokens[i]);
    if (b->status != HN_OK)
        return 0;
    add_node(&w, w.begin, "", 0, end);
    for (int i = 0; i < w.n; i++)
        for (size_t k = 1; k < w.bytes[i]; k++)
            add_node(&w, w.first[i] + (uint32_t)k - 1, w.texts[i], k, end);
    hn_build_call(b, w.found, rule, end);
    return lazy;
}
