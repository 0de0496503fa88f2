/* family_bytes: byte-pair encoding of bytes, as GPT-2 has it. GGUF names the cut by tokenizer.ggml.pre. */
#include "text/tokenizer/family.h"

#include <string.h>

#define KEY "tokenizer.ggml."

static hn_status encode(const hn_tokenizer *tok, hn_piece piece, bool offsets, hn_encoding *out)
{
    return hn_pairs_encode(tok, HN_PAIRS_OF_BYTES, piece, offsets, out);
}

static hn_status end_json(hn_json_loader *l, const char **pre)
{
    HN_TRY(hn_pretokenizer_name(&l->tok->splitter, pre));
    if (*pre && !strcmp(*pre, "llama-bpe") && !l->tok->ignores_merges)
        *pre = "smaug-bpe";
    return HN_OK;
}

static hn_status read_pre(hn_tokenizer *tok, const char *file, hn_span *pre)
{
    if (!pre->data)
        *pre = (hn_span){ "default", 7 };
    return hn_pretokenizer_add(tok, file, pre->data, pre->bytes);
}

/* hone's own key, for what the format cannot say. */
static hn_status read_gguf(hn_tokenizer *tok, const hn_meta *meta, const char *file)
{
    static const char key[] = "hone.tokenizer.normalizer";
    hn_span form;
    HN_TRY(hn_meta_string(meta, key, &form));
    HN_TRY(hn_pairs_read_gguf(tok, meta, file));
    if (!form.data)
        return HN_OK;
    HN_REQUIRE(form.bytes == 3 && !memcmp(form.data, "NFC", 3), HN_ERR_UNSUPPORTED,
               "%s: %s: expected NFC", file, key);
    return hn_normalizer_add_form(&tok->normalizer, HN_NFC);
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

static hn_status write_gguf(const hn_tokenizer *tok, hn_meta *meta)
{
    const char *pre = hn_tokenizer_pre(tok);
    HN_REQUIRE(*pre, HN_ERR_UNSUPPORTED, "pre_tokenizer: GGUF has no name for these steps");
    const bool whole =
        !strcmp(pre, "llama-bpe") || !strcmp(pre, "tekken") || !strcmp(pre, "glm4");
    if (tok->from_json && whole != tok->ignores_merges)
        HN_TRY(check_reached(tok));
    const hn_norm_kind form[] = { HN_NORM_FORM };
    if (hn_tokenizer_norm_is(tok, form, 1) && tok->normalizer.steps[0].form == HN_NFC)
        HN_TRY(hn_meta_set_text(meta, "hone.tokenizer.normalizer", "NFC"));
    else if (tok->normalizer.n)
        return hn_tokenizer_no_normalizer();
    HN_TRY(hn_meta_set_text(meta, KEY "pre", pre));
    hn_pair *pairs;
    HN_TRY(hn_pairs_sorted(tok, &pairs));
    const hn_status status = hn_pairs_write_gguf(tok, meta, pairs);
    hn_free(tok->heap, pairs);
    return status;
}

const hn_family_calls hn_family_bytes = {
    .of_bytes = true,
    .encode = encode,
    .is_untyped = hn_pairs_are_untyped,
    .read_json = hn_pairs_read_json,
    .end_json = end_json,
    .adds_space = true,
    .read_pre = read_pre,
    .read_gguf = read_gguf,
    .write_gguf = write_gguf,
};
