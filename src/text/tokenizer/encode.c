/* encode: a text, cut at the tokens that stand in it; each stretch between is normalised, cut
 * into pieces, and each piece encoded. */
#include "text/tokenizer/added.h"

#include "base/work.h"

#include <string.h>

static hn_status make_room(hn_encoding *out, bool offsets)
{
    hn_heap *heap = out->encoder->heap;
    const bool lacks_offsets = offsets && !out->begin;
    if (out->n < out->room && !lacks_offsets)
        return HN_OK;
    const size_t room = out->n < out->room ? out->room : out->room ? 2 * out->room : 256;
    int32_t *ids = hn_realloc_array(heap, HN_TAG_TEXT, out->ids, room, sizeof *ids);
    if (!ids)
        return HN_ERR_MEMORY;
    out->ids = ids;
    if (offsets || out->begin) {
        uint32_t *begin = hn_realloc_array(heap, HN_TAG_TEXT, out->begin, room, sizeof *begin);
        out->begin = begin ? begin : out->begin;
        uint32_t *end =
            begin ? hn_realloc_array(heap, HN_TAG_TEXT, out->end, room, sizeof *end) : NULL;
        out->end = end ? end : out->end;
        if (!end)
            return HN_ERR_MEMORY;
    }
    out->room = room;
    return HN_OK;
}

/* begin and end in the caller's text. */
static hn_status put(hn_encoding *out, int32_t id, size_t begin, size_t end, bool offsets)
{
    if (out->n == out->room || (offsets && !out->begin))
        HN_TRY(make_room(out, offsets));
    if (offsets) {
        out->begin[out->n] = (uint32_t)begin;
        out->end[out->n] = (uint32_t)end;
    }
    out->ids[out->n++] = id;
    return HN_OK;
}

hn_status hn_encoding_add(hn_encoding *out, int32_t id, size_t begin, size_t end, bool offsets)
{
    const struct hn_encoder *e = out->encoder;
    if (!offsets)
        return put(out, id, 0, 0, false);
    const uint32_t from = e->text.from[begin];
    const uint32_t to = end < e->text.n ? e->text.from[end] : e->end;
    return put(out, id, from, to > from ? to : from, true);
}

static hn_status encode_cut(const hn_tokenizer *tok, bool offsets, hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    HN_TRY(hn_splitter_run(&tok->splitter, &e->split, &e->text, e->at == 0));
    if (tok->splitter.has_byte_chars)
        HN_TRY(hn_split_to_bytes(&e->split, &e->text));
    for (size_t i = 0; i < e->split.pieces.n; i++) {
        if (hn_work_every(i + 1))
            HN_TRY(hn_work_tell(e->split.pieces.at[i].begin, e->text.n, "encoding"));
        HN_TRY(hn_model_encode(tok, e->split.pieces.at[i], offsets, out));
    }
    return HN_OK;
}

/* Tokens that are looked for in the normalised text cut it once more. */
static hn_status encode_normalized(const hn_tokenizer *tok, const hn_encode_options *o,
                                   hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    if (!tok->added_normalized.n_nodes)
        return encode_cut(tok, o->wants_offsets, out);
    hn_passage whole = e->text;
    e->text = (hn_passage){ 0 };
    hn_status status = HN_OK;
    const uint32_t at = e->at, last = e->end;
    const hn_added_search search = { tok, &tok->added_normalized, { whole.bytes, whole.n }, o->parse_special, e, &whole };
    for (size_t from = 0, next = 0; (from < whole.n || next < whole.n) && status == HN_OK;) {
        const hn_added_match m = hn_added_next(&search, next, from);
        const uint32_t begin = m.begin < whole.n ? hn_passage_from(&whole, m.begin) : last;
        const uint32_t end = m.end < whole.n ? hn_passage_from(&whole, m.end) : last;
        hn_passage_clear(&e->text, e->heap, whole.maps);
        if (m.begin > from)
            hn_passage_copy(&e->text, &whole, from, m.begin - from);
        e->at = from ? UINT32_MAX : at;
        e->end = whole.maps ? begin : last;
        status = e->text.status;
        if (status == HN_OK && e->text.n)
            status = encode_cut(tok, o->wants_offsets, out);
        if (status == HN_OK && m.id >= 0)
            status = put(out, m.id, begin, end, o->wants_offsets);
        from = m.end;
        next = m.after;
    }
    hn_passage_free(&whole);
    return status;
}

static hn_status encode_stretch(const hn_tokenizer *tok, const uint8_t *text, hn_piece stretch,
                                const hn_encode_options *o, hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    if (stretch.begin == stretch.end)
        return HN_OK;
    /* where a byte came from tells whose it is, also after normalising */
    const bool maps = o->wants_offsets || (o->origins && tok->added_normalized.n_nodes);
    hn_passage_clear(&e->text, e->heap, maps);
    hn_passage_put(&e->text, text + stretch.begin, stretch.end - stretch.begin, 0);
    HN_TRY(e->text.status);
    for (size_t i = 0, n; maps && i < e->text.n; i += n) {
        uint32_t code;
        n = hn_char_at(e->text.bytes + i, e->text.bytes + e->text.n, &code);
        for (size_t k = 0; k < n; k++) /* a token may be a part of a character */
            e->text.from[i + k] = stretch.begin + (uint32_t)(i + k);
    }
    e->at = stretch.begin;
    e->end = stretch.end;
    HN_TRY(hn_normalizer_run(&tok->normalizer, &e->split.stack, &e->text, &e->spare));
    return e->text.n ? encode_normalized(tok, o, out) : HN_OK;
}

static hn_status encode_text(const hn_tokenizer *tok, const uint8_t *text, size_t bytes,
                             const hn_encode_options *o, hn_encoding *out)
{
    const bool offsets = o->wants_offsets;
    const bool adds_prefix =
        o->add_bos == HN_BY_MODEL ? tok->adds_prefix : o->add_bos == HN_YES;
    const bool adds_suffix =
        o->add_eos == HN_BY_MODEL ? tok->adds_suffix : o->add_eos == HN_YES;
    for (size_t i = 0; adds_prefix && i < tok->n_prefix; i++)
        HN_TRY(put(out, tok->prefix[i], 0, 0, offsets));
    const hn_added_search search = { tok, &tok->added_raw, { text, bytes }, o->parse_special, out->encoder, NULL };
    uint64_t n_stretches = 0;
    for (size_t at = 0, next = 0; at < bytes || next < bytes;) {
        const hn_added_match m = hn_added_next(&search, next, at);
        if (m.begin > at) {
            const hn_work_part part = hn_work_part_begin((double)at / (double)bytes, (double)m.begin / (double)bytes);
            HN_TRY(hn_work_part_end(&part, encode_stretch(tok, text, (hn_piece){ (uint32_t)at, (uint32_t)m.begin }, o, out)));
        }
        if (hn_work_every(++n_stretches))
            HN_TRY(hn_work_look("encoding"));
        if (m.id >= 0)
            HN_TRY(put(out, m.id, m.begin, m.end, offsets));
        at = m.end;
        next = m.after;
    }
    for (size_t i = 0; adds_suffix && i < tok->n_suffix; i++)
        HN_TRY(put(out, tok->suffix[i], bytes, bytes, offsets));
    return HN_OK;
}

static hn_status prepare(const hn_tokenizer *tok, hn_encoding *out)
{
    if (out->encoder && out->encoder->heap != tok->heap)
        hn_encoding_free(out);
    if (!out->encoder) {
        out->encoder = hn_alloc(tok->heap, HN_TAG_TEXT, sizeof *out->encoder);
        if (!out->encoder)
            return HN_ERR_MEMORY;
        out->encoder->heap = tok->heap;
    }
    struct hn_encoder *e = out->encoder;
    if (e->serial != tok->serial && e->size) {
        memset(e->slots, 0, e->size * sizeof *e->slots);
        e->n_slots = e->n_texts = e->n_ids = 0;
    }
    e->serial = tok->serial;
    return HN_OK;
}

hn_status hn_tokenizer_encode(const hn_tokenizer *tok, const char *text, size_t bytes,
                              const hn_encode_options *options, hn_encoding *out)
{
    const hn_encode_options none = { 0 };
    out->n = 0;
    HN_REQUIRE(bytes < UINT32_MAX / 2, HN_ERR_ARGUMENT,
               "text: %zu bytes: expected less than 2 GiB", bytes);
    HN_TRY(prepare(tok, out));
    const hn_encode_options *o = options ? options : &none;
    HN_TRY(hn_guard_set(tok, o->origins, out->encoder));
    const hn_status status = encode_text(tok, (const uint8_t *)text, bytes, o, out);
    out->encoder->origins = NULL;
    if (status != HN_OK)
        out->n = 0;
    return status;
}

void hn_encoding_free(hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    if (!e)
        return;
    hn_heap *heap = e->heap;
    hn_passage_free(&e->text);
    hn_passage_free(&e->spare);
    hn_split_space_free(heap, &e->split);
    hn_merger_free(heap, &e->merger);
    void *const blocks[] = { e->score, e->start, e->id,      e->slots, e->texts, e->guarded,
                             e->ids,   out->ids, out->begin, out->end, e };
    for (size_t i = 0; i < HN_COUNT(blocks); i++)
        hn_free(heap, blocks[i]);
    *out = (hn_encoding){ 0 };
}
