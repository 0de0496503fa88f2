/* tensor.h: element types and shapes, by name and by value.
 *
 * Element types are named as `hone op` names them: "f32" "f16" "bf16" "i32" "i64" "u8", and the
 * block formats "q8_0" "q4_0" "q4_k" "q6_k". Tensors are row-major. */
#ifndef HONE_TENSOR_H
#define HONE_TENSOR_H

#include "hone/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HN_PUBLIC_MAX_RANK = 5 };

typedef struct hn_shape {
    int32_t rank;
    int64_t dim[HN_PUBLIC_MAX_RANK];
} hn_shape;

/* The names of all types, one after another; NULL past the last. */
HN_API const char *hn_tensor_type(int32_t i);

/* Bytes of a packed tensor; refuses unknown names, bad shapes and sizes that overflow. */
HN_API hn_status hn_tensor_bytes(const char *type, const hn_shape *shape, size_t *out);

/* n floats to `type` (cast or encoded in rows of the last dimension), and back. */
HN_API hn_status hn_tensor_encode(const char *type, const hn_shape *shape, const float *from,
                                  void *to);
HN_API hn_status hn_tensor_decode(const char *type, const hn_shape *shape, const void *from,
                                  float *to);

#ifdef __cplusplus
}
#endif
#endif
