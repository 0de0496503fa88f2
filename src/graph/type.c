/* Shapes come from files and users: every product here is checked. */
#include "graph/type.h"

#include "graph/layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
    char kind;
} scalars[] = {
#define HN_SCALAR(upper, name, gguf, id, safetensors, bytes, kind, kernels, panel) { #name, bytes, kind },
#include "quant/types.def"
};

const hn_format *hn_dtype_format(hn_dtype dtype)
{
    return dtype >= HN_FIRST_FORMAT && dtype < HN_N_DTYPES ? hn_formats[dtype - HN_FIRST_FORMAT]
                                                           : NULL;
}

const char *hn_dtype_name(hn_dtype dtype)
{
    if ((unsigned)dtype >= HN_N_DTYPES)
        return "?";
    return hn_is_block(dtype) ? hn_dtype_format(dtype)->name : scalars[dtype].name;
}

hn_status hn_dtype_parse(const char *name, size_t length, hn_dtype *out)
{
    if (length == 4 && !memcmp(name, "bool", 4)) {
        *out = HN_U8;
        return HN_OK;
    }
    for (int i = 0; i < HN_N_DTYPES; i++) {
        const char *known = hn_dtype_name((hn_dtype)i);
        if (strlen(known) == length && !memcmp(known, name, length)) {
            *out = (hn_dtype)i;
            return HN_OK;
        }
    }
    return hn_fail(HN_ERR_ARGUMENT, "unknown element type '%.*s'",
                   (int)(length > 40 ? 40 : length), name);
}

bool hn_is_float(hn_dtype dtype)
{
    return (unsigned)dtype < HN_N_SCALARS && scalars[dtype].kind == 'f';
}

bool hn_is_block(hn_dtype dtype)
{
    return dtype >= HN_FIRST_FORMAT && dtype < HN_N_DTYPES;
}

int64_t hn_dtype_block(hn_dtype dtype)
{
    return hn_is_block(dtype) ? (int64_t)hn_dtype_format(dtype)->block_elements : 1;
}

size_t hn_dtype_bytes(hn_dtype dtype)
{
    return hn_is_block(dtype) ? (size_t)hn_dtype_format(dtype)->block_bytes : scalars[dtype].bytes;
}

hn_status hn_type_make(hn_type *out, hn_dtype dtype, int rank, const int64_t *dim)
{
    HN_REQUIRE((unsigned)dtype < HN_N_DTYPES, HN_ERR_ARGUMENT, "unknown element type %d",
               (int)dtype);
    HN_REQUIRE(rank >= 0 && rank <= HN_MAX_RANK, HN_ERR_SHAPE, "rank %d: expected 0 to %d", rank,
               HN_MAX_RANK);
    *out = (hn_type){ .dtype = dtype, .rank = rank };
    int64_t left = INT64_MAX / 2 / (int64_t)hn_dtype_bytes(dtype);
    for (int i = 0; i < rank; i++) {
        HN_REQUIRE(dim[i] >= 1, HN_ERR_SHAPE, "dimension %d is %lld: expected at least 1", i,
                   (long long)dim[i]);
        HN_REQUIRE(dim[i] <= left, HN_ERR_SHAPE, "dimension %d is %lld: the tensor is too large",
                   i, (long long)dim[i]);
        left /= dim[i];
        out->dim[i] = dim[i];
    }
    const int64_t block = hn_dtype_block(dtype);
    HN_REQUIRE(hn_last_dim(out) % block == 0, HN_ERR_SHAPE,
               "%s: the last dimension is %lld: expected a multiple of %lld", hn_dtype_name(dtype),
               (long long)hn_last_dim(out), (long long)block);
    hn_type_pack(out);
    return HN_OK;
}

hn_status hn_type_as(hn_type *out, const hn_type *type, hn_dtype dtype)
{
    const hn_type from = *type; /* `out` may be `type` */
    return hn_type_make(out, dtype, from.rank, from.dim);
}

void hn_type_pack(hn_type *type)
{
    int64_t step = (int64_t)hn_dtype_bytes(type->dtype);
    const bool packs = type->layout != NULL;
    for (int i = type->rank - 1; i >= 0; i--) {
        type->stride[i] = step;
        int64_t n = type->dim[i];
        if (i == type->rank - 1)
            n /= hn_dtype_block(type->dtype);
        step = packs && i == type->rank - 2 ? type->layout->matrix_bytes(type) : step * n;
    }
}

int64_t hn_count(const hn_type *type)
{
    int64_t n = 1;
    for (int i = 0; i < type->rank; i++)
        n *= type->dim[i];
    return n;
}

int64_t hn_last_dim(const hn_type *type)
{
    return type->rank ? type->dim[type->rank - 1] : 1;
}

int64_t hn_rows(const hn_type *type)
{
    int64_t n = 1;
    for (int i = 0; i + 1 < type->rank; i++)
        n *= type->dim[i];
    return n;
}

size_t hn_type_bytes(const hn_type *type)
{
    if (type->layout)
        return (size_t)((type->rank == 3 ? type->dim[0] : 1) * type->layout->matrix_bytes(type));
    return (size_t)(hn_count(type) / hn_dtype_block(type->dtype)) * hn_dtype_bytes(type->dtype);
}

size_t hn_type_span(const hn_type *type)
{
    if (type->layout)
        return hn_type_bytes(type);
    int64_t last = (int64_t)hn_dtype_bytes(type->dtype);
    const int64_t block = hn_dtype_block(type->dtype);
    for (int i = 0; i < type->rank; i++) {
        const int64_t n = i == type->rank - 1 ? type->dim[i] / block : type->dim[i];
        last += (n - 1) * type->stride[i];
    }
    return (size_t)last;
}

bool hn_is_contiguous(const hn_type *type)
{
    hn_type packed = *type;
    hn_type_pack(&packed);
    for (int i = 0; i < type->rank; i++)
        if (type->dim[i] != 1 && type->stride[i] != packed.stride[i])
            return false;
    return true;
}

bool hn_same_shape(const hn_type *a, const hn_type *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

bool hn_has_rank(const hn_type *type, int rank)
{
    return type->rank == rank;
}

int64_t hn_offset_of(const hn_type *type, int64_t index)
{
    int64_t offset = 0;
    const int64_t block = hn_dtype_block(type->dtype);
    for (int i = type->rank - 1; i >= 0; i--) {
        int64_t at = index % type->dim[i];
        index /= type->dim[i];
        if (i == type->rank - 1)
            at /= block;
        offset += at * type->stride[i];
    }
    return offset;
}

const char *hn_type_text(const hn_type *type, char *text)
{
    int at = snprintf(text, HN_TYPE_TEXT, "%s%s%s[", hn_dtype_name(type->dtype), type->layout ? "@" : "",
                      type->layout ? type->layout->name : "");
    for (int i = 0; i < type->rank; i++)
        at += snprintf(text + at, (size_t)(HN_TYPE_TEXT - at), i ? ",%lld" : "%lld",
                       (long long)type->dim[i]);
    snprintf(text + at, (size_t)(HN_TYPE_TEXT - at), "]");
    return text;
}

hn_status hn_type_parse(const char *text, hn_type *out, const char **end)
{
    const char *open = strchr(text, '[');
    HN_REQUIRE(open && open - text < 16, HN_ERR_FORMAT, "type '%.40s': expected name[dims]", text);
    hn_dtype dtype = HN_F32;
    HN_TRY(hn_dtype_parse(text, (size_t)(open - text), &dtype));
    int64_t dim[HN_MAX_RANK];
    int rank = 0;
    const char *at = open + 1;
    while (*at && *at != ']') {
        HN_REQUIRE(rank < HN_MAX_RANK, HN_ERR_FORMAT, "type '%.40s': more than %d dimensions", text,
                   HN_MAX_RANK);
        char *after = NULL;
        errno = 0;
        dim[rank++] = strtoll(at, &after, 10);
        HN_REQUIRE(after != at && !errno && (*after == ',' || *after == ']'), HN_ERR_FORMAT,
                   "type '%.40s': malformed dimension", text);
        at = *after == ',' ? after + 1 : after;
    }
    HN_REQUIRE(*at == ']', HN_ERR_FORMAT, "type '%.40s': expected ]", text);
    *end = at + 1;
    return hn_type_make(out, dtype, rank, dim);
}
