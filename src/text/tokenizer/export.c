/* tokenizer_export: a tokenizer as the keys tokenizer.ggml.*. They hold less than
 * tokenizer.json: what they cannot say is refused, not left out. */
#include "text/tokenizer/family.h"
#include "text/tokenizer/same.h"

#include "base/str.h"

#include <stdio.h>

#define KEY "tokenizer.ggml."

/* The piece as GGUF writes it. */
void hn_tokenizer_put_piece(const hn_tokenizer *tok, int32_t id, hn_str *out)
{
    size_t n;
    const uint8_t *piece = hn_vocab_piece(&tok->vocab, id, &n);
    const uint8_t kind = tok->vocab.kind[id];
    const bool is_special =
        kind == HN_TOKEN_CONTROL || kind == HN_TOKEN_UNKNOWN || kind == HN_TOKEN_USER_DEFINED;
    if (!n) {
        hn_str_print(out, "[PAD%d]", (int)id);
    } else if (tok->family->of_bytes && !tok->vocab.is_plain[id]) {
        for (size_t i = 0; i < n; i++) {
            char text[4];
            hn_str_add_bytes(out, text, hn_utf8_put(hn_byte_char(piece[i]), text));
        }
    } else if (tok->family->put_piece && !is_special) {
        tok->family->put_piece(tok, piece, n, out);
    } else {
        hn_str_add_bytes(out, (const char *)piece, n);
    }
}

hn_status hn_tokenizer_set_strings(hn_meta *meta, const char *key, const hn_str *all,
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
        hn_tokenizer_put_piece(tok, (int32_t)i, &all);
        ends[i] = all.length;
        kinds[i] = (int32_t)i == tok->unknown && !tok->family->of_bytes
                       ? HN_TOKEN_UNKNOWN
                       : tok->vocab.kind[i];
    }
    if (status == HN_OK)
        status = hn_str_status(&all);
    if (status == HN_OK)
        status = hn_tokenizer_set_strings(meta, KEY "tokens", &all, ends, n);
    if (status == HN_OK)
        status = hn_meta_set_ints(meta, KEY "token_type", HN_META_I32, kinds, n);
    hn_str_free(&all);
    hn_free(meta->heap, ends);
    hn_free(meta->heap, kinds);
    return status;
}

hn_status hn_tokenizer_write_scores(const hn_tokenizer *tok, hn_meta *meta, const double *scores)
{
    return hn_meta_set_doubles(meta, KEY "scores", HN_META_F32, scores, (size_t)tok->vocab.n);
}

bool hn_tokenizer_norm_is(const hn_tokenizer *tok, const hn_norm_kind *kinds, size_t n)
{
    bool is_same = tok->normalizer.n == n;
    for (size_t i = 0; i < n && is_same; i++)
        is_same = tok->normalizer.steps[i].kind == kinds[i];
    return is_same;
}

hn_status hn_tokenizer_no_normalizer(void)
{
    return hn_fail(HN_ERR_UNSUPPORTED,
                   "normalizer: GGUF has no key for these steps with this model");
}

hn_status hn_tokenizer_to_meta(const hn_tokenizer *tok, hn_meta *meta)
{
    static const char *const keys[HN_N_SPECIALS] = {
        "bos",  "eos",     "eot",     "eom",     "unknown", "seperator", "padding", "cls",
        "mask", "fim_pre", "fim_suf", "fim_mid", "fim_pad", "fim_rep",   "fim_sep",
    };
    HN_TRY(tok->family->write_gguf(tok, meta));
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
    if (tok->family->of_sentences)
        HN_TRY(hn_meta_set_bool(meta, KEY "add_sep_token", tok->adds_suffix));
    return hn_tokenizer_check_written(tok, meta);
}
