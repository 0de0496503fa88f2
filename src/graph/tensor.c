/* Element access for every type. Blocks are decoded whole and one element kept: slow and plain. */
#include "graph/tensor.h"

#include "base/half.h"
#include "graph/layout.h"

#include <string.h>

enum { LARGEST_BLOCK = 256, LARGEST_BLOCK_BYTES = 256 };

hn_tensor hn_tensor_at(const hn_type *type, void *data)
{
    return (hn_tensor){ .type = *type, .data = data, .is_packed = !type->layout && hn_is_contiguous(type) };
}

static char *address(const hn_tensor *t, int64_t index)
{
    if (t->is_packed && !hn_is_block(t->type.dtype))
        return (char *)t->data + index * (int64_t)hn_dtype_bytes(t->type.dtype);
    return (char *)t->data + hn_offset_of(&t->type, index);
}

/* The block that holds the element, brought back to plain. */
static double get_packed(const hn_tensor *t, int64_t index)
{
    _Alignas(8) char block[LARGEST_BLOCK_BYTES];
    const int64_t n = hn_dtype_block(t->type.dtype), width = hn_last_dim(&t->type);
    const int64_t at = index % width;
    t->type.layout->row(&t->type, t->data, index / width, at / n * n, n, block);
    const hn_type type = { .dtype = t->type.dtype, .rank = 1, .dim = { n },
                           .stride = { (int64_t)hn_dtype_bytes(t->type.dtype) } };
    return hn_get_slow(&(hn_tensor){ .type = type, .data = block, .is_packed = true }, at % n);
}

double hn_get_slow(const hn_tensor *t, int64_t index)
{
    if (t->type.layout)
        return get_packed(t, index);
    const void *at = address(t, index);
    switch (t->type.dtype) {
    case HN_F32:
        return (double)*(const float *)at;
    case HN_F16:
        return (double)hn_f16_to_f32(*(const uint16_t *)at);
    case HN_BF16:
        return (double)hn_bf16_to_f32(*(const uint16_t *)at);
    case HN_F64:
        return *(const double *)at;
    case HN_I32:
        return (double)*(const int32_t *)at;
    case HN_I64:
        return (double)*(const int64_t *)at;
    case HN_U8:
        return (double)*(const uint8_t *)at;
    default: {
        float block[LARGEST_BLOCK];
        const int64_t n = hn_dtype_block(t->type.dtype);
        hn_dtype_format(t->type.dtype)->decode(at, n, block);
        return (double)block[index % hn_last_dim(&t->type) % n];
    }
    }
}

/* Float to integer clamps; NaN becomes 0; halves go to even. */
static double to_integer(double value, double low, double high)
{
    if (!(value == value))
        return 0;
    if (value <= low)
        return low;
    if (value >= high)
        return high;
    const double magic = 6755399441055744.0; /* 1.5 * 2^52: adding rounds to an integer */
    if (value > -4503599627370496.0 && value < 4503599627370496.0)
        return (value + magic) - magic;
    return value;
}

void hn_set_slow(const hn_tensor *t, int64_t index, double value)
{
    void *at = address(t, index);
    switch (t->type.dtype) {
    case HN_F32:
        *(float *)at = (float)value;
        break;
    case HN_F16:
        *(uint16_t *)at = hn_f32_to_f16((float)value);
        break;
    case HN_BF16:
        *(uint16_t *)at = hn_f32_to_bf16((float)value);
        break;
    case HN_F64:
        *(double *)at = value;
        break;
    case HN_I32:
        *(int32_t *)at = (int32_t)to_integer(value, INT32_MIN, INT32_MAX);
        break;
    case HN_I64:
        *(int64_t *)at = (int64_t)to_integer(value, -9223372036854774784.0, 9223372036854774784.0);
        break;
    case HN_U8:
        *(uint8_t *)at = (uint8_t)to_integer(value, 0, UINT8_MAX);
        break;
    default:
        break; /* blocks are only encoded whole: no op writes them */
    }
}

int64_t hn_get_int(const hn_tensor *t, int64_t index)
{
    const void *at = address(t, index);
    switch (t->type.dtype) {
    case HN_I32:
        return *(const int32_t *)at;
    case HN_I64:
        return *(const int64_t *)at;
    case HN_U8:
        return *(const uint8_t *)at;
    default:
        return (int64_t)to_integer(hn_get_slow(t, index), -9e18, 9e18);
    }
}

void hn_set_int(const hn_tensor *t, int64_t index, int64_t value)
{
    if (t->type.dtype == HN_I64)
        *(int64_t *)(void *)address(t, index) = value;
    else
        hn_set(t, index, (double)value);
}

static void decode_rows(const hn_tensor *to, const hn_tensor *from)
{
    const int64_t n = hn_dtype_block(from->type.dtype), end = hn_count(&from->type);
    for (int64_t i = 0; i < end; i += n) {
        float block[LARGEST_BLOCK];
        hn_dtype_format(from->type.dtype)->decode(address(from, i), n, block);
        for (int64_t j = 0; j < n; j++)
            hn_set(to, i + j, (double)block[j]);
    }
}

/* Of rows that lie apart: as they are. */
static void copy_blocks(const hn_tensor *to, const hn_tensor *from)
{
    const int64_t n = hn_dtype_block(from->type.dtype), end = hn_count(&from->type);
    for (int64_t i = 0; i < end; i += n)
        memmove(address(to, i), address(from, i), hn_dtype_bytes(from->type.dtype));
}

static void unpack(const hn_tensor *to, const hn_tensor *from)
{
    const int64_t rows = hn_rows(&from->type), n = hn_last_dim(&from->type);
    const size_t row = hn_type_bytes(&to->type) / (size_t)rows;
    for (int64_t i = 0; i < rows; i++)
        from->type.layout->row(&from->type, from->data, i, 0, n, (char *)to->data + (size_t)i * row);
}

void hn_tensor_copy(const hn_tensor *to, const hn_tensor *from)
{
    const bool same = to->type.dtype == from->type.dtype;
    if (same && to->is_packed && from->type.layout) {
        unpack(to, from);
        return;
    }
    if (same && to->type.layout) {
        if (from->type.layout == to->type.layout)
            memmove(to->data, from->data, hn_type_bytes(&to->type));
        else
            to->type.layout->pack(&to->type, &(hn_plain_rows){ from->data, from->type.dtype, 0 }, to->data, 0,
                                  hn_layout_units(&to->type));
        return;
    }
    if (same && to->is_packed && from->is_packed) {
        memmove(to->data, from->data, hn_type_bytes(&to->type));
        return;
    }
    if (hn_is_block(from->type.dtype) && !from->type.layout) {
        (same ? copy_blocks : decode_rows)(to, from);
        return;
    }
    const int64_t n = hn_count(&to->type);
    const bool integers = !hn_is_float(to->type.dtype) && !hn_is_float(from->type.dtype);
    for (int64_t i = 0; i < n; i++) {
        if (integers)
            hn_set_int(to, i, hn_get_int(from, i));
        else
            hn_set(to, i, hn_get(from, i));
    }
}
