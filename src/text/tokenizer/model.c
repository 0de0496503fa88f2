/* model: the ids of one piece. */
#include "text/tokenizer/parts.h"

#include <math.h>
#include <string.h>

/* Bytes that no token holds: each its own, or one unknown for all. */
static hn_status add_unknown(const hn_tokenizer *tok, size_t begin, size_t end, bool offsets,
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

static int32_t find_char(const hn_tokenizer *tok, const uint8_t *at, size_t n)
{
    return *at < 0x80 ? tok->ascii_id[*at] : hn_vocab_find(&tok->vocab, at, n);
}

/* Characters as symbols. One that is unknown waits, to be one with those that follow it. */
static hn_status add_chars(const hn_tokenizer *tok, hn_piece piece, hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    const uint8_t *text = e->text.bytes, *end = text + piece.end;
    size_t unknown_begin = 0, unknown_end = 0;
    bool waits = false;
    size_t n;
    for (const uint8_t *at = text + piece.begin; at < end; at += n) {
        uint32_t code;
        n = hn_char_at(at, end, &code);
        const size_t begin = (size_t)(at - text);
        const int32_t id = find_char(tok, at, n);
        if (id >= 0 || tok->kind == HN_MODEL_SPM) {
            if (waits)
                HN_TRY(hn_merger_add(e->heap, &e->merger, tok->unknown, unknown_begin,
                                     unknown_end));
            waits = false;
            HN_TRY(hn_merger_add(e->heap, &e->merger, id, begin, begin + n));
            continue;
        }
        bool has_all = tok->has_byte_fallback;
        for (size_t i = 0; i < n && has_all; i++)
            has_all = tok->byte_id[at[i]] >= 0;
        for (size_t i = 0; i < n && has_all; i++)
            HN_TRY(hn_merger_add(e->heap, &e->merger, tok->byte_id[at[i]], begin + i,
                                 begin + i + 1));
        if (has_all || tok->unknown < 0)
            continue;
        if (waits && !tok->fuses_unknown)
            HN_TRY(
                hn_merger_add(e->heap, &e->merger, tok->unknown, unknown_begin, unknown_end));
        if (!waits || !tok->fuses_unknown)
            unknown_begin = begin;
        unknown_end = begin + n;
        waits = true;
    }
    return waits ? hn_merger_add(e->heap, &e->merger, tok->unknown, unknown_begin, unknown_end)
                 : HN_OK;
}

static hn_status add_bytes(const hn_tokenizer *tok, hn_piece piece, hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    for (size_t i = piece.begin; i < piece.end; i++) {
        const int32_t id = tok->byte_id[e->text.bytes[i]];
        const int32_t known = id >= 0 ? id : tok->unknown;
        if (known >= 0)
            HN_TRY(hn_merger_add(e->heap, &e->merger, known, i, i + 1));
    }
    return HN_OK;
}

static hn_status encode_merges(const hn_tokenizer *tok, hn_piece piece, bool offsets,
                               hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    const uint8_t *text = e->text.bytes;
    if (tok->ignores_merges || (tok->keeps_newlines && text[piece.begin] == '\n')) {
        const int32_t id =
            hn_vocab_find(&tok->vocab, text + piece.begin, piece.end - piece.begin);
        if (id >= 0)
            return hn_encoding_add(out, id, piece.begin, piece.end, offsets);
    }
    e->merger.n = 0;
    HN_TRY(tok->kind == HN_MODEL_BYTES ? add_bytes(tok, piece, out)
                                       : add_chars(tok, piece, out));
    if (!e->merger.n)
        return HN_OK;
    HN_TRY(hn_merger_run(e->heap, &e->merger, &tok->merges, text));
    for (uint32_t i = 0; i != UINT32_MAX; i = e->merger.symbols[i].next) {
        const hn_symbol *s = &e->merger.symbols[i];
        if (s->id >= 0)
            HN_TRY(hn_encoding_add(out, s->id, s->begin, s->end, offsets));
        else
            HN_TRY(add_unknown(tok, s->begin, s->end, offsets, out));
    }
    return HN_OK;
}

static hn_status make_path(struct hn_encoder *e, size_t n)
{
    if (n <= e->path_room)
        return HN_OK;
    double *score = hn_realloc_array(e->heap, HN_TAG_TEXT, e->score, n, sizeof *score);
    e->score = score ? score : e->score;
    uint32_t *start = hn_realloc_array(e->heap, HN_TAG_TEXT, e->start, n, sizeof *start);
    e->start = start ? start : e->start;
    int32_t *id = hn_realloc_array(e->heap, HN_TAG_TEXT, e->id, n, sizeof *id);
    e->id = id ? id : e->id;
    if (!score || !start || !id)
        return HN_ERR_MEMORY;
    e->path_room = n;
    return HN_OK;
}

/* Viterbi: score[i] is that of the best cut of the first i bytes, whose last token is id[i]
 * from start[i] on. Of equal ones the first found stays. */
static void find_path(const hn_tokenizer *tok, struct hn_encoder *e, hn_piece piece)
{
    const uint8_t *text = e->text.bytes + piece.begin;
    const size_t n = piece.end - piece.begin;
    for (size_t i = 0; i <= n; i++)
        e->start[i] = UINT32_MAX;
    e->score[0] = 0;
    size_t n_char;
    for (size_t at = 0; at < n; at += n_char) {
        uint32_t code, node = 0;
        n_char = hn_char_at(text + at, text + n, &code);
        bool has_char = false;
        for (size_t i = at; i < n && (node = hn_trie_child(&tok->trie, node, text[i])); i++) {
            const int32_t id = tok->trie.value[node];
            if (id < 0)
                continue;
            const double score = e->score[at] + tok->vocab.score[id];
            if (e->start[i + 1] == UINT32_MAX || score > e->score[i + 1]) {
                e->score[i + 1] = score;
                e->start[i + 1] = (uint32_t)at;
                e->id[i + 1] = id;
            }
            has_char |= i + 1 == at + n_char;
        }
        const double score = e->score[at] + tok->unknown_score;
        const size_t end = at + n_char;
        if (!has_char && (e->start[end] == UINT32_MAX || score > e->score[end])) {
            e->score[end] = score;
            e->start[end] = (uint32_t)at;
            e->id[end] = -1;
        }
    }
}

static hn_status encode_unigram(const hn_tokenizer *tok, hn_piece piece, bool offsets,
                                hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    const size_t n = piece.end - piece.begin;
    HN_TRY(make_path(e, n + 1));
    find_path(tok, e, piece);
    /* Turn the way back into the way there: start[i] becomes where the token from i on ends. */
    uint32_t next = UINT32_MAX;
    int32_t next_id = 0;
    for (uint32_t at = (uint32_t)n;;) {
        const uint32_t before = at ? e->start[at] : 0;
        const int32_t id = at ? e->id[at] : 0;
        e->start[at] = next;
        e->id[at] = next_id;
        if (!at)
            break;
        next = at;
        next_id = id;
        at = before;
    }
    for (uint32_t at = 0; at < n;) {
        uint32_t end = e->start[at];
        const int32_t id = e->id[at];
        while (id < 0 && end < n && e->id[end] < 0)
            end = e->start[end];
        if (id < 0)
            HN_TRY(add_unknown(tok, piece.begin + at, piece.begin + end, offsets, out));
        else
            HN_TRY(hn_encoding_add(out, id, piece.begin + at, piece.begin + end, offsets));
        at = end;
    }
    return HN_OK;
}

enum { LONGEST_WORD_PIECE = 4 * 1024 };

/* A word of which some part is unknown is unknown as a whole. */
static hn_status encode_word(const hn_tokenizer *tok, hn_piece piece, bool offsets,
                             hn_encoding *out)
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

static hn_status encode_new(const hn_tokenizer *tok, hn_piece piece, bool offsets,
                            hn_encoding *out)
{
    switch (tok->kind) {
    case HN_MODEL_UNIGRAM:
        return encode_unigram(tok, piece, offsets, out);
    case HN_MODEL_WORDS:
        return encode_word(tok, piece, offsets, out);
    default:
        return encode_merges(tok, piece, offsets, out);
    }
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

hn_status hn_model_encode(const hn_tokenizer *tok, hn_piece piece, bool offsets,
                          hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    const uint8_t *text = e->text.bytes + piece.begin;
    const size_t bytes = piece.end - piece.begin;
    if (offsets || bytes > HN_REMEMBERED_BYTES)
        return encode_new(tok, piece, offsets, out);
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
    HN_TRY(encode_new(tok, piece, false, out));
    return remember(e, hash, text, bytes, out->ids + n_before, out->n - n_before);
}
