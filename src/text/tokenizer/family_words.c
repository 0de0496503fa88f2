/* family_words: WordPiece: of each word the longest piece from the left, as BERT has it. */
#include "text/tokenizer/family.h"

#include <string.h>

#define KEY "tokenizer.ggml."
static const char begins[] = "\xe2\x96\x81";

enum { LONGEST_WORD_PIECE = 4 * 1024 };

/* A word of which some part is unknown is unknown as a whole. */
static hn_status encode(const hn_tokenizer *tok, hn_piece piece, bool offsets, hn_encoding *out)
{
    const uint8_t *text = out->encoder->text.bytes;
    const size_t n_before = out->n;
    uint8_t key[LONGEST_WORD_PIECE];
    int64_t n_chars = 0;
    uint32_t code;
    for (size_t at = piece.begin; at < piece.end; n_chars++)
        at += hn_char_at(text + at, text + piece.end, &code);
    bool is_known = n_chars <= tok->max_word_chars;
    for (size_t at = piece.begin, end; at < piece.end && is_known; at = end) {
        const char *mark = at == piece.begin ? tok->word_begin : tok->word_inside;
        const size_t n_mark = strlen(mark);
        int32_t id = -1;
        end = piece.end;
        if (n_mark + (end - at) > tok->vocab.longest)
            end = tok->vocab.longest > n_mark ? at + tok->vocab.longest - n_mark : at;
        while (end < piece.end && end > at && (text[end] & 0xc0) == 0x80)
            end--;
        for (; end > at; end -= hn_char_before(text + at, text + end)) {
            memcpy(key, mark, n_mark);
            memcpy(key + n_mark, text + at, end - at);
            if ((id = hn_vocab_find(&tok->vocab, key, n_mark + (end - at))) >= 0)
                break;
        }
        is_known = id >= 0;
        if (is_known)
            HN_TRY(hn_encoding_add(out, id, at, end, offsets));
    }
    if (is_known)
        return HN_OK;
    out->n = n_before;
    return tok->unknown < 0
               ? HN_OK
               : hn_encoding_add(out, tok->unknown, piece.begin, piece.end, offsets);
}

static hn_status settle(hn_tokenizer *tok)
{
    HN_REQUIRE(tok->vocab.longest <= 4000, HN_ERR_FORMAT,
               "vocabulary: a piece has %u bytes: expected at most 4000",
               (unsigned)tok->vocab.longest);
    return HN_OK;
}

static bool is_untyped(const hn_json *model) { return hn_json_get(model, "max_input_chars_per_word") != NULL; }

static hn_status read_json(hn_json_loader *l, const hn_json *model)
{
    hn_tokenizer *tok = l->tok;
    const hn_json *prefix = hn_json_get(model, "continuing_subword_prefix");
    tok->word_begin = hn_strdup(tok->heap, HN_TAG_TEXT, "");
    tok->word_inside =
        hn_strdup(tok->heap, HN_TAG_TEXT,
                  prefix ? hn_json_text_of(model, "continuing_subword_prefix") : "##");
    if (!tok->word_begin || !tok->word_inside)
        return HN_ERR_MEMORY;
    HN_REQUIRE(strlen(tok->word_inside) < 64, HN_ERR_UNSUPPORTED,
               "%s: model.continuing_subword_prefix: over 63 bytes", l->file);
    if (hn_json_get(model, "max_input_chars_per_word"))
        HN_TRY(hn_json_want_int(hn_json_get(model, "max_input_chars_per_word"),
                                "model.max_input_chars_per_word", &tok->max_word_chars));
    HN_TRY(hn_json_read_vocab(l));
    return hn_json_read_unknown(l, model);
}

static hn_status read_gguf(hn_tokenizer *tok, const hn_meta *meta, const char *file)
{
    (void)file;
    bool lowers, strips;
    HN_TRY(hn_meta_bool(meta, KEY "normalizer.lowercase", true, &lowers));
    HN_TRY(hn_meta_bool(meta, KEY "normalizer.strip_accents", lowers, &strips));
    tok->word_begin = hn_strdup(tok->heap, HN_TAG_TEXT, "\xe2\x96\x81");
    tok->word_inside = hn_strdup(tok->heap, HN_TAG_TEXT, "");
    tok->decode = (hn_decode_rules){ .joins_words = true, .cleans_up = true };
    if (!tok->word_begin || !tok->word_inside)
        return HN_ERR_MEMORY;
    HN_TRY(hn_normalizer_add_bert(&tok->normalizer, true, true, strips, lowers));
    HN_TRY(hn_splitter_add_set(&tok->splitter, HN_SET_WHITE, HN_SPLIT_REMOVED));
    return hn_splitter_add_set(&tok->splitter, HN_SET_PUNCTUATION, HN_SPLIT_ISOLATED);
}

static hn_status write_gguf(const hn_tokenizer *tok, hn_meta *meta)
{
    const hn_norm_kind bert[] = { HN_NORM_REMOVE, HN_NORM_BLANK,  HN_NORM_ISOLATE,
                                  HN_NORM_FORM,   HN_NORM_REMOVE, HN_NORM_LOWER };
    if (!hn_tokenizer_norm_is(tok, bert, HN_COUNT(bert)))
        return hn_tokenizer_no_normalizer();
    return hn_meta_set_text(meta, KEY "pre", "default");
}

/* GGUF marks what begins a word, tokenizer.json what does not. */
static void put_piece(const hn_tokenizer *tok, const uint8_t *piece, size_t n, hn_str *out)
{
    const size_t n_inside = strlen(tok->word_inside);
    const bool continues = n_inside && n > n_inside && memcmp(piece, tok->word_inside, n_inside) == 0;
    hn_str_add(out, continues || !n_inside ? "" : begins);
    hn_str_add_bytes(out, (const char *)piece + (continues ? n_inside : 0), n - (continues ? n_inside : 0));
}

static const hn_family_special specials[] = { { HN_SPECIAL_UNK, 100 },  { HN_SPECIAL_CLS, 101 },
                                              { HN_SPECIAL_SEP, 102 },  { HN_SPECIAL_PAD, 0 },
                                              { HN_SPECIAL_MASK, 103 }, { HN_N_SPECIALS, -1 } };

const hn_family_calls hn_family_words = {
    .joins_words = true,
    .encode = encode,
    .settle = settle,
    .is_untyped = is_untyped,
    .read_json = read_json,
    .specials = specials,
    .adds_bos = true,
    .adds_eos = true,
    .of_sentences = true,
    .read_gguf = read_gguf,
    .write_gguf = write_gguf,
    .put_piece = put_piece,
};
