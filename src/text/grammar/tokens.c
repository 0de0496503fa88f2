/* Texts are sorted, and the tree is an array in that order: a node's children follow it, and `next` is behind them
 * all, so a walk that cuts off a branch is one jump. */
#include "text/grammar/tokens.h"

#include "base/work.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    const uint8_t *text;
    uint32_t bytes;
    int32_t id;
} entry;

static int by_text(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    const int order = memcmp(x->text, y->text, x->bytes < y->bytes ? x->bytes : y->bytes);
    if (order)
        return order;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static hn_status read_texts(hn_tokens *t, const hn_token_source *source)
{
    for (int32_t i = 0; i < t->n_vocab; i++) {
        hn_token_class class = HN_TOKEN_IS_NOTHING;
        t->at[i] = (uint32_t)t->text.length;
        if (hn_work_every((uint64_t)i))
            HN_TRY(hn_work_look("a vocabulary's texts"));
        HN_TRY(source->text(source->context, i, &t->text, &class));
        HN_TRY(hn_str_status(&t->text));
        HN_REQUIRE(t->text.length < UINT32_MAX, HN_ERR_UNSUPPORTED, "a vocabulary of more than 4 GiB of text");
        const size_t bytes = t->text.length - t->at[i];
        if (class == HN_TOKEN_IS_TEXT && (!bytes || bytes > HN_TOKEN_MAX_BYTES))
            class = HN_TOKEN_IS_NOTHING;
        t->class[i] = (uint8_t)class;
        t->n_ids += class == HN_TOKEN_IS_TEXT;
    }
    t->at[t->n_vocab] = (uint32_t)t->text.length;
    return HN_OK;
}

static size_t common(const entry *a, const entry *b)
{
    size_t n = 0;
    while (n < a->bytes && n < b->bytes && a->text[n] == b->text[n])
        n++;
    return n;
}

static size_t count_nodes(const entry *e, size_t n)
{
    size_t nodes = 0;
    for (size_t i = 0; i < n; i++)
        nodes += e[i].bytes - (i ? common(&e[i - 1], &e[i]) : 0);
    return nodes;
}

hn_utf8_state hn_utf8_after(hn_utf8_state state, uint8_t byte)
{
    static const struct {
        uint8_t state, low, high, to;
    } steps[] = {
        { HN_UTF8_BEGIN, 0, 0x7f, HN_UTF8_BEGIN },       { HN_UTF8_BEGIN, 0xc2, 0xdf, HN_UTF8_ONE },
        { HN_UTF8_BEGIN, 0xe0, 0xe0, HN_UTF8_E0 },       { HN_UTF8_BEGIN, 0xe1, 0xec, HN_UTF8_TWO },
        { HN_UTF8_BEGIN, 0xed, 0xed, HN_UTF8_ED },       { HN_UTF8_BEGIN, 0xee, 0xef, HN_UTF8_TWO },
        { HN_UTF8_BEGIN, 0xf0, 0xf0, HN_UTF8_F0 },       { HN_UTF8_BEGIN, 0xf1, 0xf3, HN_UTF8_THREE },
        { HN_UTF8_BEGIN, 0xf4, 0xf4, HN_UTF8_F4 },       { HN_UTF8_ONE, 0x80, 0xbf, HN_UTF8_BEGIN },
        { HN_UTF8_TWO, 0x80, 0xbf, HN_UTF8_ONE },        { HN_UTF8_THREE, 0x80, 0xbf, HN_UTF8_TWO },
        { HN_UTF8_E0, 0xa0, 0xbf, HN_UTF8_ONE },         { HN_UTF8_ED, 0x80, 0x9f, HN_UTF8_ONE },
        { HN_UTF8_F0, 0x90, 0xbf, HN_UTF8_TWO },         { HN_UTF8_F4, 0x80, 0x8f, HN_UTF8_TWO },
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i].state == state && steps[i].low <= byte && byte <= steps[i].high)
            return (hn_utf8_state)steps[i].to;
    return HN_N_UTF8_STATES;
}

static uint8_t whole_above(const hn_token_node *node)
{
    uint8_t whole = 0;
    for (int s = 0; s < HN_N_UTF8_STATES; s++) {
        const hn_utf8_state to = hn_utf8_after((hn_utf8_state)s, node->byte);
        whole |= (uint8_t)((to < HN_N_UTF8_STATES && (node->whole >> to & 1)) << s);
    }
    return whole;
}

/* What is below a node that is finished goes to the one above. */
static void close_node(hn_tokens *t, const uint32_t *way, size_t depth)
{
    const uint32_t at = way[depth];
    hn_token_node *node = &t->nodes[at];
    node->next = t->n_nodes;
    if (!depth)
        return;
    hn_token_node *above = &t->nodes[way[depth - 1]];
    const uint8_t below = (uint8_t)(node->below + ((node->byte & 0xc0) != 0x80));
    above->below = below > above->below ? below : above->below;
    above->whole &= whole_above(node);
    above->is_ascii &= node->is_ascii && node->byte < 0x80;
    for (int k = 0; k < 2; k++)
        t->bytes[way[depth - 1]][k] |= t->bytes[at][k];
    if (node->byte < 0x80)
        t->bytes[way[depth - 1]][node->byte / 64] |= (uint64_t)1 << node->byte % 64;
}

static uint8_t n_chars(const entry *e)
{
    uint8_t n = 0;
    for (uint32_t i = 0; i < e->bytes; i++)
        n = (uint8_t)(n + ((e->text[i] & 0xc0) != 0x80));
    return n;
}

static void add_nodes(hn_tokens *t, const entry *e, size_t n)
{
    uint32_t way[HN_TOKEN_MAX_BYTES + 1];
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t same = i ? common(&e[i - 1], &e[i]) : 0;
        while (depth > same)
            close_node(t, way, --depth);
        for (; depth < e[i].bytes; depth++) {
            way[depth] = t->n_nodes;
            t->nodes[t->n_nodes++] = (hn_token_node){ .first = (uint32_t)i, .byte = e[i].text[depth],
                                                      .depth = (uint8_t)(depth + 1), .whole = UINT8_MAX, .is_ascii = true };
        }
        t->ids[i] = e[i].id;
        t->chars[i] = n_chars(&e[i]);
    }
    while (depth)
        close_node(t, way, --depth);
    t->nodes[t->n_nodes] = (hn_token_node){ .next = t->n_nodes, .first = (uint32_t)n };
}

static hn_status make_tree(hn_tokens *t, entry *e)
{
    size_t n = 0;
    for (int32_t i = 0; i < t->n_vocab; i++) {
        size_t bytes;
        const uint8_t *text = hn_tokens_text(t, i, &bytes);
        if (t->class[i] == HN_TOKEN_IS_TEXT)
            e[n++] = (entry){ text, (uint32_t)bytes, i };
    }
    if (n > 1)
        qsort(e, n, sizeof *e, by_text);
    const size_t nodes = count_nodes(e, n) + 1;
    t->nodes = hn_alloc_array(t->heap, HN_TAG_TEXT, nodes, sizeof *t->nodes);
    t->bytes = hn_alloc_array(t->heap, HN_TAG_TEXT, nodes, sizeof *t->bytes);
    t->ids = hn_alloc_array(t->heap, HN_TAG_TEXT, n + 1, sizeof *t->ids);
    t->chars = hn_alloc_array(t->heap, HN_TAG_TEXT, n + 1, sizeof *t->chars);
    if (!t->nodes || !t->bytes || !t->ids || !t->chars)
        return HN_ERR_MEMORY;
    add_nodes(t, e, n);
    return HN_OK;
}

static hn_status make(hn_tokens *t, const hn_token_source *source)
{
    const size_t n = (size_t)t->n_vocab;
    t->class = hn_alloc_array(t->heap, HN_TAG_TEXT, n + 1, sizeof *t->class);
    t->at = hn_alloc_array(t->heap, HN_TAG_TEXT, n + 1, sizeof *t->at);
    if (!t->class || !t->at)
        return HN_ERR_MEMORY;
    HN_TRY(read_texts(t, source));
    entry *e = hn_alloc_array(t->heap, HN_TAG_TEXT, (size_t)t->n_ids + 1, sizeof *e);
    const hn_status status = e ? make_tree(t, e) : HN_ERR_MEMORY;
    hn_free(t->heap, e);
    return status;
}

hn_status hn_tokens_new(hn_tokens **out, hn_heap *heap, const hn_token_source *source)
{
    hn_tokens *t = hn_alloc(heap, HN_TAG_TEXT, sizeof *t);
    *out = NULL;
    if (!t)
        return HN_ERR_MEMORY;
    *t = (hn_tokens){ .heap = heap, .text = hn_str_on(heap), .n_vocab = source->n_vocab };
    const hn_status status = make(t, source);
    if (status != HN_OK) {
        hn_tokens_free(t);
        return status;
    }
    *out = t;
    return HN_OK;
}

void hn_tokens_free(hn_tokens *t)
{
    if (!t)
        return;
    hn_free(t->heap, t->nodes);
    hn_free(t->heap, t->bytes);
    hn_free(t->heap, t->ids);
    hn_free(t->heap, t->chars);
    hn_free(t->heap, t->class);
    hn_free(t->heap, t->at);
    hn_str_free(&t->text);
    hn_free(t->heap, t);
}
