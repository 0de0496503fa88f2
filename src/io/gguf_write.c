/* A GGUF v3 header, laid out in memory; the writer then knows every place. */
#include "base/bytes.h"
#include "base/str.h"
#include "io/encoding.h"
#include "io/gguf_part.h"
#include "io/weights_writer.h"
#include "quant/gguf_type.h"

#include <string.h>

enum { MAX_NAME = 63 /* ggml keeps names in 64 bytes */ };

static void add_u32(hn_str *to, uint32_t value)
{
    char bytes[4];
    hn_store_32(bytes, value);
    hn_str_add_bytes(to, bytes, sizeof bytes);
}

static void add_u64(hn_str *to, uint64_t value)
{
    char bytes[8];
    hn_store_64(bytes, value);
    hn_str_add_bytes(to, bytes, sizeof bytes);
}

static void add_text(hn_str *to, const char *text)
{
    add_u64(to, strlen(text));
    hn_str_add(to, text);
}

static void add_value(hn_str *to, const hn_meta_value *value)
{
    add_text(to, value->key);
    if (value->is_array)
        add_u32(to, HN_META_ARRAY);
    add_u32(to, value->type);
    if (value->is_array)
        add_u64(to, value->n);
    hn_str_add_bytes(to, (const char *)value->data, value->bytes);
}

static hn_status type_of(const char *path, const hn_weight_entry *e, const hn_gguf_type **out)
{
    const uint32_t id = e->type.dtype < HN_N_DTYPES ? hn_gguf_id_of(e->type.dtype) : UINT32_MAX;
    *out = id != UINT32_MAX ? hn_gguf_type_of(id)
           : e->encoding    ? hn_gguf_type_named(e->encoding)
                            : NULL;
    HN_REQUIRE(*out && (*out)->block_bytes, HN_ERR_UNSUPPORTED,
               "%s: tensor %s: GGUF has no type for %s", path, e->name,
               e->type.dtype < HN_N_DTYPES ? hn_dtype_name(e->type.dtype) : e->encoding);
    return HN_OK;
}

static hn_status add_info(hn_str *to, const char *path, const hn_weight_entry *e,
                          hn_file_place *place)
{
    const hn_gguf_type *type;
    const int rank = e->type.rank ? e->type.rank : 1;
    HN_REQUIRE(strlen(e->name) <= MAX_NAME, HN_ERR_UNSUPPORTED,
               "%s: tensor %s: a name of %zu bytes: GGUF readers take at most %d", path, e->name,
               strlen(e->name), MAX_NAME);
    HN_REQUIRE(rank <= 4, HN_ERR_UNSUPPORTED, "%s: tensor %s: %d dimensions: GGUF has at most 4",
               path, e->name, rank);
    HN_TRY(type_of(path, e, &type));
    add_text(to, e->name);
    add_u32(to, (uint32_t)rank);
    uint64_t elements = 1;
    for (int i = rank - 1; i >= 0; i--) {
        const int64_t dim = e->type.rank ? e->type.dim[i] : 1;
        add_u64(to, (uint64_t)dim);
        elements *= (uint64_t)dim;
    }
    HN_REQUIRE(hn_last_dim(&e->type) % type->block_elements == 0, HN_ERR_SHAPE,
               "%s: tensor %s: rows of %lld are no multiple of %s's blocks of %d", path, e->name,
               (long long)hn_last_dim(&e->type), type->name, type->block_elements);
    add_u32(to, type->id);
    add_u64(to, place->at);
    place->bytes = elements / (uint64_t)type->block_elements * (uint64_t)type->block_bytes;
    return HN_OK;
}

static uint64_t round_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

static hn_status write_header(hn_str *to, const char *path, const hn_meta *meta,
                              const hn_weight_entry *entries, size_t n, hn_file_place *places)
{
    int64_t alignment;
    HN_TRY(hn_meta_int(meta, "general.alignment", HN_GGUF_ALIGNMENT, &alignment));
    HN_REQUIRE(alignment >= HN_GGUF_MIN_ALIGNMENT && alignment <= HN_GGUF_MAX_ALIGNMENT &&
                   (alignment & (alignment - 1)) == 0,
               HN_ERR_ARGUMENT, "%s: general.alignment is %lld: expected a power of two from 8 on", path,
               (long long)alignment);
    hn_str_add(to, "GGUF");
    add_u32(to, 3);
    add_u64(to, n);
    add_u64(to, meta->n);
    for (size_t i = 0; i < meta->n; i++)
        add_value(to, &meta->values[i]);
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        places[i].at = at;
        HN_TRY(add_info(to, path, &entries[i], &places[i]));
        HN_REQUIRE(places[i].bytes < INT64_MAX / 2 && at < INT64_MAX / 2, HN_ERR_SHAPE,
                   "%s: tensor %s: the file would be larger than any can be", path,
                   entries[i].name);
        at = round_up(at + places[i].bytes, (uint64_t)alignment);
    }
    while (to->length % (size_t)alignment && to->status == HN_OK)
        hn_str_add_char(to, '\0');
    HN_TRY(hn_str_status(to));
    for (size_t i = 0; i < n; i++)
        places[i].at += to->length;
    places[n].at = at + to->length; /* the end, padded */
    return HN_OK;
}

hn_status hn_gguf_create(hn_heap *heap, hn_sink to, const hn_meta *meta,
                         const hn_weight_entry *entries, size_t n, hn_weights_writer **out)
{
    *out = NULL;
    hn_file_place *places = hn_alloc_array(heap, HN_TAG_FILE, n + 1, sizeof *places);
    if (!places)
        return HN_ERR_MEMORY;
    hn_str header = hn_str_on(heap);
    hn_status status = write_header(&header, to.path, meta, entries, n, places);
    if (status == HN_OK)
        status = hn_weights_writer_open(heap, to, (hn_span){ header.text, header.length },
                                        places, n, places[n].at, out);
    hn_str_free(&header);
    hn_free(heap, places);
    return status;
}
