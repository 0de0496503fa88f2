/* Every value is bytes as GGUF has them, and its numbers are read out of these when they are asked for: a file's
 * table costs nothing but its keys, and what was read is written back unchanged. A value set is one allocation
 * that belongs to it; one that is borrowed points into the file. */
#include "base/meta.h"

#include "base/bytes.h"
#include "base/rng.h"

#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} types[HN_N_META_TYPES] = {
#define HN_META_ROW(upper, lower, bytes) { #lower, bytes },
    HN_META_LIST(HN_META_ROW)
#undef HN_META_ROW
};

const char *hn_meta_type_name(hn_meta_type type)
{
    return (unsigned)type < HN_N_META_TYPES ? types[type].name : "unknown";
}

size_t hn_meta_type_bytes(hn_meta_type type)
{
    return types[type].bytes;
}

hn_meta hn_meta_on(hn_heap *heap, const char *name)
{
    return (hn_meta){ .heap = heap, .name = name };
}

static void release(hn_meta *meta, hn_meta_value *value)
{
    hn_free(meta->heap, (void *)(uintptr_t)value->key);
    if (value->is_owned)
        hn_free(meta->heap, (void *)(uintptr_t)value->data);
}

void hn_meta_free(hn_meta *meta)
{
    for (size_t i = 0; i < meta->n; i++)
        release(meta, &meta->values[i]);
    hn_free(meta->heap, meta->values);
    *meta = hn_meta_on(meta->heap, meta->name);
}

static hn_meta_value *find(const hn_meta *meta, const char *key)
{
    const uint64_t hash = hn_hash_text(key);
    for (size_t i = 0; i < meta->n; i++)
        if (meta->values[i].hash == hash && !strcmp(meta->values[i].key, key))
            return &meta->values[i];
    return NULL;
}

const hn_meta_value *hn_meta_find(const hn_meta *meta, const char *key)
{
    return find(meta, key);
}

/* Reading. */

static int64_t load_int(const uint8_t *at, hn_meta_type type, bool *fits)
{
    *fits = true;
    switch (type) {
    case HN_META_U8: return at[0];
    case HN_META_I8: return (int8_t)at[0];
    case HN_META_U16: return hn_load_16(at);
    case HN_META_I16: return (int16_t)hn_load_16(at);
    case HN_META_U32: return hn_load_32(at);
    case HN_META_I32: return (int32_t)hn_load_32(at);
    case HN_META_I64: return (int64_t)hn_load_64(at);
    case HN_META_U64: *fits = hn_load_64(at) <= INT64_MAX; return (int64_t)hn_load_64(at);
    default: *fits = false; return 0;
    }
}

static double load_double(const uint8_t *at, hn_meta_type type, bool *fits)
{
    *fits = true;
    if (type == HN_META_F32) {
        const uint32_t bits = hn_load_32(at);
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    if (type == HN_META_F64) {
        const uint64_t bits = hn_load_64(at);
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    return (double)load_int(at, type, fits);
}

static hn_status wrong_kind(const hn_meta *meta, const hn_meta_value *value, const char *want)
{
    return hn_fail(HN_ERR_FORMAT, "%s: key %s: expected %s, found %s%s", meta->name, value->key,
                   want, value->is_array ? "an array of " : "", hn_meta_type_name(value->type));
}

hn_status hn_meta_int(const hn_meta *meta, const char *key, int64_t otherwise, int64_t *out)
{
    const hn_meta_value *value = find(meta, key);
    *out = otherwise;
    if (!value)
        return HN_OK;
    bool fits = false;
    const int64_t found = value->is_array ? 0 : load_int(value->data, value->type, &fits);
    if (!fits)
        return wrong_kind(meta, value, "an integer");
    *out = found;
    return HN_OK;
}

hn_status hn_meta_double(const hn_meta *meta, const char *key, double otherwise, double *out)
{
    const hn_meta_value *value = find(meta, key);
    *out = otherwise;
    if (!value)
        return HN_OK;
    bool fits = false;
    const double found = value->is_array ? 0 : load_double(value->data, value->type, &fits);
    if (!fits)
        return wrong_kind(meta, value, "a number");
    *out = found;
    return HN_OK;
}

hn_status hn_meta_bool(const hn_meta *meta, const char *key, bool otherwise, bool *out)
{
    const hn_meta_value *value = find(meta, key);
    *out = otherwise;
    if (!value)
        return HN_OK;
    if (value->is_array || value->type != HN_META_BOOL)
        return wrong_kind(meta, value, "a bool");
    *out = value->data[0] != 0;
    return HN_OK;
}

static hn_span string_at(const uint8_t *at)
{
    return (hn_span){ at + 8, (size_t)hn_load_64(at) };
}

hn_status hn_meta_string(const hn_meta *meta, const char *key, hn_span *out)
{
    const hn_meta_value *value = find(meta, key);
    *out = (hn_span){ NULL, 0 };
    if (!value)
        return HN_OK;
    if (value->is_array || value->type != HN_META_STRING)
        return wrong_kind(meta, value, "a string");
    *out = string_at(value->data);
    return HN_OK;
}

hn_status hn_meta_text(const hn_meta *meta, const char *key, char **out)
{
    hn_span text;
    *out = NULL;
    HN_TRY(hn_meta_string(meta, key, &text));
    if (!text.data)
        return HN_OK;
    *out = hn_alloc(meta->heap, HN_TAG_TEXT, text.bytes + 1);
    if (!*out)
        return HN_ERR_MEMORY;
    memcpy(*out, text.data, text.bytes);
    return HN_OK;
}

static hn_status want(const hn_meta *meta, const char *key)
{
    HN_REQUIRE(find(meta, key), HN_ERR_FORMAT, "%s: key %s is missing", meta->name, key);
    return HN_OK;
}

hn_status hn_meta_want_int(const hn_meta *meta, const char *key, int64_t *out)
{
    *out = 0;
    HN_TRY(want(meta, key));
    return hn_meta_int(meta, key, 0, out);
}

hn_status hn_meta_want_double(const hn_meta *meta, const char *key, double *out)
{
    *out = 0;
    HN_TRY(want(meta, key));
    return hn_meta_double(meta, key, 0, out);
}

hn_status hn_meta_want_string(const hn_meta *meta, const char *key, hn_span *out)
{
    *out = (hn_span){ NULL, 0 };
    HN_TRY(want(meta, key));
    return hn_meta_string(meta, key, out);
}

hn_status hn_meta_array(const hn_meta *meta, const char *key, hn_meta_type type,
                        const hn_meta_value **out)
{
    const hn_meta_value *value = find(meta, key);
    *out = NULL;
    if (!value)
        return HN_OK;
    HN_REQUIRE(value->is_array && value->type == type, HN_ERR_FORMAT,
               "%s: key %s: expected an array of %s, found %s%s", meta->name, key,
               hn_meta_type_name(type), value->is_array ? "an array of " : "",
               hn_meta_type_name(value->type));
    *out = value;
    return HN_OK;
}

int64_t hn_meta_item_int(const hn_meta_value *value, uint64_t i)
{
    bool fits;
    const int64_t item = load_int(value->data + i * types[value->type].bytes, value->type, &fits);
    return fits ? item : 0;
}

double hn_meta_item_double(const hn_meta_value *value, uint64_t i)
{
    bool fits;
    const double item =
        load_double(value->data + i * types[value->type].bytes, value->type, &fits);
    return fits ? item : 0;
}

hn_span hn_meta_next_string(const hn_meta_value *value, size_t *cursor)
{
    const hn_span text = string_at(value->data + *cursor);
    *cursor += 8 + text.bytes;
    return text;
}

/* Writing. */

static hn_meta_value *slot_for(hn_meta *meta, const char *key)
{
    hn_meta_value *old = find(meta, key);
    if (old)
        return old;
    if (meta->n == meta->room) {
        const size_t room = meta->room ? 2 * meta->room : 32;
        void *values = hn_realloc_array(meta->heap, HN_TAG_FILE, meta->values, room,
                                        sizeof *meta->values);
        if (!values)
            return NULL;
        meta->values = values;
        meta->room = room;
    }
    char *own_key = hn_strdup(meta->heap, HN_TAG_FILE, key);
    if (!own_key)
        return NULL;
    meta->values[meta->n] = (hn_meta_value){ .key = own_key, .hash = hn_hash_text(key) };
    return &meta->values[meta->n++];
}

/* Gives `data`, which is on the heap, to the value of this key; frees it on failure. */
static hn_status take(hn_meta *meta, const char *key, const hn_meta_value *shape, uint8_t *data)
{
    hn_meta_value *slot = data ? slot_for(meta, key) : NULL;
    if (!slot) {
        hn_free(meta->heap, data);
        return HN_ERR_MEMORY;
    }
    if (slot->is_owned)
        hn_free(meta->heap, (void *)(uintptr_t)slot->data);
    const hn_meta_value named = { .key = slot->key, .hash = slot->hash };
    *slot = *shape;
    slot->key = named.key;
    slot->hash = named.hash;
    slot->data = data;
    slot->is_owned = true;
    return HN_OK;
}

static void store_int(uint8_t *at, hn_meta_type type, int64_t value)
{
    switch (types[type].bytes) {
    case 1: at[0] = (uint8_t)value; break;
    case 2: hn_store_16(at, (uint16_t)value); break;
    case 4: hn_store_32(at, (uint32_t)value); break;
    default: hn_store_64(at, (uint64_t)value); break;
    }
}

static bool is_integer(hn_meta_type type)
{
    return type != HN_META_F32 && type != HN_META_F64 && type != HN_META_STRING &&
           type != HN_META_ARRAY && type != HN_META_BOOL;
}

/* Whether storing and loading give the value back. */
static bool holds(hn_meta_type type, int64_t value)
{
    uint8_t bytes[8];
    bool fits;
    store_int(bytes, type, value);
    return load_int(bytes, type, &fits) == value && fits;
}

static hn_status set_ints(hn_meta *meta, const char *key, hn_meta_value shape,
                          const int64_t *items)
{
    HN_REQUIRE(is_integer(shape.type), HN_ERR_ARGUMENT, "key %s: %s is no integer type", key,
               hn_meta_type_name(shape.type));
    const size_t size = types[shape.type].bytes;
    for (size_t i = 0; i < shape.n; i++)
        HN_REQUIRE(holds(shape.type, items[i]), HN_ERR_ARGUMENT, "key %s: %lld does not fit %s",
                   key, (long long)items[i], hn_meta_type_name(shape.type));
    uint8_t *data = hn_alloc_array(meta->heap, HN_TAG_FILE, shape.n, size);
    for (size_t i = 0; data && i < shape.n; i++)
        store_int(data + i * size, shape.type, items[i]);
    shape.bytes = shape.n * size;
    return take(meta, key, &shape, data);
}

hn_status hn_meta_set_int(hn_meta *meta, const char *key, hn_meta_type type, int64_t value)
{
    return set_ints(meta, key, (hn_meta_value){ .type = type, .n = 1 }, &value);
}

hn_status hn_meta_set_ints(hn_meta *meta, const char *key, hn_meta_type type,
                           const int64_t *items, size_t n)
{
    return set_ints(meta, key, (hn_meta_value){ .type = type, .is_array = true, .n = n }, items);
}

static void store_double(uint8_t *at, hn_meta_type type, double value)
{
    const float narrow = (float)value;
    uint32_t low;
    uint64_t wide;
    memcpy(&low, &narrow, sizeof low);
    memcpy(&wide, &value, sizeof wide);
    if (type == HN_META_F32)
        hn_store_32(at, low);
    else
        hn_store_64(at, wide);
}

static hn_status set_doubles(hn_meta *meta, const char *key, hn_meta_value shape,
                             const double *items)
{
    HN_REQUIRE(shape.type == HN_META_F32 || shape.type == HN_META_F64, HN_ERR_ARGUMENT,
               "key %s: %s is no floating-point type", key, hn_meta_type_name(shape.type));
    const size_t size = types[shape.type].bytes;
    uint8_t *data = hn_alloc_array(meta->heap, HN_TAG_FILE, shape.n, size);
    for (size_t i = 0; data && i < shape.n; i++)
        store_double(data + i * size, shape.type, items[i]);
    shape.bytes = shape.n * size;
    return take(meta, key, &shape, data);
}

hn_status hn_meta_set_double(hn_meta *meta, const char *key, hn_meta_type type, double value)
{
    return set_doubles(meta, key, (hn_meta_value){ .type = type, .n = 1 }, &value);
}

hn_status hn_meta_set_doubles(hn_meta *meta, const char *key, hn_meta_type type,
                              const double *items, size_t n)
{
    return set_doubles(meta, key, (hn_meta_value){ .type = type, .is_array = true, .n = n },
                       items);
}

static hn_status set_bytes(hn_meta *meta, const char *key, hn_meta_value shape, hn_span from)
{
    uint8_t *data = hn_alloc(meta->heap, HN_TAG_FILE, from.bytes);
    if (data && from.bytes)
        memcpy(data, from.data, from.bytes);
    shape.bytes = from.bytes;
    return take(meta, key, &shape, data);
}

hn_status hn_meta_set_bool(hn_meta *meta, const char *key, bool value)
{
    const uint8_t byte = value;
    return set_bytes(meta, key, (hn_meta_value){ .type = HN_META_BOOL, .n = 1 },
                     (hn_span){ &byte, 1 });
}

static hn_status set_strings(hn_meta *meta, const char *key, hn_meta_value shape,
                             const hn_span *items)
{
    size_t bytes = 0;
    for (size_t i = 0; i < shape.n; i++)
        bytes += 8 + items[i].bytes; /* the strings exist, so the sum fits */
    uint8_t *data = hn_alloc(meta->heap, HN_TAG_FILE, bytes), *at = data;
    for (size_t i = 0; data && i < shape.n; i++) {
        hn_store_64(at, items[i].bytes);
        if (items[i].bytes)
            memcpy(at + 8, items[i].data, items[i].bytes);
        at += 8 + items[i].bytes;
    }
    shape.bytes = bytes;
    return take(meta, key, &shape, data);
}

hn_status hn_meta_set_strings(hn_meta *meta, const char *key, const hn_span *items, size_t n)
{
    return set_strings(
        meta, key, (hn_meta_value){ .type = HN_META_STRING, .is_array = true, .n = n }, items);
}

hn_status hn_meta_set_string(hn_meta *meta, const char *key, hn_span text)
{
    return set_strings(meta, key, (hn_meta_value){ .type = HN_META_STRING, .n = 1 }, &text);
}

hn_status hn_meta_set_text(hn_meta *meta, const char *key, const char *text)
{
    return hn_meta_set_string(meta, key, (hn_span){ text, strlen(text) });
}

hn_status hn_meta_set_copy(hn_meta *meta, const hn_meta_value *value)
{
    const hn_meta_value shape = { .type = value->type, .is_array = value->is_array,
                                  .n = value->n };
    return set_bytes(meta, value->key, shape, (hn_span){ value->data, value->bytes });
}

void hn_meta_remove(hn_meta *meta, const char *key)
{
    hn_meta_value *value = find(meta, key);
    if (!value)
        return;
    release(meta, value);
    const size_t i = (size_t)(value - meta->values);
    memmove(value, value + 1, (meta->n - i - 1) * sizeof *value);
    meta->n--;
}

hn_status hn_meta_add_borrowed(hn_meta *meta, const hn_meta_value *value, size_t room,
                               size_t *used)
{
    HN_REQUIRE(!find(meta, value->key), HN_ERR_FORMAT, "%s: key %s comes twice", meta->name,
               value->key);
    HN_TRY(hn_meta_measure(meta, value, room, used));
    hn_meta_value *slot = slot_for(meta, value->key);
    if (!slot)
        return HN_ERR_MEMORY;
    const char *key = slot->key;
    const uint64_t hash = slot->hash;
    *slot = *value;
    slot->key = key;
    slot->hash = hash;
    slot->is_owned = false;
    slot->bytes = *used;
    return HN_OK;
}
