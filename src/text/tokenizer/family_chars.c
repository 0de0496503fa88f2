/* family_chars: byte-pair encoding of characters: of whole lines, as Gemma 4 has it, or as SentencePiece's models are
 * written in tokenizer.json, which GGUF has as scores (family_spm.c). */
#include "text/tokenizer/family.h"

#include <string.h>

#define KEY "tokenizer.ggml."

static hn_status encode(const hn_tokenizer *tok, hn_piece piece, bool offsets, hn_encoding *out)
{
    return hn_pairs_encode(tok, HN_PAIRS_OF_CHARS, piece, offsets, out);
}

/* GGUF's names: one whose normaliser prepends a mark is what "llama" means; without bytes there is none. */
static hn_status end_json(hn_json_loader *l, const char **pre)
{
    hn_tokenizer *tok = l->tok;
    if (!tok->has_byte_fallback)
        tok->kind_name = "bpe";
    else if (l->prepends_mark)
        tok->kind_name = "llama";
    else
        tok->never_ends = "</s>";
    *pre = tok->kind_name;
    return HN_OK;
}

static hn_status read_gguf(hn_tokenizer *tok, const hn_meta *meta, const char *file)
{
    tok->never_ends = "</s>";
    tok->keeps_newlines = true;
    HN_TRY(hn_splitter_add_pattern(&tok->splitter, "[^\\n]+|[\\n]+", HN_SPLIT_ISOLATED));
    HN_TRY(hn_normalizer_add_marks(&tok->normalizer));
    return hn_pairs_read_gguf(tok, meta, file);
}

/* Scores that merge in the order of ranks. That takes that all ways to make a piece follow each
 * other, as they do in what was made from scores. */
static hn_status score_merges(const hn_tokenizer *tok, hn_meta *meta, const hn_pair *pairs)
{
    const size_t n = (size_t)tok->vocab.n;
    double *scores = hn_alloc_array(tok->heap, HN_TAG_TEXT, n, sizeof *scores);
    if (!scores)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        scores[i] = 1;
    hn_status status = HN_OK;
    int32_t last = -1;
    double score = 0;
    for (uint32_t i = 0; i < tok->merges.n && status == HN_OK; i++) {
        if (!pairs[i].key || pairs[i].id == last)
            continue;
        last = pairs[i].id;
        if (scores[last] <= 0)
            status = hn_fail(HN_ERR_UNSUPPORTED,
                             "model.merges: item %u: the order of merges is no order of pieces",
                             (unsigned)i);
        scores[last] = score--;
    }
    for (size_t i = 0; i < n && status == HN_OK; i++)
        scores[i] = scores[i] <= 0                          ? scores[i]
                    : tok->vocab.kind[i] == HN_TOKEN_NORMAL ? score - (double)i
                                                            : 0;
    if (status == HN_OK)
        status = hn_tokenizer_write_scores(tok, meta, scores);
    hn_free(tok->heap, scores);
    return status;
}

/* Gemma 4's kind cuts at newlines, so no piece may hold them beside others. */
static hn_status write_gguf(const hn_tokenizer *tok, hn_meta *meta)
{
    const bool is_llama = strcmp(tok->kind_name, "llama") == 0;
    const hn_norm_kind plain[] = { HN_NORM_REPLACE },
                       prefixed[] = { HN_NORM_PREPEND, HN_NORM_REPLACE };
    HN_REQUIRE(tok->has_byte_fallback && !tok->ignores_merges, HN_ERR_UNSUPPORTED,
               "model: GGUF has no kind for merges of characters without bytes for the others");
    if (!hn_tokenizer_norm_is(tok, plain, 1) && !(is_llama && hn_tokenizer_norm_is(tok, prefixed, 2)) &&
        !(is_llama && !tok->normalizer.n))
        return hn_tokenizer_no_normalizer();
    for (int32_t id = 0; id < tok->vocab.n && !is_llama; id++) {
        const hn_span piece = hn_tokenizer_piece(tok, id);
        const char *text = piece.data;
        size_t newlines = 0;
        for (size_t i = 0; i < piece.bytes; i++)
            newlines += text[i] == '\n';
        HN_REQUIRE(!newlines || newlines == piece.bytes ||
                       tok->vocab.kind[id] != HN_TOKEN_NORMAL,
                   HN_ERR_UNSUPPORTED,
                   "model.vocab: token %d has a newline beside other characters", (int)id);
    }
    hn_pair *pairs;
    HN_TRY(hn_pairs_sorted(tok, &pairs));
    hn_status status =
        is_llama ? score_merges(tok, meta, pairs) : hn_pairs_write_gguf(tok, meta, pairs);
    hn_free(tok->heap, pairs);
    if (status == HN_OK)
        status = hn_meta_set_text(meta, KEY "pre", is_llama ? "default" : "gemma4");
    return status == HN_OK ? hn_meta_set_bool(meta, KEY "add_space_prefix", is_llama) : status;
}

const hn_family_calls hn_family_chars = {
    .encode = encode,
    .settle = hn_pairs_cut_at_marks,
    .is_untyped = hn_pairs_are_untyped,
    .read_json = hn_pairs_read_json,
    .end_json = end_json,
    .always_adds_bos = true, /* some files say no; all were trained with it */
    .falls_back_to_bytes = true,
    .read_gguf = read_gguf,
    .write_gguf = write_gguf,
};
