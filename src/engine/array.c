/* Arrays in files, for hosts. */
#include "engine/files.h"
#include "hone/array.h"
#include "io/npy.h"

#include <string.h>

struct hn_array {
    hn_heap *heap;
    hn_npy inner;
    hn_shape shape;
};

hn_status hn_array_write(const char *path, int32_t overwrite, const char *type, int32_t rank, const int64_t *dim, const void *data)
{
    HN_ENTER();
    HN_REQUIRE(path && type && (dim || !rank) && data, HN_ERR_ARGUMENT,
               "hn_array_write: expected path, type, shape and data, found NULL");
    HN_REQUIRE(rank >= 0 && rank <= HN_PUBLIC_MAX_RANK, HN_ERR_ARGUMENT,
               "hn_array_write: rank %d: expected 0 to %d", rank, HN_PUBLIC_MAX_RANK);
    hn_npy array = { .rank = rank, .data = (void *)(uintptr_t)data };
    HN_TRY(hn_dtype_parse(type, strlen(type), &array.dtype));
    array.bytes = hn_dtype_bytes(array.dtype);
    for (int i = 0; i < rank; i++) {
        array.dim[i] = dim[i];
        HN_REQUIRE(dim[i] >= 0 && (!dim[i] || array.bytes <= SIZE_MAX / 2 / (size_t)dim[i]),
                   HN_ERR_SHAPE, "hn_array_write: dimension %d is %lld", i, (long long)dim[i]);
        array.bytes *= (size_t)dim[i];
    }
    return hn_npy_write(hn_sink_over(path, overwrite), &array);
}

hn_status hn_array_read(hn_array **out, hn_engine *engine, const char *path)
{
    HN_ENTER();
    HN_REQUIRE(out && engine && path, HN_ERR_ARGUMENT, "hn_array_read: expected out, engine and path, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(engine));
    hn_array *a = hn_alloc(&engine->heap, HN_TAG_FILE, sizeof *a);
    if (!a)
        return HN_ERR_MEMORY;
    a->heap = &engine->heap;
    const hn_status status = hn_npy_read(a->heap, path, &a->inner);
    if (status != HN_OK) {
        hn_array_free(a);
        return status;
    }
    a->shape.rank = a->inner.rank;
    for (int i = 0; i < a->inner.rank; i++)
        a->shape.dim[i] = a->inner.dim[i];
    *out = a;
    return HN_OK;
}

void hn_array_free(hn_array *a)
{
    HN_ENTER();
    if (!a)
        return;
    hn_npy_free(&a->inner);
    hn_free(a->heap, a);
}

const char *hn_array_type(const hn_array *a)
{
    HN_ENTER();
    return a ? hn_dtype_name(a->inner.dtype) : "";
}

const hn_shape *hn_array_shape(const hn_array *a)
{
    HN_ENTER();
    return a ? &a->shape : NULL;
}

const void *hn_array_data(const hn_array *a, size_t *bytes)
{
    HN_ENTER();
    if (bytes)
        *bytes = a ? a->inner.bytes : 0;
    return a ? a->inner.data : NULL;
}
