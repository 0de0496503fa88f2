/* The header is written first, and its length decides where every tensor lies; it is padded with blanks, so data
 * begins at a multiple of eight. */
#include "base/bytes.h"
#include "base/json.h"
#include "io/encoding.h"
#include "io/weights_writer.h"

static hn_status add_metadata(hn_json_writer *json, const char *path, const hn_meta *meta)
{
    hn_json_key(json, "__metadata__");
    hn_json_begin_object(json);
    for (size_t i = 0; i < meta->n; i++) {
        char *text;
        const hn_status status = hn_meta_text(meta, meta->values[i].key, &text);
        HN_TRY(status == HN_ERR_MEMORY ? status : HN_OK);
        if (status != HN_OK)
            return hn_fail_within(HN_ERR_UNSUPPORTED, "%s: safetensors holds strings only: ",
                                  path);
        hn_json_key(json, meta->values[i].key);
        hn_json_add_string(json, text);
        hn_free(meta->heap, text);
    }
    hn_json_end_object(json);
    return HN_OK;
}

/* What a file called it, if that is the same thing (BOOL and U8 are one type here); or NULL. */
static const char *type_name(const hn_weight_entry *e)
{
    const char *known;
    int bytes;
    if (e->encoding && hn_dtype_of_safetensors(e->encoding) == e->type.dtype &&
        hn_safetensors_type(e->encoding, &known, &bytes) == HN_OK)
        return known;
    return e->type.dtype < HN_N_DTYPES ? hn_safetensors_name_of(e->type.dtype) : NULL;
}

static hn_status add_tensor(hn_json_writer *json, const char *path, const hn_weight_entry *e,
                            hn_file_place *place)
{
    const char *name = type_name(e);
    HN_REQUIRE(name, HN_ERR_UNSUPPORTED, "%s: tensor %s: safetensors has no type for %s", path,
               e->name, e->type.dtype < HN_N_DTYPES ? hn_dtype_name(e->type.dtype) : e->encoding);
    place->bytes = e->type.dtype < HN_N_DTYPES ? hn_type_bytes(&e->type) : e->bytes;
    HN_REQUIRE(place->bytes < INT64_MAX / 2 && place->at < INT64_MAX / 2, HN_ERR_SHAPE,
               "%s: tensor %s: the file would be larger than any can be", path, e->name);
    hn_json_key(json, e->name);
    hn_json_begin_object(json);
    hn_json_key(json, "dtype");
    hn_json_add_string(json, name);
    hn_json_key(json, "shape");
    hn_json_begin_array(json);
    for (int i = 0; i < e->type.rank; i++)
        hn_json_add_int(json, e->type.dim[i]);
    hn_json_end_array(json);
    hn_json_key(json, "data_offsets");
    hn_json_begin_array(json);
    hn_json_add_int(json, (int64_t)place->at);
    hn_json_add_int(json, (int64_t)(place->at + place->bytes));
    hn_json_end_array(json);
    hn_json_end_object(json);
    return HN_OK;
}

static hn_status write_header(hn_str *to, const char *path, const hn_meta *meta,
                              const hn_weight_entry *entries, size_t n, hn_file_place *places)
{
    hn_json_writer json = hn_json_write_to(to);
    uint64_t at = 0;
    hn_str_add_bytes(to, "\0\0\0\0\0\0\0", 8); /* the length, when it is known */
    hn_json_begin_object(&json);
    if (meta && meta->n)
        HN_TRY(add_metadata(&json, path, meta));
    for (size_t i = 0; i < n; i++) {
        places[i].at = at;
        HN_TRY(add_tensor(&json, path, &entries[i], &places[i]));
        at += places[i].bytes;
    }
    hn_json_end_object(&json);
    while (to->length % 8 && to->status == HN_OK)
        hn_str_add_char(to, ' ');
    HN_TRY(hn_str_status(to));
    hn_store_64(to->text, to->length - 8);
    for (size_t i = 0; i < n; i++)
        places[i].at += to->length;
    places[n].at = at + to->length;
    return HN_OK;
}

hn_status hn_safetensors_create(hn_heap *heap, hn_sink to, const hn_meta *meta,
                                const hn_weight_entry *entries, size_t n,
                                hn_weights_writer **out)
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
