/* model: the ids of one piece, which the family makes and an encoder remembers. */
#include "text/tokenizer/family.h"
#include "text/tokenizer/guard.h"

#include <string.h>

/* Bytes that no token holds: each its own, or one unknown for all. */
hn_status hn_model_add_unknown(const hn_tokenizer *tok, size_t begin, size_t end, bool offsets,
                               hn_encoding *out)
{
    const uint8_t *text = out->encoder->text.bytes;
    bool has_all = tok->has_byte_fallback;
    for (size_t i = begin; i < end && has_all; i++)
        has_all = tok->byte_id[text[i]] >= 0;
    if (!has_all)
        return tok->unknown < 0 ? HN_OK
                                : hn_encoding_add(out, tok->unknown, begin, end, offsets);
    for (size_t i = begin; i < end; i++)
        HN_TRY(hn_encoding_add(out, tok->byte_id[text[i]], i, i + 1, offsets));
    return HN_OK;
}

/* Empty room for so many pieces, instead of what there was. */
static hn_status make_memory(struct hn_encoder *e, uint32_t size)
{
    hn_free(e->heap, e->slots);
    hn_free(e->heap, e->texts);
    hn_free(e->heap, e->ids);
    e->slots = hn_alloc_array(e->heap, HN_TAG_TEXT, size, sizeof *e->slots);
    e->texts = hn_alloc_array(e->heap, HN_TAG_TEXT, size, 16);
    e->ids = hn_alloc_array(e->heap, HN_TAG_TEXT, (size_t)size * 4, sizeof *e->ids);
    e->n_texts = e->n_ids = e->n_slots = 0;
    e->size = e->slots && e->texts && e->ids ? size : 0;
    return e->size ? HN_OK : HN_ERR_MEMORY;
}

/* A short text takes little memory; a long one lets it grow, and at last begin anew. */
static hn_status make_place(struct hn_encoder *e, size_t bytes, size_t n_ids)
{
    if (e->n_texts + bytes <= 16 * (size_t)e->size && e->n_ids + n_ids <= 4 * (size_t)e->size &&
        e->n_slots < e->size / 2)
        return HN_OK;
    if (e->size < HN_REMEMBERED_MOST)
        return make_memory(e, e->size ? 4 * e->size : HN_REMEMBERED_LEAST);
    memset(e->slots, 0, e->size * sizeof *e->slots);
    e->n_texts = e->n_ids = e->n_slots = 0;
    return HN_OK;
}

static hn_status remember(struct hn_encoder *e, uint64_t hash, const uint8_t *text,
                          size_t bytes, const int32_t *ids, size_t n_ids)
{
    HN_TRY(make_place(e, bytes, n_ids));
    if (n_ids > 4 * (size_t)e->size)
        return HN_OK;
    uint64_t at = hash & (e->size - 1);
    while (e->slots[at].bytes)
        at = (at + 1) & (e->size - 1);
    e->slots[at] =
        (hn_remembered){ hash, e->n_texts, e->n_ids, (uint16_t)bytes, (uint16_t)n_ids };
    memcpy(e->texts + e->n_texts, text, bytes);
    if (n_ids)
        memcpy(e->ids + e->n_ids, ids, n_ids * sizeof *ids);
    e->n_texts += (uint32_t)bytes;
    e->n_ids += (uint32_t)n_ids;
    e->n_slots++;
    return HN_OK;
}

static hn_status encode_piece(const hn_tokenizer *tok, hn_piece piece, bool offsets, hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    const uint8_t *text = e->text.bytes + piece.begin;
    const size_t bytes = piece.end - piece.begin;
    if (offsets || bytes > HN_REMEMBERED_BYTES)
        return tok->family->encode(tok, piece, offsets, out);
    const uint64_t hash = hn_text_hash(text, bytes), mask = (uint64_t)e->size - 1;
    for (uint64_t at = hash & mask; e->size && e->slots[at].bytes; at = (at + 1) & mask) {
        const hn_remembered *slot = &e->slots[at];
        if (slot->hash != hash || slot->bytes != bytes ||
            memcmp(e->texts + slot->text_at, text, bytes) != 0)
            continue;
        for (uint32_t i = 0; i < slot->n_ids; i++)
            HN_TRY(hn_encoding_add(out, e->ids[slot->ids_at + i], 0, 0, false));
        return HN_OK;
    }
    const size_t n_before = out->n;
    HN_TRY(tok->family->encode(tok, piece, false, out));
    return remember(e, hash, text, bytes, out->ids + n_before, out->n - n_before);
}

static bool has_guarded(const hn_tokenizer *tok, const hn_encoding *out, size_t from)
{
    for (size_t i = from; hn_guard_is_set(out->encoder) && i < out->n; i++)
        if (hn_guard_forbids(tok, out->encoder, out->ids[i]))
            return true;
    return false;
}

/* Some models have special tokens among their words, and a text that spells one would be it. Then its characters are
 * encoded one by one: no text of a single character is a mark. */
hn_status hn_model_encode(const hn_tokenizer *tok, hn_piece piece, bool offsets, hn_encoding *out)
{
    const size_t n_before = out->n;
    HN_TRY(encode_piece(tok, piece, offsets, out));
    if (!has_guarded(tok, out, n_before))
        return HN_OK;
    const uint8_t *text = out->encoder->text.bytes;
    uint32_t code;
    out->n = n_before;
    for (size_t at = piece.begin, n; at < piece.end; at += n) {
        n = hn_char_at(text + at, text + piece.end, &code);
        const size_t before = out->n;
        HN_TRY(encode_piece(tok, (hn_piece){ (uint32_t)at, (uint32_t)(at + n) }, offsets, out));
        if (has_guarded(tok, out, before))
            out->n = before;
    }
    return HN_OK;
}
