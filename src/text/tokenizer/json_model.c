/* json_model: the vocabulary and the merges of tokenizer.json. */
#include "text/tokenizer/json_parts.h"

#include "base/host.h"
#include "base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    const char *text;
    size_t bytes;
    int64_t id;
} entry;

/* Of model.vocab, an object {piece: id} or an array [[piece, score]]. `index` counts the array.
 */
static hn_status read_entry(const hn_json_loader *l, const hn_json *item, int64_t index,
                            entry *out)
{
    if (item->key) {
        *out = (entry){ item->key, (size_t)item->key_bytes, -1 };
        HN_REQUIRE(item->kind == HN_JSON_INT, HN_ERR_FORMAT,
                   "%s: model.vocab: '%.60s' has no id", l->file, item->key);
        out->id = item->as.integer;
    } else {
        const hn_json *piece = hn_json_at(item, 0);
        HN_REQUIRE(piece && piece->kind == HN_JSON_STRING, HN_ERR_FORMAT,
                   "%s: model.vocab: item %lld: expected a piece and a score", l->file,
                   (long long)index);
        *out = (entry){ piece->as.string.text, piece->as.string.bytes, index };
    }
    HN_REQUIRE(out->id >= 0 && out->id < INT32_MAX / 8, HN_ERR_FORMAT,
               "%s: model.vocab: '%.60s' has id %lld", l->file, out->text, (long long)out->id);
    return HN_OK;
}

static hn_status read_added_entry(const hn_json_loader *l, const hn_json *item, entry *out)
{
    const hn_json *content = hn_json_get(item, "content");
    HN_REQUIRE(content && content->kind == HN_JSON_STRING, HN_ERR_FORMAT,
               "%s: added_tokens: content is missing", l->file);
    *out = (entry){ content->as.string.text, content->as.string.bytes, -1 };
    HN_TRY(hn_json_want_int(hn_json_get(item, "id"), "added_tokens: id", &out->id));
    HN_REQUIRE(out->id >= 0 && out->id < INT32_MAX / 8, HN_ERR_FORMAT,
               "%s: added_tokens: '%.60s' has id %lld", l->file, out->text, (long long)out->id);
    return HN_OK;
}

static const hn_json *items_of(const hn_json *list, const char *key)
{
    const hn_json *value = hn_json_get(list, key);
    const bool has_items =
        value && (value->kind == HN_JSON_ARRAY || value->kind == HN_JSON_OBJECT);
    return has_items ? value->as.children.first : NULL;
}

/* Entries by id; those of the model first, then added ones on top. Gaps stay NULL. */
static hn_status gather(hn_json_loader *l, entry *by_id, int64_t n, bool *is_model)
{
    int64_t index = 0;
    entry e;
    for (const hn_json *i = items_of(hn_json_get(l->root, "model"), "vocab"); i; i = i->next) {
        HN_TRY(read_entry(l, i, index++, &e));
        HN_REQUIRE(e.id < n && !by_id[e.id].text, HN_ERR_FORMAT,
                   "%s: model.vocab: '%.60s' and '%.60s' have one id, %lld", l->file,
                   e.id < n ? by_id[e.id].text : "", e.text, (long long)e.id);
        by_id[e.id] = e;
        is_model[e.id] = true;
    }
    for (const hn_json *i = items_of(l->root, "added_tokens"); i; i = i->next) {
        HN_TRY(read_added_entry(l, i, &e));
        const entry *old = &by_id[e.id];
        HN_REQUIRE(!old->text || (old->bytes == e.bytes && !memcmp(old->text, e.text, e.bytes)),
                   HN_ERR_FORMAT, "%s: added_tokens: '%.60s' has the id of '%.60s', %lld",
                   l->file, e.text, old->text, (long long)e.id);
        by_id[e.id] = e;
    }
    return HN_OK;
}

static hn_status count(const hn_json_loader *l, int64_t *n, uint64_t *bytes)
{
    int64_t index = 0;
    entry e;
    *n = 0;
    *bytes = 0;
    for (const hn_json *i = items_of(hn_json_get(l->root, "model"), "vocab"); i; i = i->next) {
        HN_TRY(read_entry(l, i, index++, &e));
        *n = e.id >= *n ? e.id + 1 : *n;
        *bytes += e.bytes;
    }
    for (const hn_json *i = items_of(l->root, "added_tokens"); i; i = i->next) {
        HN_TRY(read_added_entry(l, i, &e));
        *n = e.id >= *n ? e.id + 1 : *n;
        *bytes += e.bytes;
    }
    HN_REQUIRE(*n > 0, HN_ERR_FORMAT, "%s: model.vocab is missing or empty", l->file);
    return HN_OK;
}

static hn_status fill(hn_json_loader *l, const entry *by_id, const bool *is_model)
{
    hn_tokenizer *tok = l->tok;
    hn_vocab *v = &tok->vocab;
    for (int32_t id = 0; id < v->n; id++) {
        const entry *e = &by_id[id];
        size_t n = 0;
        v->kind[id] = e->text ? HN_TOKEN_NORMAL : HN_TOKEN_UNUSED;
        v->is_plain[id] = false;
        if (e->text &&
            (tok->kind != HN_MODEL_BYTES || !is_model[id] ||
             !hn_text_to_bytes((const uint8_t *)e->text, e->bytes, v->bytes + v->at[id], &n))) {
            memcpy(v->bytes + v->at[id], e->text, e->bytes);
            n = e->bytes;
            v->is_plain[id] = tok->kind == HN_MODEL_BYTES;
        }
        v->at[id + 1] = v->at[id] + (uint32_t)n;
    }
    for (int32_t id = 0; id < v->n; id++) {
        int32_t twin = -1;
        if (is_model[id] && !v->is_plain[id])
            hn_vocab_index(v, id, &twin);
        HN_REQUIRE(twin < 0, HN_ERR_FORMAT, "%s: model.vocab: ids %d and %d have one piece",
                   l->file, (int)twin, (int)id);
    }
    return HN_OK;
}

static hn_status read_vocab(hn_json_loader *l)
{
    int64_t n;
    uint64_t bytes;
    HN_TRY(count(l, &n, &bytes));
    hn_heap *heap = l->tok->heap;
    /* an id far beyond the others would take memory for nothing */
    HN_REQUIRE((uint64_t)n <= 64 * (bytes + 1024), HN_ERR_FORMAT,
               "%s: model.vocab: id %lld is beyond all others", l->file, (long long)n - 1);
    HN_TRY(hn_vocab_new(heap, (int32_t)n, bytes, &l->tok->vocab));
    entry *by_id = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)n, sizeof *by_id);
    bool *is_model = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)n, sizeof *is_model);
    hn_status status = by_id && is_model ? gather(l, by_id, n, is_model) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = fill(l, by_id, is_model);
    hn_free(heap, by_id);
    hn_free(heap, is_model);
    return status;
}

/* A piece as merges and options write it. -1 if it is none. */
static int32_t find_piece(const hn_json_loader *l, const char *text, size_t bytes,
                          uint8_t *room)
{
    size_t n = bytes;
    if (l->tok->kind != HN_MODEL_BYTES ||
        !hn_text_to_bytes((const uint8_t *)text, bytes, room, &n)) {
        memcpy(room, text, bytes);
        n = bytes;
    }
    return hn_vocab_find(&l->tok->vocab, room, n);
}

static hn_status read_merge(hn_json_loader *l, const hn_json *item, uint32_t rank, hn_str *room)
{
    const char *left, *right;
    size_t n_left, n_right;
    if (item->kind == HN_JSON_STRING) {
        left = item->as.string.text;
        const char *blank = strchr(left, ' ');
        HN_REQUIRE(blank && !strchr(blank + 1, ' '), HN_ERR_FORMAT,
                   "%s: model.merges: item %u: expected two pieces and a blank", l->file,
                   (unsigned)rank);
        n_left = (size_t)(blank - left);
        right = blank + 1;
        n_right = item->as.string.bytes - n_left - 1;
    } else {
        const hn_json *a = hn_json_at(item, 0), *b = hn_json_at(item, 1);
        HN_REQUIRE(a && b && a->kind == HN_JSON_STRING && b->kind == HN_JSON_STRING,
                   HN_ERR_FORMAT, "%s: model.merges: item %u: expected two pieces", l->file,
                   (unsigned)rank);
        left = a->as.string.text, n_left = a->as.string.bytes;
        right = b->as.string.text, n_right = b->as.string.bytes;
    }
    hn_str_clear(room);
    hn_str_add_bytes(room, left, n_left);
    hn_str_add_bytes(room, right, n_right);
    hn_str_add_bytes(room, left, n_left); /* room to convert into */
    hn_str_add_bytes(room, right, n_right);
    HN_TRY(hn_str_status(room));
    uint8_t *to = (uint8_t *)room->text + n_left + n_right;
    const int32_t a = find_piece(l, left, n_left, to), b = find_piece(l, right, n_right, to);
    const int32_t both = find_piece(l, room->text, n_left + n_right, to);
    HN_REQUIRE(a >= 0 && b >= 0 && both >= 0, HN_ERR_FORMAT,
               "%s: model.merges: item %u: '%.*s%.*s' %s no token", l->file, (unsigned)rank,
               (int)(n_left > 30 ? 30 : n_left), left, (int)(n_right > 30 ? 30 : n_right),
               right, a >= 0 && b >= 0 ? "makes" : "joins what is");
    hn_merges_add(&l->tok->merges, a, b, rank, both);
    return HN_OK;
}

static hn_status read_merges(hn_json_loader *l)
{
    const hn_json *merges = hn_json_get(hn_json_get(l->root, "model"), "merges");
    HN_REQUIRE(merges && merges->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "%s: model.merges is missing", l->file);
    HN_TRY(hn_merges_new(l->tok->heap, &l->tok->vocab, merges->as.children.n, &l->tok->merges));
    hn_str room = hn_str_on(l->tok->heap);
    hn_status status = HN_OK;
    uint32_t rank = 0;
    for (const hn_json *i = merges->as.children.first; i && status == HN_OK; i = i->next)
        status = read_merge(l, i, rank++, &room);
    hn_str_free(&room);
    return status;
}

static hn_status read_unknown(hn_json_loader *l, const hn_json *model)
{
    const char *text = hn_json_text_of(model, "unk_token");
    const size_t n = strlen(text);
    if (!n)
        return HN_OK;
    uint8_t *room = hn_alloc(l->tok->heap, HN_TAG_TEXT, n + 1);
    if (!room)
        return HN_ERR_MEMORY;
    int32_t id = find_piece(l, text, n, room);
    hn_free(l->tok->heap, room);
    for (int32_t i = 0; id < 0 && i < l->tok->vocab.n; i++) {
        const hn_span piece = hn_tokenizer_piece(l->tok, i);
        if (piece.bytes == n && memcmp(piece.data, text, n) == 0)
            id = i;
    }
    HN_REQUIRE(id >= 0, HN_ERR_FORMAT, "%s: model.unk_token: '%.60s' is no token", l->file,
               text);
    l->tok->unknown = id;
    return HN_OK;
}

static hn_status read_bpe(hn_json_loader *l, const hn_json *model)
{
    hn_tokenizer *tok = l->tok;
    static const char *const affixes[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    for (size_t i = 0; i < HN_COUNT(affixes); i++)
        HN_REQUIRE(!*hn_json_text_of(model, affixes[i]), HN_ERR_UNSUPPORTED,
                   "%s: model.%s: '%.40s'", l->file, affixes[i],
                   hn_json_text_of(model, affixes[i]));
    const hn_json *dropout = hn_json_get(model, "dropout");
    HN_REQUIRE(!dropout || dropout->kind == HN_JSON_NULL ||
                   (dropout->kind == HN_JSON_DOUBLE && dropout->as.number == 0) ||
                   (dropout->kind == HN_JSON_INT && dropout->as.integer == 0),
               HN_ERR_UNSUPPORTED, "%s: model.dropout", l->file);
    tok->ignores_merges = hn_json_flag_of(model, "ignore_merges", false);
    tok->fuses_unknown = hn_json_flag_of(model, "fuse_unk", false);
    tok->has_byte_fallback = hn_json_flag_of(model, "byte_fallback", false);
    HN_TRY(read_vocab(l));
    HN_TRY(read_unknown(l, model));
    return read_merges(l);
}

/* The number that `tokenizers` reads: it takes the digits as an integer and divides by a power
 * of ten, which rounds twice where there are more than 15. Cuts whose scores are equal on paper
 * are told apart by that. `score` was written in as few digits as tell it apart. */
static double twice_rounded(double score)
{
    char text[40];
    int digits = 15;
    for (; digits <= 17; digits++) {
        double again = 0;
        hn_text_print(text, sizeof text, "%.*e", digits - 1, score);
        if (hn_number_parse(text, &again) && again == score)
            break;
    }
    if (digits == 15 || digits == 18)
        return score; /* fits a double's 53 bits: rounded once */
    uint64_t significand = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            significand = 10 * significand + (uint64_t)(*at - '0');
    int exponent = (int)strtol(at + 1, NULL, 10) - (digits - 1);
    for (; significand % 10 == 0; exponent++)
        significand /= 10;
    if (exponent >= 0 || exponent < -22)
        return score;
    double power = 1; /* exact up to 10^22 */
    for (; exponent < 0; exponent++)
        power *= 10;
    const double magnitude = (double)significand / power;
    return score < 0 ? -magnitude : magnitude;
}

static hn_status read_unigram(hn_json_loader *l, const hn_json *model)
{
    hn_tokenizer *tok = l->tok;
    HN_TRY(read_vocab(l));
    tok->has_byte_fallback = hn_json_flag_of(model, "byte_fallback", false);
    tok->vocab.score = hn_alloc_array(tok->heap, HN_TAG_TEXT, (size_t)tok->vocab.n + 1,
                                      sizeof *tok->vocab.score);
    if (!tok->vocab.score)
        return HN_ERR_MEMORY;
    int32_t id = 0;
    for (const hn_json *i = items_of(model, "vocab"); i; i = i->next, id++) {
        double score;
        HN_TRY(hn_json_want_double(hn_json_at(i, 1), "model.vocab: score", &score));
        tok->vocab.score[id] = twice_rounded(score);
    }
    tok->n_scored = id;
    const hn_json *unknown = hn_json_get(model, "unk_id");
    if (unknown && unknown->kind == HN_JSON_INT) {
        HN_REQUIRE(unknown->as.integer >= 0 && unknown->as.integer < id, HN_ERR_FORMAT,
                   "%s: model.unk_id is %lld of %d tokens", l->file,
                   (long long)unknown->as.integer, (int)id);
        tok->unknown = (int32_t)unknown->as.integer;
    }
    return HN_OK;
}

static hn_status read_words(hn_json_loader *l, const hn_json *model)
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
    HN_TRY(read_vocab(l));
    return read_unknown(l, model);
}

hn_status hn_json_read_model(hn_json_loader *l)
{
    const hn_json *model = hn_json_get(l->root, "model");
    const char *type = hn_json_text_of(model, "type");
    const hn_json *vocab = hn_json_get(model, "vocab");
    if (!*type) /* older files leave it out */
        type = hn_json_get(model, "merges")                     ? "BPE"
               : vocab && vocab->kind == HN_JSON_ARRAY          ? "Unigram"
               : hn_json_get(model, "max_input_chars_per_word") ? "WordPiece"
                                                                : "";
    hn_tokenizer *tok = l->tok;
    if (strcmp(type, "BPE") == 0) {
        tok->kind = l->has_byte_level ? HN_MODEL_BYTES : HN_MODEL_CHARS;
        return read_bpe(l, model);
    }
    HN_REQUIRE(!l->has_byte_level, HN_ERR_UNSUPPORTED, "%s: ByteLevel with model '%.40s'",
               l->file, type);
    if (strcmp(type, "Unigram") == 0) {
        HN_REQUIRE(!vocab || vocab->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
                   "%s: model.vocab: expected an array", l->file);
        tok->kind = HN_MODEL_UNIGRAM;
        return read_unigram(l, model);
    }
    if (strcmp(type, "WordPiece") == 0) {
        tok->kind = HN_MODEL_WORDS;
        return read_words(l, model);
    }
    return hn_fail(HN_ERR_UNSUPPORTED, "%s: model.type: '%.40s' is none that hone knows",
                   l->file, type);
}
