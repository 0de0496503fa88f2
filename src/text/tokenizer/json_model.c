/* json_model: the vocabulary of tokenizer.json, and whose it is. */
#include "text/tokenizer/family.h"
#include "base/work.h"
#include "text/tokenizer/json_parts.h"

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
        out->id = hn_json_int(item);
    } else {
        const hn_json *piece = hn_json_at(item, 0);
        HN_REQUIRE(piece && piece->kind == HN_JSON_STRING, HN_ERR_FORMAT,
                   "%s: model.vocab: item %lld: expected a piece and a score", l->file,
                   (long long)index);
        *out = (entry){ hn_json_string(piece), hn_json_bytes(piece), index };
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
    *out = (entry){ hn_json_string(content), hn_json_bytes(content), -1 };
    HN_TRY(hn_json_want_int(hn_json_get(item, "id"), "added_tokens: id", &out->id));
    HN_REQUIRE(out->id >= 0 && out->id < INT32_MAX / 8, HN_ERR_FORMAT,
               "%s: added_tokens: '%.60s' has id %lld", l->file, out->text, (long long)out->id);
    return HN_OK;
}

const hn_json *hn_json_items_of(const hn_json *list, const char *key)
{
    const hn_json *value = hn_json_get(list, key);
    const bool has_items =
        value && (value->kind == HN_JSON_ARRAY || value->kind == HN_JSON_OBJECT);
    return has_items ? hn_json_first(value) : NULL;
}

/* Entries by id; those of the model first, then added ones on top. Gaps stay NULL. */
static hn_status gather(hn_json_loader *l, entry *by_id, int64_t n, bool *is_model)
{
    int64_t index = 0;
    entry e;
    for (const hn_json *i = hn_json_items_of(hn_json_get(l->root, "model"), "vocab"); i; i = i->next) {
        HN_TRY(read_entry(l, i, index++, &e));
        HN_REQUIRE(e.id < n && !by_id[e.id].text, HN_ERR_FORMAT,
                   "%s: model.vocab: '%.60s' and '%.60s' have one id, %lld", l->file,
                   e.id < n ? by_id[e.id].text : "", e.text, (long long)e.id);
        by_id[e.id] = e;
        is_model[e.id] = true;
    }
    for (const hn_json *i = hn_json_items_of(l->root, "added_tokens"); i; i = i->next) {
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
    for (const hn_json *i = hn_json_items_of(hn_json_get(l->root, "model"), "vocab"); i; i = i->next) {
        HN_TRY(read_entry(l, i, index++, &e));
        *n = e.id >= *n ? e.id + 1 : *n;
        *bytes += e.bytes;
    }
    for (const hn_json *i = hn_json_items_of(l->root, "added_tokens"); i; i = i->next) {
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
        if (hn_work_every((uint64_t)id))
            HN_TRY(hn_work_tell((uint64_t)id, 4 * (uint64_t)v->n, "tokens"));
        v->kind[id] = e->text ? HN_TOKEN_NORMAL : HN_TOKEN_UNUSED;
        v->is_plain[id] = false;
        if (e->text &&
            (!tok->family->of_bytes || !is_model[id] ||
             !hn_text_to_bytes((const uint8_t *)e->text, e->bytes, v->bytes + v->at[id], &n))) {
            memcpy(v->bytes + v->at[id], e->text, e->bytes);
            n = e->bytes;
            v->is_plain[id] = tok->family->of_bytes;
        }
        v->at[id + 1] = v->at[id] + (uint32_t)n;
    }
    for (int32_t id = 0; id < v->n; id++) {
        int32_t twin = -1;
        if (hn_work_every((uint64_t)id))
            HN_TRY(hn_work_look("tokens"));
        if (is_model[id] && !v->is_plain[id])
            hn_vocab_index(v, id, &twin);
        HN_REQUIRE(twin < 0, HN_ERR_FORMAT, "%s: model.vocab: ids %d and %d have one piece",
                   l->file, (int)twin, (int)id);
    }
    return HN_OK;
}

hn_status hn_json_read_vocab(hn_json_loader *l)
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
int32_t hn_json_find_piece(const hn_json_loader *l, const char *text, size_t bytes, uint8_t *room)
{
    size_t n = bytes;
    if (!l->tok->family->of_bytes ||
        !hn_text_to_bytes((const uint8_t *)text, bytes, room, &n)) {
        memcpy(room, text, bytes);
        n = bytes;
    }
    return hn_vocab_find(&l->tok->vocab, room, n);
}

hn_status hn_json_read_unknown(hn_json_loader *l, const hn_json *model)
{
    const char *text = hn_json_text_of(model, "unk_token");
    const size_t n = strlen(text);
    if (!n)
        return HN_OK;
    uint8_t *room = hn_alloc(l->tok->heap, HN_TAG_TEXT, n + 1);
    if (!room)
        return HN_ERR_MEMORY;
    int32_t id = hn_json_find_piece(l, text, n, room);
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

/* The family of a model: of those with its type, the one for bytes if the text becomes bytes. */
hn_status hn_json_read_model(hn_json_loader *l)
{
    const hn_json *model = hn_json_get(l->root, "model");
    const char *type = hn_json_text_of(model, "type");
    for (size_t i = 0; i < hn_n_families && !*type; i++) /* older files leave it out */
        if (hn_families[i].calls->is_untyped && hn_families[i].calls->is_untyped(model))
            type = hn_families[i].json;
    const hn_family *family = hn_family_of_json(type, l->has_byte_level);
    HN_REQUIRE(family || !l->has_byte_level, HN_ERR_UNSUPPORTED, "%s: ByteLevel with model '%.40s'",
               l->file, type);
    HN_REQUIRE(family, HN_ERR_UNSUPPORTED, "%s: model.type: '%.40s' is none that hone knows", l->file, type);
    l->tok->family = family->calls;
    l->tok->kind_name = family->gguf ? family->gguf : family->name;
    return family->calls->read_json(l, model);
}
