/* A value that lies in somebody's file, measured and checked before a table holds it. */
#include "base/bytes.h"
#include "base/meta.h"

static hn_status measure_strings(const hn_meta *meta, const hn_meta_value *value, size_t room,
                                 size_t *used)
{
    size_t at = 0;
    for (uint64_t i = 0; i < value->n; i++) {
        const uint64_t length = room - at >= 8 ? hn_load_64(value->data + at) : UINT64_MAX;
        HN_REQUIRE(room - at >= 8 && length <= room - at - 8, HN_ERR_FORMAT,
                   "%s: cut off, or damaged: key %s: string %llu of %llu ends beyond the file",
                   meta->name, value->key, (unsigned long long)i + 1,
                   (unsigned long long)value->n);
        at += 8 + (size_t)length;
    }
    *used = at;
    return HN_OK;
}

hn_status hn_meta_measure(const hn_meta *meta, const hn_meta_value *value, size_t room,
                          size_t *used)
{
    *used = 0;
    HN_REQUIRE((unsigned)value->type < HN_N_META_TYPES && value->type != HN_META_ARRAY,
               HN_ERR_FORMAT, "%s: key %s: unknown value type %d", meta->name, value->key,
               (int)value->type);
    if (value->type == HN_META_STRING)
        return measure_strings(meta, value, room, used);
    const size_t size = hn_meta_type_bytes(value->type);
    HN_REQUIRE(value->n <= room / size, HN_ERR_FORMAT,
               "%s: cut off, or damaged: key %s: %llu items of %zu bytes end beyond the file",
               meta->name, value->key, (unsigned long long)value->n, size);
    *used = (size_t)value->n * size;
    for (size_t i = 0; value->type == HN_META_BOOL && i < *used; i++)
        HN_REQUIRE(value->data[i] <= 1, HN_ERR_FORMAT, "%s: key %s: a bool of value %d",
                   meta->name, value->key, value->data[i]);
    return HN_OK;
}
