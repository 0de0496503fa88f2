/* Making values: texts, lists, dicts, and values from JSON. */
#include "text/template/fn.h"

#include "text/unicode/python.h"

#include <math.h>
#include <string.h>

enum { SMALL_DICT = 8 };

bool hn_tv_is(const hn_tval *text, const char *word)
{
    return text->kind == HN_TV_TEXT && text->as.text.bytes == strlen(word) &&
           !memcmp(text->as.text.text, word, text->as.text.bytes);
}

hn_status hn_tv_copy_text(hn_tpl_run *r, const char *text, size_t bytes, hn_tval *out)
{
    char *copy = hn_tpl_new(r, bytes + 1);
    if (!copy)
        return HN_ERR_MEMORY;
    memcpy(copy, text, bytes);
    *out = hn_tv_text(copy, bytes);
    return hn_tpl_charge(r, bytes);
}

hn_status hn_tv_from_str(hn_tpl_run *r, const hn_str *text, hn_tval *out)
{
    HN_TRY(hn_str_status(text));
    return hn_tv_copy_text(r, text->text, text->length, out);
}

hn_status hn_tv_from_words(hn_tpl_run *r, const hn_tpl_str *words, hn_tval *out)
{
    HN_TRY(hn_tpl_str_status(words));
    HN_TRY(hn_tv_copy_text(r, words->text.text, words->text.length, out));
    const size_t n = words->own.length; /* what is beyond is data */
    if (!n)
        return HN_OK;
    uint8_t *own = hn_tpl_new(r, words->text.length + 1);
    if (!own)
        return HN_ERR_MEMORY;
    memcpy(own, words->own.text, n);
    out->as.text.own = own;
    return HN_OK;
}

hn_status hn_tv_own_text(hn_tpl_run *r, const char *text, size_t bytes, hn_tval *out)
{
    uint8_t *own = hn_tpl_new(r, bytes + 1);
    if (!own)
        return HN_ERR_MEMORY;
    memset(own, 1, bytes);
    HN_TRY(hn_tv_copy_text(r, text, bytes, out));
    out->as.text.own = own;
    return HN_OK;
}

int64_t hn_tv_text_length(hn_tpl_text text)
{
    int64_t n = 0;
    for (size_t i = 0; i < text.bytes; i++)
        n += ((unsigned char)text.text[i] & 0xc0) != 0x80;
    return n;
}

size_t hn_tv_text_offset(hn_tpl_text text, int64_t code_points)
{
    size_t at = 0;
    for (; code_points > 0 && at < text.bytes; code_points--)
        for (at++; at < text.bytes && ((unsigned char)text.text[at] & 0xc0) == 0x80;)
            at++;
    return at;
}

hn_status hn_tv_list_new(hn_tpl_run *r, hn_tv_kind kind, hn_tval *out)
{
    *out = (hn_tval){ .kind = kind, .as.list = hn_tpl_new(r, sizeof(hn_tpl_list)) };
    return out->as.list ? HN_OK : HN_ERR_MEMORY;
}

static hn_status grow(hn_tpl_run *r, hn_tval **at, size_t n, size_t room)
{
    hn_tval *grown = hn_tpl_new(r, room * sizeof *grown);
    if (!grown)
        return HN_ERR_MEMORY;
    if (n)
        memcpy(grown, *at, n * sizeof *grown);
    *at = grown;
    return HN_OK;
}

hn_status hn_tv_list_add(hn_tpl_run *r, hn_tpl_list *list, const hn_tval *item)
{
    HN_TRY(hn_tpl_step(r, 1));
    if (list->n == list->room) {
        const size_t room = list->room ? 2 * list->room : 4;
        HN_TRY(grow(r, &list->at, list->n, room));
        list->room = room;
    }
    list->at[list->n++] = *item;
    return HN_OK;
}

hn_status hn_tv_pair(hn_tpl_run *r, const hn_tval *a, const hn_tval *b, hn_tval *out)
{
    HN_TRY(hn_tv_list_new(r, HN_TV_TUPLE, out));
    HN_TRY(hn_tv_list_add(r, out->as.list, a));
    return hn_tv_list_add(r, out->as.list, b);
}

hn_status hn_tv_dict_new(hn_tpl_run *r, hn_tval *out)
{
    *out = (hn_tval){ .kind = HN_TV_DICT, .as.dict = hn_tpl_new(r, sizeof(hn_tpl_dict)) };
    return out->as.dict ? HN_OK : HN_ERR_MEMORY;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static uint64_t hash_number(double d)
{
    if (d >= -9.2e18 && d <= 9.2e18 && d == floor(d))
        return mix(1, (uint64_t)(int64_t)d);
    uint64_t bits = 0;
    memcpy(&bits, &d, sizeof bits);
    return mix(2, bits);
}

/* Equal values have equal hashes: 1, 1.0 and true. */
hn_status hn_tv_hash(hn_tpl_run *r, const hn_tval *v, uint64_t *out)
{
    switch (v->kind) {
    case HN_TV_BOOL:
    case HN_TV_INT:
        *out = mix(1, (uint64_t)hn_tv_integer(v));
        return HN_OK;
    case HN_TV_FLOAT:
        *out = hash_number(v->as.number);
        return HN_OK;
    case HN_TV_TEXT: {
        uint64_t h = 14695981039346656037u;
        for (size_t i = 0; i < v->as.text.bytes; i++)
            h = (h ^ (unsigned char)v->as.text.text[i]) * 1099511628211u;
        *out = mix(3, h);
        return hn_tpl_charge(r, v->as.text.bytes);
    }
    case HN_TV_TUPLE: {
        *out = 4;
        HN_TRY(hn_tpl_enter(r));
        for (size_t i = 0; i < v->as.list->n; i++) {
            uint64_t item = 0;
            HN_TRY(hn_tv_hash(r, &v->as.list->at[i], &item));
            *out = mix(*out, item);
        }
        hn_tpl_leave(r);
        return HN_OK;
    }
    case HN_TV_LIST:
    case HN_TV_DICT:
    case HN_TV_VIEW:
        return hn_fail(HN_ERR_FORMAT, "unhashable type: '%s'", hn_tv_type(v));
    default:
        *out = mix(5, (uint64_t)v->kind);
        return HN_OK;
    }
}

static hn_status find(hn_tpl_run *r, const hn_tpl_dict *d, const hn_tval *key, uint64_t hash,
                      size_t *at)
{
    bool same = false;
    if (!d->index) {
        for (*at = 0; *at < d->n; ++*at) {
            HN_TRY(hn_tv_equal(r, &d->keys[*at], key, &same));
            if (same)
                return HN_OK;
        }
        return HN_OK;
    }
    for (size_t slot = hash & (d->index_room - 1); d->index[slot];
         slot = (slot + 1) & (d->index_room - 1)) {
        *at = d->index[slot] - 1;
        HN_TRY(hn_tv_equal(r, &d->keys[*at], key, &same));
        if (same)
            return HN_OK;
    }
    *at = d->n;
    return HN_OK;
}

hn_status hn_tv_dict_get(hn_tpl_run *r, const hn_tpl_dict *d, const hn_tval *key, hn_tval **out)
{
    uint64_t hash = 0;
    size_t at = 0;
    *out = NULL;
    if (d->index || (key->kind != HN_TV_TEXT && !hn_tv_is_integer(key)))
        HN_TRY(hn_tv_hash(r, key, &hash));
    HN_TRY(find(r, d, key, hash, &at));
    if (at < d->n)
        *out = &d->values[at];
    return HN_OK;
}

static void index_put(hn_tpl_dict *d, uint64_t hash, size_t at)
{
    size_t slot = hash & (d->index_room - 1);
    while (d->index[slot])
        slot = (slot + 1) & (d->index_room - 1);
    d->index[slot] = (uint32_t)(at + 1);
}

static hn_status grow_dict(hn_tpl_run *r, hn_tpl_dict *d)
{
    const size_t room = d->room ? 2 * d->room : SMALL_DICT;
    HN_REQUIRE(room < UINT32_MAX / 4, HN_ERR_MEMORY, "a dict of more than %zu items", d->n);
    HN_TRY(grow(r, &d->keys, d->n, room));
    HN_TRY(grow(r, &d->values, d->n, room));
    d->room = room;
    if (room <= SMALL_DICT)
        return HN_OK;
    d->index = hn_tpl_new(r, 2 * room * sizeof *d->index);
    if (!d->index)
        return HN_ERR_MEMORY;
    d->index_room = 2 * room;
    for (size_t i = 0; i < d->n; i++) {
        uint64_t hash = 0;
        HN_TRY(hn_tv_hash(r, &d->keys[i], &hash));
        index_put(d, hash, i);
    }
    return HN_OK;
}

hn_status hn_tv_dict_set(hn_tpl_run *r, hn_tpl_dict *d, const hn_tval *key,
                         const hn_tval *value)
{
    uint64_t hash = 0;
    size_t at = 0;
    HN_TRY(hn_tpl_step(r, 1));
    HN_TRY(hn_tv_hash(r, key, &hash));
    HN_TRY(find(r, d, key, hash, &at));
    if (at < d->n) {
        d->values[at] = *value;
        return HN_OK;
    }
    if (d->n == d->room)
        HN_TRY(grow_dict(r, d));
    d->keys[d->n] = *key;
    d->values[d->n] = *value;
    if (d->index)
        index_put(d, hash, d->n);
    d->n++;
    return HN_OK;
}

hn_status hn_tv_dict_merge(hn_tpl_run *r, hn_tpl_dict *d, const hn_tval *from)
{
    if (from->kind == HN_TV_DICT) {
        for (size_t i = 0; i < from->as.dict->n; i++)
            HN_TRY(hn_tv_dict_set(r, d, &from->as.dict->keys[i], &from->as.dict->values[i]));
        return HN_OK;
    }
    hn_tpl_iter it;
    hn_tval item, pair;
    bool done = false;
    HN_TRY(hn_tv_iter(r, from, &it));
    for (size_t i = 0;; i++) {
        HN_TRY(hn_tv_next(r, &it, &item, &done));
        if (done)
            return HN_OK;
        HN_TRY(hn_tv_collect(r, &item, &pair));
        HN_REQUIRE(pair.as.list->n == 2, HN_ERR_FORMAT,
                   "dictionary update sequence element #%zu has length %zu; 2 is required", i,
                   pair.as.list->n);
        HN_TRY(hn_tv_dict_set(r, d, &pair.as.list->at[0], &pair.as.list->at[1]));
    }
}

hn_status hn_tv_undefined(hn_tpl_run *r, const char *hint, const hn_tval *owner,
                          const hn_tval *name, hn_tval *out)
{
    hn_tpl_undefined *u = hn_tpl_new(r, sizeof *u);
    if (!u)
        return HN_ERR_MEMORY;
    u->hint = hint;
    u->owner = owner ? hn_tv_type(owner) : NULL;
    if (name)
        u->name = *name;
    *out = (hn_tval){ .kind = HN_TV_UNDEFINED, .as.undefined = u };
    return HN_OK;
}

hn_status hn_tv_undefined_error(const hn_tval *undefined)
{
    const hn_tpl_undefined *u = undefined->as.undefined;
    const hn_tpl_text name = u->name.as.text;
    if (u->hint)
        return hn_fail(HN_ERR_FORMAT, "%s", u->hint);
    const bool is_none = u->owner && !strcmp(u->owner, "NoneType");
    if (u->name.kind != HN_TV_TEXT)
        return hn_fail(HN_ERR_FORMAT, "%s%s has no such element", is_none ? "None" : u->owner,
                       is_none ? "" : " object");
    const int bytes = (int)(name.bytes < 200 ? name.bytes : 200);
    if (!u->owner)
        return hn_fail(HN_ERR_FORMAT, "'%.*s' is undefined", bytes, name.text);
    return hn_fail(HN_ERR_FORMAT, "'%s%s' has no attribute '%.*s'", is_none ? "None" : u->owner,
                   is_none ? "" : " object", bytes, name.text);
}

/* Of equal keys the last counts, at the place of the first, as in Python. */
hn_status hn_tv_from_json(hn_tpl_run *r, const hn_json *json, hn_tval *out)
{
    hn_tval item;
    switch (json->kind) {
    case HN_JSON_NULL:
        *out = hn_tv_none();
        return HN_OK;
    case HN_JSON_BOOL:
        *out = hn_tv_bool(json->as.boolean);
        return HN_OK;
    case HN_JSON_INT:
        *out = hn_tv_int(json->as.integer);
        return HN_OK;
    case HN_JSON_DOUBLE:
        *out = hn_tv_float(json->as.number);
        return HN_OK;
    case HN_JSON_STRING:
        *out = hn_tv_text(json->as.string.text, json->as.string.bytes);
        return HN_OK;
    case HN_JSON_ARRAY:
        HN_TRY(hn_tv_list_new(r, HN_TV_LIST, out));
        for (const hn_json *child = json->as.children.first; child; child = child->next) {
            HN_TRY(hn_tv_from_json(r, child, &item));
            HN_TRY(hn_tv_list_add(r, out->as.list, &item));
        }
        return HN_OK;
    case HN_JSON_OBJECT:
        HN_TRY(hn_tv_dict_new(r, out));
        for (const hn_json *child = json->as.children.first; child; child = child->next) {
            const hn_tval key = hn_tv_text(child->key, (size_t)child->key_bytes);
            HN_TRY(hn_tv_from_json(r, child, &item));
            HN_TRY(hn_tv_dict_set(r, out->as.dict, &key, &item));
        }
        return HN_OK;
    }
    return hn_fail(HN_ERR_ARGUMENT, "a JSON value of an unknown kind");
}
