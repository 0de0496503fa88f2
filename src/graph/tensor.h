/* tensor.h: a tensor is a value: a type and a pointer into memory that it does not own.
 *
 * hn_get and hn_set are how an op's meaning reads and writes any element type as a double. */
#ifndef HN_GRAPH_TENSOR_H
#define HN_GRAPH_TENSOR_H

#include "graph/type.h"

typedef struct hn_tensor {
    hn_type type;
    void *data;
    bool is_packed; /* contiguous and plain: element i lies at i */
} hn_tensor;

hn_tensor hn_tensor_at(const hn_type *type, void *data);

double hn_get_slow(const hn_tensor *t, int64_t index);
void hn_set_slow(const hn_tensor *t, int64_t index, double value);

/* Element `index` in row-major order, whatever the strides. */
static inline double hn_get(const hn_tensor *t, int64_t index)
{
    if (t->is_packed && t->type.dtype == HN_F64)
        return ((const double *)t->data)[index];
    if (t->is_packed && t->type.dtype == HN_F32)
        return (double)((const float *)t->data)[index];
    return hn_get_slow(t, index);
}

static inline void hn_set(const hn_tensor *t, int64_t index, double value)
{
    if (t->is_packed && t->type.dtype == HN_F64)
        ((double *)t->data)[index] = value;
    else if (t->is_packed && t->type.dtype == HN_F32)
        ((float *)t->data)[index] = (float)value;
    else
        hn_set_slow(t, index, value);
}

/* Integers exactly (a double holds 53 bits). The tensor must hold integers. */
int64_t hn_get_int(const hn_tensor *t, int64_t index);
void hn_set_int(const hn_tensor *t, int64_t index, int64_t value);

/* Copies elements in row-major order, converting as hn_get and hn_set do. Same count. Into a packed
 * layout only from plain rows or the same layout of the same element type. */
void hn_tensor_copy(const hn_tensor *to, const hn_tensor *from);

#endif
