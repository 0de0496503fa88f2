/* family_spm: byte-pair encoding of characters where the best score merges first, as SentencePiece has it. */
#include "text/tokenizer/family.h"

#include <stdlib.h>

#define KEY "tokenizer.ggml."

/* A character that is no token may yet become part of one. */
static hn_status encode(const hn_tokenizer *tok, hn_piece piece, bool offsets, hn_encoding *out)
{
    return hn_pairs_encode(tok, HN_PAIRS_OF_ALL_CHARS, piece, offsets, out);
}

typedef struct scored {
    double score;
    int32_t id;
} scored;

static int by_score(const void *a, const void *b)
{
    const double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x < y) - (x > y);
}

/* Equal scores have equal ranks, so that the leftmost of them goes first. */
static hn_status rank_scores(hn_tokenizer *tok)
{
    const size_t n = (size_t)tok->vocab.n;
    tok->rank = hn_alloc_array(tok->heap, HN_TAG_TEXT, n + 1, sizeof *tok->rank);
    scored *order = hn_alloc_array(tok->heap, HN_TAG_TEXT, n + 1, sizeof *order);
    if (tok->rank && order) {
        for (size_t i = 0; i < n; i++)
            order[i] = (scored){ tok->vocab.score[i], (int32_t)i };
        qsort(order, n, sizeof *order, by_score);
        uint32_t rank = 0;
        for (size_t i = 0; i < n; i++) {
            rank += i > 0 && order[i].score < order[i - 1].score;
            tok->rank[order[i].id] = hn_model_makes(tok, order[i].id) ? rank : UINT32_MAX;
        }
        tok->merges.rank = tok->rank;
    }
    hn_free(tok->heap, order);
    return tok->rank && order ? HN_OK : HN_ERR_MEMORY;
}

static hn_status settle(hn_tokenizer *tok)
{
    HN_TRY(hn_pairs_cut_at_marks(tok));
    return rank_scores(tok);
}

static hn_status read_gguf(hn_tokenizer *tok, const hn_meta *meta, const char *file)
{
    (void)meta, (void)file;
    tok->decode.drops_first_space = tok->adds_space_prefix;
    if (tok->adds_space_prefix)
        HN_TRY(hn_normalizer_add_text(&tok->normalizer, HN_NORM_PREPEND, " ", 1));
    return hn_normalizer_add_marks(&tok->normalizer);
}

static hn_status write_gguf(const hn_tokenizer *tok, hn_meta *meta)
{
    HN_TRY(hn_meta_set_text(meta, KEY "pre", "default"));
    HN_TRY(hn_meta_set_bool(meta, KEY "add_space_prefix", tok->adds_space_prefix));
    return hn_tokenizer_write_scores(tok, meta, tok->vocab.score);
}

static const hn_family_special specials[] = {
    { HN_SPECIAL_BOS, 1 }, { HN_SPECIAL_EOS, 2 }, { HN_SPECIAL_UNK, 0 }, { HN_N_SPECIALS, -1 }
};

const hn_family_calls hn_family_spm = {
    .encode = encode,
    .settle = settle,
    .specials = specials,
    .needs_scores = true,
    .adds_bos = true,
    .adds_space = true,
    .falls_back_to_bytes = true,
    .read_gguf = read_gguf,
    .write_gguf = write_gguf,
};
