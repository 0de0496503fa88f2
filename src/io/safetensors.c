/* Tensors are listed in the header's order and then looked at by their place: each must begin where the one before
 * ends, and the last end with the file. So nothing is hidden in a gap and nothing lies in two. */
#include "io/safetensors.h"

#include "base/bytes.h"
#include "base/json.h"
#include "io/encoding.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100 << 20, MAX_KEYS = 1 << 14 };

static hn_status read_metadata(hn_safetensors *file, const hn_json *values)
{
    HN_REQUIRE(values->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
               "%s: __metadata__: expected an object, found %s", file->path,
               hn_json_kind_text(values->kind));
    HN_REQUIRE(hn_json_count(values) <= MAX_KEYS, HN_ERR_FORMAT,
               "%s: __metadata__: %zu keys: expected at most %d", file->path,
               hn_json_count(values), MAX_KEYS);
    for (const hn_json *v = hn_json_first(values); v; v = v->next) {
        HN_REQUIRE(v->kind == HN_JSON_STRING, HN_ERR_FORMAT,
                   "%s: __metadata__: key %s: expected a string, found %s", file->path, v->key,
                   hn_json_kind_text(v->kind));
        HN_TRY(hn_meta_set_string(&file->meta, v->key,
                                  (hn_span){ hn_json_string(v), hn_json_bytes(v) }));
    }
    return HN_OK;
}

/* Where the tensor begins in the data section; its end must be where its size says. */
static hn_status read_offsets(const hn_safetensors *file, const hn_json *json,
                              hn_weight_entry *t, uint64_t data_bytes, uint64_t *begin)
{
    const hn_json *offsets = hn_json_get(json, "data_offsets");
    int64_t at[2];
    HN_REQUIRE(offsets && offsets->kind == HN_JSON_ARRAY && hn_json_count(offsets) == 2,
               HN_ERR_FORMAT, "%s: tensor %s: data_offsets: expected two integers", file->path,
               t->name);
    for (size_t i = 0; i < 2; i++)
        if (hn_json_want_int(hn_json_at(offsets, i), "data_offsets", &at[i]) != HN_OK)
            return hn_fail_within(HN_ERR_FORMAT, "%s: tensor %s: ", file->path, t->name);
    HN_REQUIRE(at[0] >= 0 && at[0] <= at[1], HN_ERR_FORMAT,
               "%s: tensor %s: data_offsets [%lld, %lld]", file->path, t->name,
               (long long)at[0], (long long)at[1]);
    HN_REQUIRE((uint64_t)at[1] <= data_bytes, HN_ERR_FORMAT,
               "%s: cut off: tensor %s: %llu bytes past the end of the file", file->path,
               t->name, (unsigned long long)((uint64_t)at[1] - data_bytes));
    HN_REQUIRE((uint64_t)(at[1] - at[0]) == t->bytes, HN_ERR_FORMAT,
               "%s: tensor %s: %lld bytes: its type and shape need %llu", file->path, t->name,
               (long long)(at[1] - at[0]), (unsigned long long)t->bytes);
    *begin = (uint64_t)at[0];
    return HN_OK;
}

static hn_status read_shape(const hn_safetensors *file, const hn_json *json, hn_weight_entry *t,
                            int element_bytes)
{
    const hn_json *shape = hn_json_get(json, "shape");
    HN_REQUIRE(shape && shape->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "%s: tensor %s: expected a shape", file->path, t->name);
    HN_REQUIRE(hn_json_count(shape) <= HN_MAX_RANK, HN_ERR_UNSUPPORTED,
               "%s: tensor %s: %zu dimensions: at most %d are supported", file->path, t->name,
               hn_json_count(shape), HN_MAX_RANK);
    int64_t bytes = element_bytes;
    for (const hn_json *d = hn_json_first(shape); d; d = d->next) {
        HN_REQUIRE(d->kind == HN_JSON_INT && hn_json_int(d) >= 0, HN_ERR_FORMAT,
                   "%s: tensor %s: dimension %d: expected an integer from 0 on", file->path,
                   t->name, t->type.rank + 1);
        t->type.dim[t->type.rank++] = hn_json_int(d);
        HN_REQUIRE(!__builtin_mul_overflow(bytes, hn_json_int(d), &bytes), HN_ERR_FORMAT,
                   "%s: tensor %s: its dimensions overflow", file->path, t->name);
    }
    t->bytes = (uint64_t)bytes;
    return HN_OK;
}

static hn_status read_tensor(hn_safetensors *file, const hn_json *json, hn_weight_entry *t,
                             const uint8_t *data, uint64_t data_bytes)
{
    const char *dtype;
    int element_bytes;
    uint64_t begin = 0;
    HN_REQUIRE(json->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
               "%s: tensor %s: expected an object, found %s", file->path, t->name,
               hn_json_kind_text(json->kind));
    for (const hn_json *v = hn_json_first(json); v; v = v->next)
        HN_REQUIRE(!strcmp(v->key, "dtype") || !strcmp(v->key, "shape") || !strcmp(v->key, "data_offsets"),
                   HN_ERR_UNSUPPORTED, "%s: tensor %s: field %s: expected dtype, shape and data_offsets alone", file->path,
                   t->name, v->key);
    if (hn_json_want_string(hn_json_get(json, "dtype"), "dtype", &dtype) != HN_OK)
        return hn_fail_within(HN_ERR_FORMAT, "%s: tensor %s: ", file->path, t->name);
    if (hn_safetensors_type(dtype, &t->encoding, &element_bytes) != HN_OK)
        return hn_fail_within(HN_ERR_UNSUPPORTED, "%s: tensor %s: ", file->path, t->name);
    HN_TRY(read_shape(file, json, t, element_bytes));
    HN_TRY(read_offsets(file, json, t, data_bytes, &begin));
    t->data = data + begin;
    const hn_type shape = t->type;
    t->type.dtype = HN_N_DTYPES;
    const hn_dtype known = hn_dtype_of_safetensors(dtype);
    if (known == HN_N_DTYPES || !t->bytes) /* what is empty can be listed, and that is all */
        return HN_OK;
    if (hn_type_make(&t->type, known, shape.rank, shape.dim) != HN_OK)
        return hn_fail_within(HN_ERR_FORMAT, "%s: tensor %s: ", file->path, t->name);
    return HN_OK;
}

static hn_status read_tensors(hn_safetensors *file, const hn_json *root, const uint8_t *data,
                              uint64_t data_bytes)
{
    file->tensors = hn_alloc_array(file->heap, HN_TAG_FILE, hn_json_count(root),
                                   sizeof *file->tensors);
    if (!file->tensors)
        return HN_ERR_MEMORY;
    for (const hn_json *v = hn_json_first(root); v; v = v->next) {
        if (!strcmp(v->key, "__metadata__")) {
            HN_TRY(read_metadata(file, v));
            continue;
        }
        HN_REQUIRE(*v->key && strlen(v->key) == (size_t)v->key_bytes, HN_ERR_FORMAT,
                   "%s: a tensor's name is empty or holds a NUL", file->path);
        hn_weight_entry *t = &file->tensors[file->n_tensors];
        t->name = hn_strdup(file->heap, HN_TAG_FILE, v->key);
        if (!t->name)
            return HN_ERR_MEMORY;
        file->n_tensors++;
        HN_TRY(read_tensor(file, v, t, data, data_bytes));
    }
    return HN_OK;
}

/* Of equal places the empty ones come first. */
static int by_place(const void *a, const void *b)
{
    const hn_weight_entry *const x = a, *const y = b;
    if (x->data != y->data)
        return x->data > y->data ? 1 : -1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static hn_status check_names(const hn_safetensors *file)
{
    hn_weights all = { .name = file->path, .entries = file->tensors, .n = file->n_tensors };
    const hn_status status = hn_weights_index(file->heap, &all);
    hn_free(file->heap, all.index);
    return status;
}

static hn_status check_cover(const hn_safetensors *file, const uint8_t *data, uint64_t bytes)
{
    uint64_t at = 0;
    for (size_t i = 0; i < file->n_tensors; i++) {
        const hn_weight_entry *t = &file->tensors[i];
        const uint64_t begin = (uint64_t)(t->data - data);
        HN_REQUIRE(begin == at, HN_ERR_FORMAT,
                   "%s: tensor %s: begins at byte %llu of the data: expected %llu", file->path,
                   t->name, (unsigned long long)begin, (unsigned long long)at);
        at = begin + t->bytes;
    }
    HN_REQUIRE(at == bytes, HN_ERR_FORMAT, "%s: %llu bytes are left over after the tensors",
               file->path, (unsigned long long)(bytes - at));
    return HN_OK;
}

static hn_status read_header(hn_safetensors *file, const uint8_t *data, size_t bytes,
                             hn_json_text **text)
{
    HN_REQUIRE(bytes >= 8, HN_ERR_FORMAT, "%s: cut off: %zu bytes, expected a safetensors file",
               file->path, bytes);
    const uint64_t length = hn_load_64(data);
    HN_REQUIRE(length >= 2 && length <= MAX_HEADER, HN_ERR_FORMAT,
               "%s: not a safetensors file: a header of %llu bytes", file->path,
               (unsigned long long)length);
    HN_REQUIRE(bytes == 8 || data[8] == '{', HN_ERR_FORMAT,
               "%s: not a safetensors file: its header is no JSON object", file->path);
    HN_REQUIRE(length <= bytes - 8, HN_ERR_FORMAT,
               "%s: cut off: the header ends %llu bytes past the end of the file", file->path,
               (unsigned long long)(length - (bytes - 8)));
    HN_TRY(hn_json_read(file->heap, file->path, (const char *)data + 8, (size_t)length, text));
    HN_REQUIRE(hn_json_root(*text)->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
               "%s: the header: expected an object", file->path);
    const uint8_t *const section = data + 8 + length;
    const uint64_t rest = bytes - 8 - length;
    HN_TRY(read_tensors(file, hn_json_root(*text), section, rest));
    HN_TRY(check_names(file));
    if (file->n_tensors)
        qsort(file->tensors, file->n_tensors, sizeof *file->tensors, by_place);
    return check_cover(file, section, rest);
}

hn_status hn_safetensors_parse(hn_heap *heap, const char *name, const void *file, size_t bytes,
                               hn_safetensors *out)
{
    hn_json_text *text = NULL;
    out->heap = heap;
    if (!out->path)
        out->path = hn_strdup(heap, HN_TAG_FILE, name);
    if (!out->path)
        return HN_ERR_MEMORY;
    out->meta = hn_meta_on(heap, out->path);
    const hn_status status = read_header(out, file, bytes, &text);
    hn_json_free(text);
    return status;
}

hn_status hn_safetensors_open(hn_heap *heap, const char *path, hn_safetensors *out)
{
    *out = (hn_safetensors){ .heap = heap };
    HN_TRY(hn_map_file_open(&out->map, heap, path));
    return hn_safetensors_parse(heap, path, out->map.data, out->map.bytes, out);
}

void hn_safetensors_close(hn_safetensors *file)
{
    for (size_t i = 0; i < file->n_tensors; i++)
        hn_free(file->heap, (void *)(uintptr_t)file->tensors[i].name);
    if (file->heap) {
        hn_free(file->heap, file->tensors);
        hn_meta_free(&file->meta);
        hn_free(file->heap, file->path);
    }
    hn_map_file_close(&file->map);
    *file = (hn_safetensors){ 0 };
}
