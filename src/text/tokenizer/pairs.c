/* pairs: byte-pair encoding: the ids of a piece, and the merges of files, for the families that merge. */
#include "text/tokenizer/family.h"

#include "base/work.h"

#include <string.h>

#define KEY "tokenizer.ggml."

static int32_t find_char(const hn_tokenizer *tok, const uint8_t *at, size_t n)
{
    return *at < 0x80 ? tok->ascii_id[*at] : hn_vocab_find(&tok->vocab, at, n);
}

/* Characters as symbols. One that is unknown waits, to be one with those that follow it. */
static hn_status add_chars(const hn_tokenizer *tok, hn_piece piece, bool takes_all, hn_encoding *out)
{
    struct hn_encoder *e = out->encoder;
    const uint8_t *text = e->text.bytes, *end = text + piece.end;
    size_t unknown_begin = 0, unknown_end = 0;
    bool waits = false;
    size_t n;
    for (const uint8_t *at = text + piece.begin; at < end; at += n) {
        uint32_t code;
        if (hn_work_every((uint64_t)(at - text) + 1 - piece.begin))
            HN_TRY(hn_work_look("encoding"));
        n = hn_char_at(at, end, &code);
        const size_t begin = (size_t)(at - text);
        const int32_t id = find_char(tok, at, n);
        if (id >= 0 || takes_all) {
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
        if (hn_work_every(i + 1 - piece.begin))
            HN_TRY(hn_work_look("encoding"));
        const int32_t id = tok->byte_id[e->text.bytes[i]];
        const int32_t known = id >= 0 ? id : tok->unknown;
        if (known >= 0)
            HN_TRY(hn_merger_add(e->heap, &e->merger, known, i, i + 1));
    }
    return HN_OK;
}

hn_status hn_pairs_encode(const hn_tokenizer *tok, hn_pairs_of of, hn_piece piece, bool offsets, hn_encoding *out)
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
    HN_TRY(of == HN_PAIRS_OF_BYTES ? add_bytes(tok, piece, out)
                                   : add_chars(tok, piece, of == HN_PAIRS_OF_ALL_CHARS, out));
    if (!e->merger.n)
        return HN_OK;
    HN_TRY(hn_merger_run(e->heap, &e->merger, &tok->merges, text));
    for (uint32_t i = 0; i != UINT32_MAX; i = e->merger.symbols[i].next) {
        const hn_symbol *s = &e->merger.symbols[i];
        if (hn_work_every((uint64_t)i + 1))
            HN_TRY(hn_work_look("encoding"));
        if (s->id >= 0)
            HN_TRY(hn_encoding_add(out, s->id, s->begin, s->end, offsets));
        else
            HN_TRY(hn_model_add_unknown(tok, s->begin, s->end, offsets, out));
    }
    return HN_OK;
}

hn_status hn_pairs_cut_at_marks(hn_tokenizer *tok)
{
    static const uint8_t mark[] = "\xe2\x96\x81";
    const hn_vocab *v = &tok->vocab;
    if (tok->ignores_merges || hn_vocab_find(v, mark, 3) < 0)
        return HN_OK;
    for (int32_t id = 0; id < v->n; id++) {
        size_t bytes;
        const uint8_t *piece = hn_vocab_piece(v, id, &bytes);
        for (size_t i = 1; i + 3 <= bytes; i++)
            if (memcmp(piece + i, mark, 3) == 0)
                tok->joins[piece[i - 1]] = true;
    }
    hn_split_step step = { .kind = HN_SPLIT_WORDS,
                           .mark = "\xe2\x96\x81",
                           .joins = tok->joins };
    return hn_splitter_add(&tok->splitter, step);
}

static hn_status read_json_merge(hn_json_loader *l, const hn_json *item, uint32_t rank, hn_str *room)
{
    const char *left, *right;
    size_t n_left, n_right;
    if (item->kind == HN_JSON_STRING) {
        left = hn_json_string(item);
        const char *blank = strchr(left, ' ');
        HN_REQUIRE(blank && !strchr(blank + 1, ' '), HN_ERR_FORMAT,
                   "%s: model.merges: item %u: expected two pieces and a blank", l->file,
                   (unsigned)rank);
        n_left = (size_t)(blank - left);
        right = blank + 1;
        n_right = hn_json_bytes(item) - n_left - 1;
    } else {
        const hn_json *a = hn_json_at(item, 0), *b = hn_json_at(item, 1);
        HN_REQUIRE(a && b && a->kind == HN_JSON_STRING && b->kind == HN_JSON_STRING,
                   HN_ERR_FORMAT, "%s: model.merges: item %u: expected two pieces", l->file,
                   (unsigned)rank);
        left = hn_json_string(a), n_left = hn_json_bytes(a);
        right = hn_json_string(b), n_right = hn_json_bytes(b);
    }
    hn_str_clear(room);
    hn_str_add_bytes(room, left, n_left);
    hn_str_add_bytes(room, right, n_right);
    hn_str_add_bytes(room, left, n_left); /* room to convert into */
    hn_str_add_bytes(room, right, n_right);
    HN_TRY(hn_str_status(room));
    uint8_t *to = (uint8_t *)room->text + n_left + n_right;
    const int32_t a = hn_json_find_piece(l, left, n_left, to), b = hn_json_find_piece(l, right, n_right, to);
    const int32_t both = hn_json_find_piece(l, room->text, n_left + n_right, to);
    HN_REQUIRE(a >= 0 && b >= 0 && both >= 0, HN_ERR_FORMAT,
               "%s: model.merges: item %u: '%.*s%.*s' %s no token", l->file, (unsigned)rank,
               (int)(n_left > 30 ? 30 : n_left), left, (int)(n_right > 30 ? 30 : n_right),
               right, a >= 0 && b >= 0 ? "makes" : "joins what is");
    hn_merges_add(&l->tok->merges, a, b, rank, both);
    return HN_OK;
}

static hn_status read_json_merges(hn_json_loader *l)
{
    const hn_json *merges = hn_json_get(hn_json_get(l->root, "model"), "merges");
    HN_REQUIRE(merges && merges->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "%s: model.merges is missing", l->file);
    HN_TRY(hn_merges_new(l->tok->heap, &l->tok->vocab, hn_json_count(merges), &l->tok->merges));
    hn_str room = hn_str_on(l->tok->heap);
    hn_status status = HN_OK;
    uint32_t rank = 0;
    const uint64_t n = hn_json_count(merges);
    for (const hn_json *i = hn_json_first(merges); i && status == HN_OK; i = i->next) {
        if (hn_work_every(rank))
            status = hn_work_tell(2 * n + rank, 4 * n, "merges");
        if (status == HN_OK)
            status = read_json_merge(l, i, rank++, &room);
    }
    hn_str_free(&room);
    return status;
}

bool hn_pairs_are_untyped(const hn_json *model) { return hn_json_get(model, "merges") != NULL; }

hn_status hn_pairs_read_json(hn_json_loader *l, const hn_json *model)
{
    hn_tokenizer *tok = l->tok;
    static const char *const affixes[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    for (size_t i = 0; i < HN_COUNT(affixes); i++)
        HN_REQUIRE(!*hn_json_text_of(model, affixes[i]), HN_ERR_UNSUPPORTED,
                   "%s: model.%s: '%.40s'", l->file, affixes[i],
                   hn_json_text_of(model, affixes[i]));
    const hn_json *dropout = hn_json_get(model, "dropout");
    HN_REQUIRE(!dropout || dropout->kind == HN_JSON_NULL ||
                   (dropout->kind == HN_JSON_DOUBLE && hn_json_number(dropout) == 0) ||
                   (dropout->kind == HN_JSON_INT && hn_json_int(dropout) == 0),
               HN_ERR_UNSUPPORTED, "%s: model.dropout", l->file);
    tok->ignores_merges = hn_json_flag_of(model, "ignore_merges", false);
    tok->fuses_unknown = hn_json_flag_of(model, "fuse_unk", false);
    tok->has_byte_fallback = hn_json_flag_of(model, "byte_fallback", false);
    HN_TRY(hn_json_read_vocab(l));
    HN_TRY(hn_json_read_unknown(l, model));
    return read_json_merges(l);
}

/* "left right": the blank is the first after the first byte. */
static hn_status read_gguf_merge(hn_tokenizer *tok, const char *file, hn_span text, uint64_t rank, uint8_t *room)
{
    const uint8_t *data = text.data;
    const uint8_t *blank = text.bytes > 1 ? memchr(data + 1, ' ', text.bytes - 1) : NULL;
    const size_t n = blank ? (size_t)(blank - data) : 0;
    HN_REQUIRE(blank && n + 1 < text.bytes, HN_ERR_FORMAT,
               "%s: " KEY "merges: item %llu: expected two pieces and a blank", file,
               (unsigned long long)rank);
    size_t n_left = n, n_right = text.bytes - n - 1;
    if (!tok->family->of_bytes || !hn_text_to_bytes(data, n, room, &n_left) ||
        !hn_text_to_bytes(blank + 1, text.bytes - n - 1, room + n_left, &n_right)) {
        n_left = n;
        n_right = text.bytes - n - 1;
        memcpy(room, data, n_left);
        memcpy(room + n_left, blank + 1, n_right);
    }
    const int32_t left = hn_vocab_find(&tok->vocab, room, n_left);
    const int32_t right = hn_vocab_find(&tok->vocab, room + n_left, n_right);
    const int32_t both = hn_vocab_find(&tok->vocab, room, n_left + n_right);
    HN_REQUIRE(left >= 0 && right >= 0 && both >= 0, HN_ERR_FORMAT,
               "%s: " KEY "merges: item %llu: '%.*s' %s no token", file,
               (unsigned long long)rank, text.bytes > 60 ? 60 : (int)text.bytes,
               (const char *)data, left >= 0 && right >= 0 ? "makes" : "joins what is");
    hn_merges_add(&tok->merges, left, right, (uint32_t)rank, both);
    return HN_OK;
}

hn_status hn_pairs_read_gguf(hn_tokenizer *tok, const hn_meta *meta, const char *file)
{
    const hn_meta_value *merges;
    HN_TRY(hn_meta_array(meta, KEY "merges", HN_META_STRING, &merges));
    HN_REQUIRE(merges, HN_ERR_FORMAT, "%s: " KEY "merges is missing", file);
    HN_TRY(hn_merges_new(tok->heap, &tok->vocab, merges->n, &tok->merges));
    size_t longest = 0, cursor = 0;
    for (uint64_t i = 0; i < merges->n; i++) {
        const size_t bytes = hn_meta_next_string(merges, &cursor).bytes;
        longest = bytes > longest ? bytes : longest;
    }
    uint8_t *room = hn_alloc(tok->heap, HN_TAG_TEXT, longest + 1);
    if (!room)
        return HN_ERR_MEMORY;
    hn_status status = HN_OK;
    cursor = 0;
    for (uint64_t i = 0; i < merges->n && status == HN_OK; i++) {
        if (hn_work_every(i))
            status = hn_work_tell(2 * merges->n + i, 4 * merges->n, "merges");
        if (status == HN_OK)
            status = read_gguf_merge(tok, file, hn_meta_next_string(merges, &cursor), i, room);
    }
    hn_free(tok->heap, room);
    return status;
}

hn_status hn_pairs_sorted(const hn_tokenizer *tok, hn_pair **out)
{
    *out = hn_alloc_array(tok->heap, HN_TAG_TEXT, (size_t)tok->merges.n + 1, sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    for (uint32_t i = 0; i <= tok->merges.mask; i++)
        if (tok->merges.pairs[i].key)
            (*out)[tok->merges.pairs[i].rank] = tok->merges.pairs[i];
    return HN_OK;
}

hn_status hn_pairs_write_gguf(const hn_tokenizer *tok, hn_meta *meta, const hn_pair *pairs)
{
    hn_str all = hn_str_on(meta->heap);
    size_t *ends =
        hn_alloc_array(meta->heap, HN_TAG_TEXT, (size_t)tok->merges.n + 1, sizeof *ends);
    size_t n = 0;
    for (uint32_t i = 0; ends && i < tok->merges.n; i++) {
        if (!pairs[i].key)
            continue;
        hn_tokenizer_put_piece(tok, (int32_t)((pairs[i].key - 1) >> 32), &all);
        hn_str_add_char(&all, ' ');
        hn_tokenizer_put_piece(tok, (int32_t)(uint32_t)(pairs[i].key - 1), &all);
        ends[n++] = all.length;
    }
    hn_status status = ends ? hn_str_status(&all) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = hn_tokenizer_set_strings(meta, KEY "merges", &all, ends, n);
    hn_str_free(&all);
    hn_free(meta->heap, ends);
    return status;
}
