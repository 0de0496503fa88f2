/* Tokens, their kinds and their scores are three arrays of one length, and grow together. */
#include "convert/pad_vocab.h"

#include <stdio.h>
#include <string.h>

enum { UNUSED = 5, MAX_VOCAB = 1 << 24, PAD_TEXT = 24 };

typedef struct padding {
    hn_heap *heap;
    uint64_t n, n_vocab;
    hn_span *tokens;
    int64_t *kinds;
    double *scores;
    char (*texts)[PAD_TEXT];
} padding;

static hn_status allocate(padding *p)
{
    p->tokens = hn_alloc_array(p->heap, HN_TAG_TEXT, p->n_vocab, sizeof *p->tokens);
    p->kinds = hn_alloc_array(p->heap, HN_TAG_TEXT, p->n_vocab, sizeof *p->kinds);
    p->scores = hn_alloc_array(p->heap, HN_TAG_TEXT, p->n_vocab, sizeof *p->scores);
    p->texts = hn_alloc_array(p->heap, HN_TAG_TEXT, p->n_vocab - p->n, sizeof *p->texts);
    return p->tokens && p->kinds && p->scores && p->texts ? HN_OK : HN_ERR_MEMORY;
}

static hn_status pad(padding *p, hn_meta *meta, const hn_meta_value *tokens)
{
    const hn_meta_value *kinds, *scores;
    size_t cursor = 0;
    HN_TRY(allocate(p));
    HN_TRY(hn_meta_array(meta, "tokenizer.ggml.token_type", HN_META_I32, &kinds));
    HN_TRY(hn_meta_array(meta, "tokenizer.ggml.scores", HN_META_F32, &scores));
    for (uint64_t i = 0; i < p->n; i++) {
        p->tokens[i] = hn_meta_next_string(tokens, &cursor);
        p->kinds[i] = kinds && i < kinds->n ? hn_meta_item_int(kinds, i) : 1;
        p->scores[i] = scores && i < scores->n ? hn_meta_item_double(scores, i) : 0;
    }
    for (uint64_t i = p->n; i < p->n_vocab; i++) {
        char *text = p->texts[i - p->n];
        const int n = snprintf(text, PAD_TEXT, "[PAD%llu]", (unsigned long long)i);
        p->tokens[i] = (hn_span){ text, (size_t)n };
        p->kinds[i] = UNUSED;
        p->scores[i] = -1000;
    }
    if (scores)
        HN_TRY(hn_meta_set_doubles(meta, "tokenizer.ggml.scores", HN_META_F32, p->scores,
                                   p->n_vocab));
    HN_TRY(hn_meta_set_ints(meta, "tokenizer.ggml.token_type", HN_META_I32, p->kinds,
                            p->n_vocab));
    return hn_meta_set_strings(meta, "tokenizer.ggml.tokens", p->tokens, p->n_vocab);
}

hn_status hn_pad_vocab(hn_meta *meta, int64_t n_vocab)
{
    const hn_meta_value *tokens;
    HN_TRY(hn_meta_array(meta, "tokenizer.ggml.tokens", HN_META_STRING, &tokens));
    if (!tokens || (int64_t)tokens->n == n_vocab)
        return HN_OK;
    HN_REQUIRE(n_vocab > (int64_t)tokens->n && n_vocab <= MAX_VOCAB, HN_ERR_FORMAT,
               "%s: the tokenizer has %llu tokens: vocab_size is %lld", meta->name,
               (unsigned long long)tokens->n, (long long)n_vocab);
    padding p = { .heap = meta->heap, .n = tokens->n, .n_vocab = (uint64_t)n_vocab };
    const hn_status status = pad(&p, meta, tokens);
    hn_free(p.heap, p.tokens);
    hn_free(p.heap, p.kinds);
    hn_free(p.heap, p.scores);
    hn_free(p.heap, p.texts);
    return status;
}
