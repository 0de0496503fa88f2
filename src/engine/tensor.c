/* Element types by name, for hosts that have only floats. */
#include "engine/engine.h"

#include <string.h>

static hn_status full_type(const char *type, int32_t rank, const int64_t *dim, hn_type *out)
{
    hn_dtype dtype = HN_F32;
    HN_REQUIRE(type && (dim || !rank), HN_ERR_ARGUMENT, "no type or shape given");
    HN_TRY(hn_dtype_parse(type, strlen(type), &dtype));
    return hn_type_make(out, dtype, rank, dim);
}

const char *hn_tensor_type(int32_t i)
{
    HN_ENTER();
    return i >= 0 && i < HN_N_DTYPES ? hn_dtype_name((hn_dtype)i) : NULL;
}

hn_status hn_tensor_bytes(const char *type, int32_t rank, const int64_t *dim, size_t *out)
{
    HN_ENTER();
    hn_type full;
    HN_REQUIRE(out, HN_ERR_ARGUMENT, "no result given");
    *out = 0;
    HN_TRY(full_type(type, rank, dim, &full));
    *out = hn_type_bytes(&full);
    return HN_OK;
}

hn_status hn_tensor_encode(const char *type, int32_t rank, const int64_t *dim, const float *from, void *to)
{
    HN_ENTER();
    hn_type full;
    HN_REQUIRE(from && to, HN_ERR_ARGUMENT, "no memory given");
    HN_TRY(full_type(type, rank, dim, &full));
    const hn_format *format = hn_dtype_format(full.dtype);
    if (format) /* rows are whole blocks, so all rows are one run */
        return hn_format_encode(format, from, hn_count(&full), to, NULL);
    const hn_tensor out = hn_tensor_at(&full, to);
    for (int64_t i = 0; i < hn_count(&full); i++)
        hn_set(&out, i, (double)from[i]);
    return HN_OK;
}

hn_status hn_tensor_decode(const char *type, int32_t rank, const int64_t *dim, const void *from, float *to)
{
    HN_ENTER();
    hn_type full;
    HN_REQUIRE(from && to, HN_ERR_ARGUMENT, "no memory given");
    HN_TRY(full_type(type, rank, dim, &full));
    const hn_format *format = hn_dtype_format(full.dtype);
    if (format) {
        format->decode(from, hn_count(&full), to);
        return HN_OK;
    }
    hn_tensor in = hn_tensor_at(&full, NULL);
    memcpy(&in.data, &from, sizeof from); /* read only */
    for (int64_t i = 0; i < hn_count(&full); i++)
        to[i] = (float)hn_get(&in, i);
    return HN_OK;
}
