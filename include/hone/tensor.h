/* tensor.h: element types and shapes, by name and by value. A shape that you give is its dimensions, outermost first.
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

/* As it is told. */
typedef struct hn_shape {
    int32_t rank;
    int64_t dim[HN_PUBLIC_MAX_RANK];
} hn_shape;

/* The types by number, each called as it is named. Where a type is taken as a text, hn_element_name gives it. The numbers stay
 * what they are. */
typedef enum hn_element {
    /* Written by tools/enums.sh from src/quant/types.def: */
    HN_ELEMENT_f32 = 0, HN_ELEMENT_f16 = 1, HN_ELEMENT_bf16 = 2, HN_ELEMENT_f64 = 3,
    HN_ELEMENT_i32 = 4, HN_ELEMENT_i64 = 5, HN_ELEMENT_u8 = 6, HN_ELEMENT_q8_0 = 7,
    HN_ELEMENT_q4_0 = 8, HN_ELEMENT_q4_k = 9, HN_ELEMENT_q6_k = 10, HN_ELEMENT_q4_1 = 11,
    HN_ELEMENT_q5_0 = 12, HN_ELEMENT_q5_1 = 13, HN_ELEMENT_q2_k = 14, HN_ELEMENT_q3_k = 15,
    HN_ELEMENT_q5_k = 16, HN_ELEMENT_iq4_nl = 17, HN_ELEMENT_iq4_xs = 18, HN_ELEMENT_mxfp4 = 19,
    HN_ELEMENT_nvfp4 = 20, HN_ELEMENT_tq1_0 = 21, HN_ELEMENT_tq2_0 = 22, HN_ELEMENT_q1_0 = 23,
    HN_ELEMENT_q2_0 = 24, HN_ELEMENT_q8_1 = 25, HN_ELEMENT_q8_k = 26
    /* End of what tools/enums.sh writes. */
} hn_element;

/* HN_ERR_ARGUMENT: there is none of this name. */
HN_API hn_status hn_element_named(const char *word, hn_element *out);
HN_API const char *hn_element_name(hn_element element); /* "" of a number that is none */

/* The names of all types, one after another; NULL past the last. */
HN_API const char *hn_tensor_type(int32_t i);

/* Bytes of a packed tensor; refuses unknown names, bad shapes and sizes that overflow. */
HN_API hn_status hn_tensor_bytes(const char *type, int32_t rank, const int64_t *dim, size_t *out);

/* n floats to `type` (cast or encoded in rows of the last dimension), and back. */
HN_API hn_status hn_tensor_encode(const char *type, int32_t rank, const int64_t *dim, const float *from,
                                  void *to);
HN_API hn_status hn_tensor_decode(const char *type, int32_t rank, const int64_t *dim, const void *from,
                                  float *to);

#ifdef __cplusplus
}
#endif
#endif
