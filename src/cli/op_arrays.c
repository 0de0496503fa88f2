/* Conversion goes through hn_get and hn_set, except to blocks, which are encoded row by row. */
#include "cli/op_arrays.h"

#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096, PRINTED = 64 };

/* FILE:TYPE: only a known type name after the last colon counts as one. */
static hn_status split(const char *argument, char path[PATH_BYTES], hn_dtype *dtype, bool *is_typed)
{
    const size_t length = strlen(argument);
    HN_REQUIRE(length < PATH_BYTES, HN_ERR_ARGUMENT, "file name too long");
    memcpy(path, argument, length + 1);
    char *colon = strrchr(path, ':');
    *is_typed = false;
    if (!colon || strchr(colon, '/'))
        return HN_OK;
    HN_TRY(hn_dtype_parse(colon + 1, strlen(colon + 1), dtype));
    *is_typed = true;
    *colon = 0;
    return HN_OK;
}

static hn_status encode(hn_heap *heap, const hn_tensor *from, const hn_tensor *to)
{
    const hn_format *format = hn_dtype_format(to->type.dtype);
    const int64_t row = hn_last_dim(&from->type), rows = hn_rows(&from->type);
    float *x = hn_alloc_array(heap, HN_TAG_FILE, (size_t)row, sizeof *x);
    hn_status status = x ? HN_OK : HN_ERR_MEMORY;
    for (int64_t r = 0; r < rows && status == HN_OK; r++) {
        for (int64_t i = 0; i < row; i++)
            x[i] = (float)hn_get(from, r * row + i);
        status = hn_format_encode(format, x, row,
                                  (char *)to->data + r * hn_format_bytes(format, row), NULL);
    }
    hn_free(heap, x);
    return status;
}

static hn_status check_integers(const hn_tensor *from, hn_dtype dtype)
{
    if (dtype != HN_I32 || hn_is_float(from->type.dtype))
        return HN_OK;
    for (int64_t i = 0; i < hn_count(&from->type); i++) {
        const int64_t value = hn_get_int(from, i);
        HN_REQUIRE(value >= INT32_MIN && value <= INT32_MAX, HN_ERR_ARGUMENT,
                   "element %lld is %lld: it does not fit i32", (long long)i, (long long)value);
    }
    return HN_OK;
}

static hn_status convert(hn_heap *heap, hn_npy *array, hn_dtype dtype)
{
    hn_type from_type, to_type;
    HN_TRY(hn_type_make(&from_type, array->dtype, array->rank, array->dim));
    HN_TRY(hn_type_make(&to_type, dtype, array->rank, array->dim));
    const hn_tensor from = hn_tensor_at(&from_type, array->data);
    HN_TRY(check_integers(&from, dtype));
    void *data = hn_alloc(heap, HN_TAG_FILE, hn_type_bytes(&to_type));
    if (!data)
        return HN_ERR_MEMORY;
    const hn_tensor to = hn_tensor_at(&to_type, data);
    hn_status status = HN_OK;
    if (hn_is_block(dtype))
        status = encode(heap, &from, &to);
    else
        hn_tensor_copy(&to, &from);
    if (status != HN_OK) {
        hn_free(heap, data);
        return status;
    }
    hn_free(array->heap, array->data);
    array->data = data;
    array->heap = heap;
    array->dtype = dtype;
    array->bytes = hn_type_bytes(&to_type);
    return HN_OK;
}

static hn_status check_array(const hn_npy *array)
{
    hn_type type;
    return hn_type_make(&type, array->dtype, array->rank, array->dim);
}

hn_status hn_op_array_read(hn_heap *heap, const char *argument, hn_npy *out)
{
    char path[PATH_BYTES];
    hn_dtype dtype = HN_F32;
    bool is_typed = false;
    HN_TRY(split(argument, path, &dtype, &is_typed));
    HN_TRY(hn_npy_read(heap, path, out));
    if (!is_typed)
        dtype = out->dtype == HN_F64 ? HN_F32 : out->dtype == HN_I64 ? HN_I32 : out->dtype;
    hn_status status = check_array(out);
    if (status == HN_OK && dtype != out->dtype)
        status = convert(heap, out, dtype);
    if (status != HN_OK) {
        hn_npy_free(out);
        hn_fail_within(status, "%s: ", argument);
    }
    return status;
}

static hn_status target_path(const hn_op_target *t, char out[PATH_BYTES])
{
    const char *path = t->to.path, *suffix = t->suffix, *end = strstr(path, ".npy");
    const int index = t->index;
    const int stem = end && !end[4] ? (int)(end - path) : (int)strlen(path);
    const int n = index >= 0 ? snprintf(out, PATH_BYTES, "%s%d.npy", path, index)
                  : suffix   ? snprintf(out, PATH_BYTES, "%.*s.%s.npy", stem, path, suffix)
                             : snprintf(out, PATH_BYTES, "%s", path);
    HN_REQUIRE(n >= 0 && n < PATH_BYTES, HN_ERR_ARGUMENT, "file name too long");
    return HN_OK;
}

hn_status hn_op_array_try(const hn_op_target *target)
{
    char path[PATH_BYTES];
    HN_TRY(target_path(target, path));
    return hn_sink_try((hn_sink){ path, target->to.over });
}

bool hn_op_array_same(const hn_op_target *a, const hn_op_target *b)
{
    char one[PATH_BYTES], other[PATH_BYTES];
    return target_path(a, one) == HN_OK && target_path(b, other) == HN_OK && !strcmp(one, other);
}

hn_status hn_op_array_write(hn_heap *heap, const hn_tensor *t, const hn_op_target *target)
{
    char path[PATH_BYTES];
    HN_TRY(target_path(target, path));
    hn_type packed = t->type;
    packed.dtype = t->type.dtype == HN_BF16 ? HN_F32 : t->type.dtype;
    hn_type_pack(&packed);
    void *data = hn_alloc(heap, HN_TAG_FILE, hn_type_bytes(&packed));
    if (!data)
        return HN_ERR_MEMORY;
    const hn_tensor copy = hn_tensor_at(&packed, data);
    hn_tensor_copy(&copy, t);
    hn_npy array = { .dtype = packed.dtype, .rank = packed.rank, .data = data,
                     .bytes = hn_type_bytes(&packed) };
    memcpy(array.dim, packed.dim, sizeof array.dim);
    const hn_status status = hn_npy_write((hn_sink){ path, target->to.over }, &array);
    hn_free(heap, data);
    return status;
}

void hn_op_array_print(const hn_tensor *t, const char *name, int index, FILE *out)
{
    char type[HN_TYPE_TEXT];
    const int64_t n = hn_count(&t->type);
    fputs(name, out);
    if (index >= 0)
        fprintf(out, "%d", index);
    fprintf(out, " %s:", hn_type_text(&t->type, type));
    for (int64_t i = 0; i < n && i < PRINTED; i++)
        fprintf(out, " %.9g", hn_get(t, i));
    fputs(n > PRINTED ? " ...\n" : "\n", out);
}
