/* family_level: WordLevel: each word as it stands, or unknown. GGUF has no word for it. */
#include "text/tokenizer/family.h"

static hn_status encode(const hn_tokenizer *tok, hn_piece piece, bool offsets, hn_encoding *out)
{
    const size_t n = piece.end - piece.begin;
    const uint8_t *word = out->encoder->text.bytes + piece.begin;
    const int32_t id = hn_vocab_find(&tok->vocab, word, n);
    HN_REQUIRE(id >= 0 || tok->unknown >= 0, HN_ERR_FORMAT,
               "'%.*s' is no token, and the tokenizer has none for what is unknown", n < 60 ? (int)n : 60,
               (const char *)word);
    return hn_encoding_add(out, id >= 0 ? id : tok->unknown, piece.begin, piece.end, offsets);
}

static hn_status read_json(hn_json_loader *l, const hn_json *model)
{
    hn_tokenizer *tok = l->tok;
    tok->word_begin = hn_strdup(tok->heap, HN_TAG_TEXT, ""); /* every piece begins a word */
    tok->word_inside = hn_strdup(tok->heap, HN_TAG_TEXT, "");
    if (!tok->word_begin || !tok->word_inside)
        return HN_ERR_MEMORY;
    HN_TRY(hn_json_read_vocab(l));
    return hn_json_read_unknown(l, model);
}

static hn_status write_gguf(const hn_tokenizer *tok, hn_meta *meta)
{
    (void)tok, (void)meta;
    return hn_fail(HN_ERR_UNSUPPORTED, "model: GGUF has no kind for whole words (WordLevel)");
}

const hn_family_calls hn_family_level = {
    .joins_words = true,
    .encode = encode,
    .read_json = read_json,
    .write_gguf = write_gguf,
};
