/* Text to ids and ids to text, on a public model. */
#include "engine/lm.h"
#include "infer/conversation.h"

#include <string.h>

static hn_status encode(const hn_lm *lm, const char *text, size_t bytes, hn_lm_text kind, hn_encoding *out)
{
    const bool is_bare = kind == HN_LM_BARE;
    if (kind == HN_LM_RENDERED)
        return hn_prompt_encode(lm->tok, text, bytes, NULL, out);
    const hn_encode_options o = { .add_bos = is_bare ? HN_NO : HN_BY_MODEL, .add_eos = HN_NO,
                                  .parse_special = kind == HN_LM_MARKED };
    return hn_tokenizer_encode(lm->tok, text, bytes, &o, out);
}

hn_status hn_give_ids(hn_status status, hn_encoding *encoding, int32_t *ids, size_t room, size_t *n)
{
    *n = encoding->n;
    if (status == HN_OK && room && encoding->n > room)
        status = hn_fail(HN_ERR_ARGUMENT, "room for %zu ids: expected %zu", room, encoding->n);
    if (status == HN_OK && room && encoding->n)
        memcpy(ids, encoding->ids, encoding->n * sizeof *ids);
    hn_encoding_free(encoding);
    return hn_work_done(status, "encoding");
}

hn_status hn_lm_encode(const hn_lm *lm, const char *text, size_t bytes, hn_lm_text kind, int32_t *ids,
                       size_t room, size_t *n)
{
    HN_ENTER();
    hn_encoding encoding = { 0 };
    HN_REQUIRE(lm && (text || !bytes) && n && (ids || !room), HN_ERR_ARGUMENT,
               "hn_lm_encode: expected a model, a text and room, found NULL");
    HN_REQUIRE((unsigned)kind <= HN_LM_BARE, HN_ERR_ARGUMENT, "hn_lm_encode: kind %d: expected an hn_lm_text",
               (int)kind);
    HN_TRY(hn_lm_want_words(lm));
    HN_TELLS(lm->engine);
    return hn_give_ids(encode(lm, text ? text : "", bytes, kind, &encoding), &encoding, ids, room, n);
}

hn_status hn_lm_encode_by(const hn_lm *lm, const char *text, size_t bytes, const hn_lm_encode_options *options,
                          int32_t *ids, size_t room, size_t *n)
{
    HN_ENTER();
    hn_lm_encode_options o;
    hn_encoding encoding = { 0 };
    HN_REQUIRE(lm && (text || !bytes) && n && (ids || !room), HN_ERR_ARGUMENT,
               "hn_lm_encode_by: expected a model, a text and room, found NULL");
    HN_TRY(hn_take_struct("hn_lm_encode_options", options, sizeof o, &o));
    HN_TRY(hn_lm_want_words(lm));
    HN_TELLS(lm->engine);
    const hn_encode_options inner = { .add_bos = o.no_bos ? HN_NO : HN_BY_MODEL, .add_eos = o.no_eos ? HN_NO : HN_BY_MODEL,
                                      .parse_special = o.special != 0 };
    return hn_give_ids(hn_tokenizer_encode(lm->tok, text ? text : "", bytes, &inner, &encoding), &encoding, ids, room, n);
}

hn_status hn_lm_piece(const hn_lm *lm, int32_t id, const char **text, size_t *bytes)
{
    HN_ENTER();
    HN_REQUIRE(lm && text && bytes, HN_ERR_ARGUMENT, "hn_lm_piece: expected a model, text and bytes, found NULL");
    HN_TRY(hn_lm_want_words(lm));
    HN_REQUIRE(id >= 0 && id < hn_tokenizer_size(lm->tok), HN_ERR_ARGUMENT, "token %d: expected 0 to %lld", id,
               (long long)hn_tokenizer_size(lm->tok) - 1);
    const hn_span piece = hn_tokenizer_piece(lm->tok, id);
    *text = piece.data;
    *bytes = piece.bytes;
    return HN_OK;
}

hn_status hn_lm_decode(const hn_lm *lm, const int32_t *ids, size_t n, int32_t with_special, char *to,
                       size_t room, size_t *bytes)
{
    HN_ENTER();
    HN_REQUIRE(lm && (ids || !n), HN_ERR_ARGUMENT, "hn_lm_decode: expected a model and ids, found NULL");
    HN_TRY(hn_lm_want_words(lm));
    hn_str text = hn_str_on(&lm->engine->heap);
    hn_status status = hn_tokenizer_decode(lm->tok, ids, n, !with_special, &text);
    if (status == HN_OK)
        status = hn_str_status(&text);
    if (status == HN_OK)
        status = hn_give_text(text.text, text.length, to, room, bytes);
    hn_str_free(&text);
    return status;
}

int32_t hn_lm_special(const hn_lm *lm, hn_lm_role role)
{
    HN_ENTER();
    static const hn_special inner[] = {
        [HN_LM_BOS] = HN_SPECIAL_BOS, [HN_LM_EOS] = HN_SPECIAL_EOS, [HN_LM_EOT] = HN_SPECIAL_EOT,
        [HN_LM_EOM] = HN_SPECIAL_EOM, [HN_LM_UNK] = HN_SPECIAL_UNK, [HN_LM_SEP] = HN_SPECIAL_SEP,
        [HN_LM_PAD] = HN_SPECIAL_PAD, [HN_LM_CLS] = HN_SPECIAL_CLS, [HN_LM_MASK] = HN_SPECIAL_MASK,
    };
    return lm && lm->tok && (unsigned)role <= HN_LM_MASK ? hn_tokenizer_special(lm->tok, inner[role]) : -1;
}

int32_t hn_lm_ends(const hn_lm *lm, int32_t id)
{
    HN_ENTER();
    return lm && lm->tok && id >= 0 && id < hn_tokenizer_size(lm->tok) && hn_tokenizer_ends(lm->tok, id);
}

int64_t hn_lm_tokens(const hn_lm *lm)
{
    HN_ENTER();
    return lm && lm->tok ? hn_tokenizer_size(lm->tok) : 0;
}

/* ---- id by id ---- */

struct hn_lm_decoder {
    hn_lm *lm;
    bool follows;
    hn_decoder inner;
    hn_str text;
};

static void begin(hn_lm_decoder *d)
{
    d->inner = hn_decoder_on(d->lm->tok, true);
    d->inner.has_begun = d->follows;
}

hn_status hn_lm_decoder_new(hn_lm_decoder **out, hn_lm *lm, int32_t follows)
{
    HN_ENTER();
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_decoder_new: expected out and a model, found NULL");
    *out = NULL;
    hn_lm_decoder *d = hn_alloc(&lm->engine->heap, HN_TAG_TEXT, sizeof *d);
    if (!d)
        return HN_ERR_MEMORY;
    const hn_status status = hn_lm_hold_words(lm);
    if (status != HN_OK) {
        hn_free(&lm->engine->heap, d);
        return status;
    }
    *d = (hn_lm_decoder){ .lm = lm, .follows = follows != 0, .text = hn_str_on(&lm->engine->heap) };
    begin(d);
    *out = d;
    return HN_OK;
}

void hn_lm_decoder_free(hn_lm_decoder *d)
{
    HN_ENTER();
    if (!d)
        return;
    hn_lm *lm = d->lm;
    hn_str_free(&d->text);
    hn_free(&lm->engine->heap, d);
    hn_lm_let_go(lm);
}

static hn_status give(hn_lm_decoder *d, hn_status status, const char **text, size_t *bytes)
{
    if (status == HN_OK)
        status = hn_str_status(&d->text);
    *text = status == HN_OK ? d->text.text : "";
    if (bytes)
        *bytes = status == HN_OK ? d->text.length : 0;
    return status;
}

hn_status hn_lm_decoder_add(hn_lm_decoder *d, int32_t id, const char **text, size_t *bytes)
{
    HN_ENTER();
    HN_REQUIRE(d && text, HN_ERR_ARGUMENT, "hn_lm_decoder_add: expected a decoder and a text, found NULL");
    hn_str_clear(&d->text);
    hn_status status = HN_OK;
    const bool is_padding = id >= hn_tokenizer_size(d->lm->tok) && id < hn_lm_vocabulary(d->lm);
    if (!is_padding)
        status = hn_decoder_add(&d->inner, id, &d->text);
    return give(d, status, text, bytes);
}

hn_status hn_lm_decoder_finish(hn_lm_decoder *d, const char **text, size_t *bytes)
{
    HN_ENTER();
    HN_REQUIRE(d && text, HN_ERR_ARGUMENT, "hn_lm_decoder_finish: expected a decoder and a text, found NULL");
    hn_str_clear(&d->text);
    const hn_status status = hn_decoder_finish(&d->inner, &d->text);
    begin(d);
    return give(d, status, text, bytes);
}
