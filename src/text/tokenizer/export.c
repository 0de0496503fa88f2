/* tokenizer_export: a tokenizer as the keys tokenizer.ggml.*. They hold less than
 * tokenizer.json: what they cannot say is refused, not left out. */
#include "text/tokenizer/same.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define KEY "tokenizer.ggml."
static const char mark[] = "\xe2\x96\x81";

/* The piece as GGUF writes it. */
static void put_piece(const hn_tokenizer *tok, int32_t id, hn_str *out)
{
    size_t n;
    const uint8_t *piece = hn_vocab_piece(&tok->vocab, id, &n);
    const uint8_t kind = tok->vocab.kind[id];
    const bool is_special =
        kind == HN_TOKEN_CONTROL || kind == HN_TOKEN_UNKNOWN || kind == HN_TOKEN_USER_DEFINED;
    if (!n) {
        hn_str_print(out, "[PAD%d]", (int)id);
    } else if (tok->kind == HN_MODEL_BYTES && !tok->vocab.is_plain[id]) {
        for (size_t i = 0; i < n; i++) {
            char text[4];
            hn_str_add_bytes(out, text, hn_utf8_put(hn_byte_char(piece[i]), text));
        }
    } else if (tok->kind == HN_MODEL_WORDS && *tok->word_inside && !is_special) {
        const size_t n_inside = strlen(tok->word_inside);
        const bool continues = n > n_inside && memcmp(piece, tok->word_inside, n_inside) == 0;
        hn_str_add(out, continues ? "" : mark);
        hn_str_add_bytes(out, (const char *)piece + (continues ? n_inside : 0),
                         n - (continues ? n_inside : 0));
    } else {
        hn_str_add_bytes(out, (const char *)piece, n);
    }
}

static hn_status set_strings(hn_meta *meta, const char *key, const hn_str *all,
                             const size_t *ends, size_t n)
{
    hn_span *spans = hn_alloc_array(meta->heap, HN_TAG_TEXT, n + 1, sizeof *spans);
    if (!spans)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const size_t begin = i ? ends[i - 1] : 0;
        spans[i] = (hn_span){ all->text + begin, ends[i] - begin };
    }
    const hn_status status = hn_meta_set_strings(meta, key, spans, n);
    hn_free(meta->heap, spans);
    return status;
}

static hn_status write_pieces(const hn_tokenizer *tok, hn_meta *meta)
{
    const size_t n = (size_t)tok->vocab.n;
    hn_str all = hn_str_on(meta->heap);
    size_t *ends = hn_alloc_array(meta->heap, HN_TAG_TEXT, n, sizeof *ends);
    int64_t *kinds = hn_alloc_array(meta->heap, HN_TAG_TEXT, n, sizeof *kinds);
    hn_status status = ends && kinds ? HN_OK : HN_ERR_MEMORY;
    for (size_t i = 0; i < n && status == HN_OK; i++) {
        put_piece(tok, (int32_t)i, &all);
        ends[i] = all.length;
        kinds[i] = (int32_t)i == tok->unknown && tok->kind != HN_MODEL_BYTES
                       ? HN_TOKEN_UNKNOWN
                       : tok->vocab.kind[i];
    }
    if (status == HN_OK)
        status = hn_str_status(&all);
    if (status == HN_OK)
        status = set_strings(meta, KEY "tokens", &all, ends, n);
    if (status == HN_OK)
        status = hn_meta_set_ints(meta, KEY "token_type", HN_META_I32, kinds, n);
    hn_str_free(&all);
    hn_free(meta->heap, ends);
    hn_free(meta->heap, kinds);
    return status;
}

/* Pairs by rank; a rank that a later twin replaced has key 0. */
static hn_status sort_pairs(const hn_tokenizer *tok, hn_pair **out)
{
    *out = hn_alloc_array(tok->heap, HN_TAG_TEXT, (size_t)tok->merges.n + 1, sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    for (uint32_t i = 0; i <= tok->merges.mask; i++)
        if (tok->merges.pairs[i].key)
            (*out)[tok->merges.pairs[i].rank] = tok->merges.pairs[i];
    return HN_OK;
}

static hn_status write_merges(const hn_tokenizer *tok, hn_meta *meta, const hn_pair *pairs)
{
    hn_str all = hn_str_on(meta->heap);
    size_t *ends =
        hn_alloc_array(meta->heap, HN_TAG_TEXT, (size_t)tok->merges.n + 1, sizeof *ends);
    size_t n = 0;
    for (uint32_t i = 0; ends && i < tok->merges.n; i++) {
        if (!pairs[i].key)
            continue;
        put_piece(tok, (int32_t)((pairs[i].key - 1) >> 32), &all);
        hn_str_add_char(&all, ' ');
        put_piece(tok, (int32_t)(uint32_t)(pairs[i].key - 1), &all);
        ends[n++] = all.length;
    }
    hn_status status = ends ? hn_str_status(&all) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = set_strings(meta, KEY "merges", &all, ends, n);
    hn_str_free(&all);
    hn_free(meta->heap, ends);
    return status;
}

static hn_status write_scores(const hn_tokenizer *tok, hn_meta *meta, const double *scores)
{
    return hn_meta_set_doubles(meta, KEY "scores", HN_META_F32, scores, (size_t)tok->vocab.n);
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
        status = write_scores(tok, meta, scores);
    hn_free(tok->heap, scores);
    return status;
}

static bool norm_is(const hn_tokenizer *tok, const hn_norm_kind *kinds, size_t n)
{
    bool is_same = tok->normalizer.n == n;
    for (size_t i = 0; i < n && is_same; i++)
        is_same = tok->normalizer.steps[i].kind == kinds[i];
    return is_same;
}

static hn_status no_normalizer(void)
{
    return hn_fail(HN_ERR_UNSUPPORTED,
                   "normalizer: GGUF has no key for these steps with this model");
}

/* Without ignore_merges, which GGUF ties to the pre-tokeniser's name, each piece must come
 * about by its merges. */
static hn_status check_reached(const hn_tokenizer *tok)
{
    hn_tokenizer plain = *tok;
    plain.ignores_merges = false;
    hn_encoding e = { 0 };
    hn_status status = HN_OK;
    for (int32_t id = 0; id < tok->vocab.n && status == HN_OK; id++) {
        size_t n;
        const uint8_t *piece = hn_vocab_piece(&tok->vocab, id, &n);
        if (tok->vocab.kind[id] != HN_TOKEN_NORMAL || tok->vocab.is_plain[id])
            continue;
        if (!e.encoder)
            status = hn_tokenizer_encode(&plain, "", 0, NULL, &e);
        if (status != HN_OK)
            break;
        e.n = 0;
        hn_passage_clear(&e.encoder->text, tok->heap, false);
        hn_passage_put(&e.encoder->text, piece, n, 0);
        status = hn_model_encode(&plain, (hn_piece){ 0, (uint32_t)n }, false, &e);
        if (status == HN_OK && (e.n != 1 || e.ids[0] != id))
            status =
                hn_fail(HN_ERR_UNSUPPORTED,
                        "model.ignore_merges: token %d does not come about by merges", (int)id);
    }
    hn_encoding_free(&e);
    return status;
}

static hn_status write_bytes(const hn_tokenizer *tok, hn_meta *meta)
{
    const char *pre = hn_tokenizer_pre(tok);
    HN_REQUIRE(*pre, HN_ERR_UNSUPPORTED, "pre_tokenizer: GGUF has no name for these steps");
    const bool whole =
        !strcmp(pre, "llama-bpe") || !strcmp(pre, "tekken") || !strcmp(pre, "glm4");
    if (tok->from_json && whole != tok->ignores_merges)
        HN_TRY(check_reached(tok));
    const hn_norm_kind form[] = { HN_NORM_FORM };
    if (norm_is(tok, form, 1) && tok->normalizer.steps[0].form == HN_NFC)
        HN_TRY(hn_meta_set_text(meta, "hone.tokenizer.normalizer", "NFC"));
    else if (tok->normalizer.n)
        return no_normalizer();
    HN_TRY(hn_meta_set_text(meta, KEY "pre", pre));
    hn_pair *pairs;
    HN_TRY(sort_pairs(tok, &pairs));
    const hn_status status = write_merges(tok, meta, pairs);
    hn_free(tok->heap, pairs);
    return status;
}

/* Gemma 4's kind cuts at newlines, so no piece may hold them beside others. */
static hn_status write_chars(const hn_tokenizer *tok, hn_meta *meta)
{
    const bool is_llama = strcmp(tok->kind_name, "llama") == 0;
    const hn_norm_kind plain[] = { HN_NORM_REPLACE },
                       prefixed[] = { HN_NORM_PREPEND, HN_NORM_REPLACE };
    HN_REQUIRE(tok->has_byte_fallback && !tok->ignores_merges, HN_ERR_UNSUPPORTED,
               "model: GGUF has no kind for merges of characters without bytes for the others");
    if (!norm_is(tok, plain, 1) && !(is_llama && norm_is(tok, prefixed, 2)) &&
        !(is_llama && !tok->normalizer.n))
        return no_normalizer();
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
    HN_TRY(sort_pairs(tok, &pairs));
    hn_status status =
        is_llama ? score_merges(tok, meta, pairs) : write_merges(tok, meta, pairs);
    hn_free(tok->heap, pairs);
    if (status == HN_OK)
        status = hn_meta_set_text(meta, KEY "pre", is_llama ? "default" : "gemma4");
    return status == HN_OK ? hn_meta_set_bool(meta, KEY "add_space_prefix", is_llama) : status;
}

static hn_status write_charsmap(const hn_tokenizer *tok, const hn_norm_step *step,
                                hn_meta *meta)
{
    int64_t *bytes = hn_alloc_array(tok->heap, HN_TAG_TEXT, step->bytes, sizeof *bytes);
    for (size_t k = 0; bytes && k < step->bytes; k++)
        bytes[k] = (uint8_t)step->text[k];
    const hn_status status = bytes ? hn_meta_set_ints(meta, KEY "precompiled_charsmap",
                                                      HN_META_U8, bytes, step->bytes)
                                   : HN_ERR_MEMORY;
    hn_free(tok->heap, bytes);
    return status;
}

/* The map and what blanks become have words in GGUF; hone's own key has all steps. */
static hn_status write_unigram(const hn_tokenizer *tok, hn_meta *meta)
{
    bool collapses = tok->removes_extra_spaces;
    HN_REQUIRE(tok->steps || !tok->from_json, HN_ERR_UNSUPPORTED,
               "normalizer: two maps of characters, or too much, for GGUF and hone's own key");
    for (size_t i = 0; i < tok->normalizer.n; i++)
        if (tok->normalizer.steps[i].kind == HN_NORM_CHARSMAP)
            HN_TRY(write_charsmap(tok, &tok->normalizer.steps[i], meta));
    for (size_t i = 0; i < tok->splitter.n && tok->from_json; i++)
        collapses |= tok->splitter.steps[i].behavior == HN_SPLIT_REMOVED &&
                     tok->splitter.steps[i].kind == HN_SPLIT_REGEX;
    if (tok->steps)
        HN_TRY(hn_meta_set_text(meta, "hone.tokenizer.steps", tok->steps));
    HN_TRY(hn_meta_set_bool(meta, KEY "add_space_prefix", tok->adds_space_prefix));
    HN_TRY(hn_meta_set_bool(meta, KEY "remove_extra_whitespaces", collapses));
    HN_TRY(hn_meta_set_text(meta, KEY "pre", "default"));
    return write_scores(tok, meta, tok->vocab.score);
}

static hn_status write_model(const hn_tokenizer *tok, hn_meta *meta)
{
    const hn_norm_kind bert[] = { HN_NORM_REMOVE, HN_NORM_BLANK,  HN_NORM_ISOLATE,
                                  HN_NORM_FORM,   HN_NORM_REMOVE, HN_NORM_LOWER };
    switch (tok->kind) {
    case HN_MODEL_BYTES:
        return write_bytes(tok, meta);
    case HN_MODEL_CHARS:
        return write_chars(tok, meta);
    case HN_MODEL_UNIGRAM:
        return write_unigram(tok, meta);
    case HN_MODEL_WORDS:
        if (!norm_is(tok, bert, HN_COUNT(bert)))
            return no_normalizer();
        return hn_meta_set_text(meta, KEY "pre", "default");
    default:
        HN_TRY(hn_meta_set_text(meta, KEY "pre", "default"));
        HN_TRY(hn_meta_set_bool(meta, KEY "add_space_prefix", tok->adds_space_prefix));
        return write_scores(tok, meta, tok->vocab.score);
    }
}

hn_status hn_tokenizer_to_meta(const hn_tokenizer *tok, hn_meta *meta)
{
    static const char *const keys[HN_N_SPECIALS] = {
        "bos",  "eos",     "eot",     "eom",     "unknown", "seperator", "padding", "cls",
        "mask", "fim_pre", "fim_suf", "fim_mid", "fim_pad", "fim_rep",   "fim_sep",
    };
    HN_REQUIRE(strcmp(tok->kind_name, "bpe") != 0, HN_ERR_UNSUPPORTED,
               "model: GGUF has no kind for merges of characters without bytes for the others");
    HN_TRY(write_model(tok, meta));
    HN_TRY(hn_meta_set_text(meta, KEY "model", tok->kind_name));
    HN_TRY(write_pieces(tok, meta));
    for (int i = 0; i < HN_N_SPECIALS; i++) {
        char key[64];
        snprintf(key, sizeof key, KEY "%s_token_id", keys[i]);
        if (tok->special[i] >= 0)
            HN_TRY(hn_meta_set_int(meta, key, HN_META_U32, tok->special[i]));
    }
    HN_REQUIRE(!(tok->adds_prefix && tok->n_prefix > 1) &&
                   !(tok->adds_suffix && tok->n_suffix > 1),
               HN_ERR_UNSUPPORTED,
               "post_processor: GGUF knows one token before a text and one after it");
    HN_TRY(hn_meta_set_bool(meta, KEY "add_bos_token", tok->adds_prefix));
    HN_TRY(hn_meta_set_bool(meta, KEY "add_eos_token", tok->adds_suffix));
    if (tok->kind == HN_MODEL_WORDS)
        HN_TRY(hn_meta_set_bool(meta, KEY "add_sep_token", tok->adds_suffix));
    return hn_tokenizer_check_written(tok, meta);
}
