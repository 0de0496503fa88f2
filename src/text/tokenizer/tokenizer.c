/* tokenizer: what all families share: making, asking, and tables that follow from the parts. */
#include "text/tokenizer/family.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

hn_status hn_tokenizer_new(hn_heap *heap, hn_tokenizer **out)
{
    static _Atomic uint64_t last_serial;
    hn_tokenizer *tok = hn_alloc(heap, HN_TAG_TEXT, sizeof *tok);
    *out = tok;
    if (!tok)
        return HN_ERR_MEMORY;
    tok->heap = heap;
    tok->serial = atomic_fetch_add(&last_serial, 1) + 1;
    tok->vocab.heap = tok->normalizer.heap = tok->splitter.heap = heap;
    hn_trie_init(&tok->trie, heap);
    hn_trie_init(&tok->added_raw, heap);
    hn_trie_init(&tok->added_normalized, heap);
    tok->unknown = -1;
    tok->max_word_chars = 100;
    for (int i = 0; i < HN_N_SPECIALS; i++)
        tok->special[i] = -1;
    return HN_OK;
}

void hn_tokenizer_free(hn_tokenizer *tok)
{
    if (!tok)
        return;
    hn_heap *heap = tok->heap;
    hn_vocab_free(&tok->vocab);
    hn_normalizer_free(&tok->normalizer);
    hn_splitter_free(&tok->splitter);
    hn_merges_free(heap, &tok->merges);
    hn_trie_free(&tok->trie);
    hn_trie_free(&tok->added_raw);
    hn_trie_free(&tok->added_normalized);
    hn_charset_free(heap, tok->white);
    hn_charset_free(heap, tok->word_chars);
    void *const blocks[] = { tok->pre_name,    tok->steps,   tok->rank, tok->word_begin,
                             tok->word_inside, tok->added,   tok->ends, tok->prefix,
                             tok->suffix,      tok->added_of };
    for (size_t i = 0; i < HN_COUNT(blocks); i++)
        hn_free(heap, blocks[i]);
    hn_free(heap, tok);
}

hn_status hn_tokenizer_add_added(hn_tokenizer *tok, hn_added added)
{
    size_t bytes;
    const uint8_t *piece = hn_vocab_piece(&tok->vocab, added.id, &bytes);
    if (!bytes)
        return HN_OK;
    if (tok->n_added == tok->added_room) {
        const size_t room = tok->added_room ? 2 * tok->added_room : 64;
        hn_added *items =
            hn_realloc_array(tok->heap, HN_TAG_TEXT, tok->added, room, sizeof added);
        if (!items)
            return HN_ERR_MEMORY;
        tok->added = items;
        tok->added_room = room;
    }
    const int32_t value = (int32_t)tok->n_added;
    tok->added[tok->n_added++] = added;
    if (!added.is_normalized)
        return hn_trie_add(&tok->added_raw, piece, bytes, value);
    hn_passage text = { 0 }, spare = { 0 };
    hn_regex_stack stack = { 0 };
    hn_passage_clear(&text, tok->heap, false);
    hn_passage_put(&text, piece, bytes, 0);
    hn_status status = text.status;
    if (status == HN_OK)
        status = hn_normalizer_run(&tok->normalizer, &stack, &text, &spare);
    if (status == HN_OK && text.n)
        status = hn_trie_add(&tok->added_normalized, text.bytes, text.n, value);
    hn_passage_free(&text);
    hn_passage_free(&spare);
    hn_regex_stack_free(tok->heap, &stack);
    return status;
}

static int hex(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* <0x0A>; -1 if the piece is no such. */
static int byte_of_piece(const uint8_t *piece, size_t bytes)
{
    if (bytes != 6 || memcmp(piece, "<0x", 3) != 0 || piece[5] != '>')
        return -1;
    const int high = hex(piece[3]), low = hex(piece[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static void find_bytes(hn_tokenizer *tok)
{
    hn_vocab *v = &tok->vocab;
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;
        tok->byte_id[i] = tok->family->of_bytes ? hn_vocab_find(v, &byte, 1) : -1;
        if (i < 128)
            tok->ascii_id[i] = hn_vocab_find(v, &byte, 1);
    }
    for (int32_t id = 0; id < v->n && !tok->family->of_bytes; id++) {
        size_t bytes;
        const uint8_t *piece = hn_vocab_piece(v, id, &bytes);
        const int byte = byte_of_piece(piece, bytes);
        if (byte < 0 || (v->kind[id] != HN_TOKEN_BYTE && !tok->has_byte_fallback))
            continue;
        v->kind[id] = HN_TOKEN_BYTE;
        tok->byte_id[byte] = id;
    }
}

hn_status hn_tokenizer_settle(hn_tokenizer *tok)
{
    hn_ranges set = hn_ranges_on(tok->heap);
    hn_unicode_add_set(&set, HN_SET_WHITE);
    tok->white = hn_charset_new(tok->heap, &set);
    hn_ranges_free(&set);
    hn_unicode_add_set(&set, HN_SET_RUST_WORD);
    tok->word_chars = hn_charset_new(tok->heap, &set);
    hn_ranges_free(&set);
    if (!tok->white || !tok->word_chars)
        return HN_ERR_MEMORY;
    tok->merges.vocab = &tok->vocab;
    find_bytes(tok);
    if (tok->family->settle)
        HN_TRY(tok->family->settle(tok));
    tok->added_of =
        hn_alloc_array(tok->heap, HN_TAG_TEXT, (size_t)tok->vocab.n + 1, sizeof *tok->added_of);
    tok->ends =
        hn_alloc_array(tok->heap, HN_TAG_TEXT, (size_t)tok->vocab.n + 1, sizeof *tok->ends);
    if (!tok->added_of || !tok->ends)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < tok->n_added; i++)
        tok->added_of[tok->added[i].id] = (int32_t)i + 1;
    return HN_OK;
}

static bool has(const hn_tokenizer *tok, int32_t id) { return id >= 0 && id < tok->vocab.n; }

int32_t hn_tokenizer_size(const hn_tokenizer *tok) { return tok->vocab.n; }
const char *hn_tokenizer_kind(const hn_tokenizer *tok) { return tok->kind_name; }
const char *hn_tokenizer_pre(const hn_tokenizer *tok)
{
    return tok->pre_name ? tok->pre_name : "";
}
bool hn_tokenizer_ends(const hn_tokenizer *tok, int32_t id)
{
    return has(tok, id) && tok->ends[id];
}
bool hn_tokenizer_adds_bos(const hn_tokenizer *tok) { return tok->adds_prefix; }
bool hn_tokenizer_adds_eos(const hn_tokenizer *tok) { return tok->adds_suffix; }

int32_t hn_tokenizer_special(const hn_tokenizer *tok, hn_special which)
{
    return which < HN_N_SPECIALS ? tok->special[which] : -1;
}

hn_span hn_tokenizer_piece(const hn_tokenizer *tok, int32_t id)
{
    hn_span span = { NULL, 0 };
    if (has(tok, id))
        span.data = hn_vocab_piece(&tok->vocab, id, &span.bytes);
    return span;
}

hn_token_kind hn_tokenizer_token_kind(const hn_tokenizer *tok, int32_t id)
{
    return has(tok, id) ? (hn_token_kind)tok->vocab.kind[id] : HN_TOKEN_UNUSED;
}

int32_t hn_tokenizer_find(const hn_tokenizer *tok, const char *piece, size_t bytes)
{
    for (size_t i = 0; i < tok->n_added; i++) {
        const hn_span span = hn_tokenizer_piece(tok, tok->added[i].id);
        if (span.bytes == bytes && memcmp(span.data, piece, bytes) == 0)
            return tok->added[i].id;
    }
    const int32_t id = bytes ? hn_vocab_find(&tok->vocab, (const uint8_t *)piece, bytes) : -1;
    for (int32_t other = 0; id < 0 && bytes && other < tok->vocab.n; other++) {
        const hn_span span = hn_tokenizer_piece(tok, other);
        if (span.bytes == bytes && memcmp(span.data, piece, bytes) == 0)
            return other;
    }
    return id;
}
