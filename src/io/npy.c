/* The whole file is read, and its data copied out of it in the order of rows; where columns come first they are
 * turned around on the way. */
#include "io/npy.h"

#include "base/file.h"
#include "io/npy_header.h"

#include <inttypes.h>
#include <string.h>

/* From column-major to row-major: walks the row-major elements and keeps the other's offset. */
static void transpose(const hn_npy *array, const uint8_t *from, uint8_t *to)
{
    const size_t size = hn_dtype_bytes(array->dtype);
    const size_t count = array->bytes / size;
    size_t step[HN_MAX_RANK] = { 0 }, offset = 0;
    int64_t index[HN_MAX_RANK] = { 0 };
    for (int i = 0; i < array->rank; i++)
        step[i] = i ? step[i - 1] * (size_t)array->dim[i - 1] : size;
    for (size_t e = 0; e < count; e++) {
        memcpy(to + e * size, from + offset, size);
        for (int i = array->rank - 1; i >= 0; i--) {
            offset += step[i];
            if (++index[i] < array->dim[i])
                break;
            offset -= step[i] * (size_t)array->dim[i];
            index[i] = 0;
        }
    }
}

static hn_status check_bools(const char *name, const hn_npy *array)
{
    const uint8_t *data = array->data;
    for (size_t i = 0; array->is_bool && i < array->bytes; i++)
        HN_REQUIRE(data[i] <= 1, HN_ERR_FORMAT, "%s: boolean %zu is %d: expected 0 or 1", name,
                   i, data[i]);
    return HN_OK;
}

/* The elements are little endian in the file and here. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a big-endian port swaps bytes here");

hn_status hn_npy_parse(hn_heap *heap, const char *name, const void *file, size_t bytes,
                       hn_npy *out)
{
    *out = (hn_npy){ 0 };
    hn_npy_header header;
    HN_TRY(hn_npy_read_header(name, file, bytes, &header));
    hn_npy *array = &header.array;
    const size_t found = bytes - header.data_at;
    HN_REQUIRE(found == array->bytes, HN_ERR_FORMAT, "%s: data: expected %zu bytes, found %zu",
               name, array->bytes, found);
    array->heap = heap;
    array->data = hn_alloc(heap, HN_TAG_FILE, array->bytes);
    if (!array->data)
        return hn_fail_within(HN_ERR_MEMORY, "%s: ", name);
    const uint8_t *from = (const uint8_t *)file + header.data_at;
    if (header.is_fortran && array->rank > 1)
        transpose(array, from, array->data);
    else
        memcpy(array->data, from, array->bytes);
    const hn_status status = check_bools(name, array);
    if (status != HN_OK) {
        hn_npy_free(array);
        return status;
    }
    *out = *array;
    return HN_OK;
}

hn_status hn_npy_read(hn_heap *heap, const char *path, hn_npy *out)
{
    *out = (hn_npy){ 0 };
    void *file = NULL;
    size_t bytes = 0;
    HN_TRY(hn_file_read(heap, path, SIZE_MAX / 2, &file, &bytes));
    const hn_status status = hn_npy_parse(heap, path, file, bytes, out);
    hn_free(heap, file);
    return status;
}

hn_status hn_npy_write(hn_sink to, const hn_npy *array)
{
    HN_REQUIRE(array->rank >= 0 && array->rank <= HN_MAX_RANK && !hn_is_block(array->dtype),
               HN_ERR_ARGUMENT, "%s: %s of rank %d cannot be written", to.path,
               hn_dtype_name(array->dtype), array->rank);
    uint64_t bytes = hn_dtype_bytes(array->dtype);
    for (int i = 0; i < array->rank; i++) {
        const int64_t dim = array->dim[i];
        HN_REQUIRE(dim >= 0 && (dim == 0 || bytes <= INT64_MAX / (uint64_t)dim),
                   HN_ERR_ARGUMENT, "%s: dimension %d is %" PRId64, to.path, i, dim);
        bytes *= (uint64_t)dim;
    }
    HN_REQUIRE(bytes == array->bytes && (array->data || !bytes), HN_ERR_ARGUMENT,
               "%s: data of %zu bytes: expected %" PRIu64, to.path, array->bytes, bytes);
    uint8_t header[HN_NPY_HEADER_ROOM];
    size_t header_bytes = 0;
    const hn_status status = hn_npy_make_header(array, header, &header_bytes);
    if (status != HN_OK)
        return hn_fail_within(status, "%s: ", to.path);
    const hn_span spans[] = { { header, header_bytes }, { array->data, array->bytes } };
    return hn_file_write(to, spans, 2);
}

void hn_npy_free(hn_npy *array)
{
    if (array->heap)
        hn_free(array->heap, array->data);
    *array = (hn_npy){ 0 };
}
