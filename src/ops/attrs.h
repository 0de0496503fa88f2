/* attrs.h: the attributes of ops, for their own files and for the bindings of their kernels.
 * The tables that name them and give defaults are in each op's file. */
#ifndef HN_OPS_ATTRS_H
#define HN_OPS_ATTRS_H

#include "graph/op.h"

typedef struct clamp_attrs {
    float low, high;
} clamp_attrs;

typedef struct softcap_attrs {
    float cap;
} softcap_attrs;

/* gelu, geglu: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), or with erf(x / sqrt 2). */
typedef enum gelu_form { GELU_TANH, GELU_ERF } gelu_form;
typedef struct gelu_attrs {
    int form;
} gelu_attrs;

typedef struct cast_attrs {
    int to; /* an hn_dtype */
} cast_attrs;

/* What is lost on the way to that type, relative. */
static inline double cast_rounding(const void *attrs)
{
    const hn_dtype to = (hn_dtype)((const cast_attrs *)attrs)->to;
    return to == HN_BF16 ? 0x1p-8 : to == HN_F16 ? 0x1p-11 : 0;
}

typedef struct shape_attrs {
    hn_ints shape; /* 0 keeps the input's dimension, one -1 takes what is left */
} shape_attrs;

typedef struct transpose_attrs {
    int64_t a, b;
} transpose_attrs;

/* Elements begin, begin + step ... before end; both count from the end where they are negative,
 * and an end of 0 is the end. */
typedef struct slice_attrs {
    int64_t dim, begin, end, step;
} slice_attrs;

typedef struct slice_grad_attrs {
    int64_t dim, begin, step;
} slice_grad_attrs;

typedef struct axis_attrs {
    int64_t dim;
} axis_attrs;

typedef struct pad_attrs {
    hn_ints before, after;
    float value;
} pad_attrs;

typedef struct repeat_attrs {
    hn_ints times;
} repeat_attrs;

/* Reductions over one dimension; `keep` leaves it there, with one element. */
typedef struct reduction_attrs {
    int64_t dim;
    bool keep;
} reduction_attrs;

typedef struct cumsum_attrs {
    int64_t dim;
    bool reverse; /* from the last element down */
} cumsum_attrs;

typedef struct top_k_attrs {
    int64_t k;
} top_k_attrs;

typedef struct norm_attrs {
    float eps;
} norm_attrs;

typedef struct softmax_attrs {
    float scale;
} softmax_attrs;

/* Of the N columns of a head that rope turns. */
typedef enum rope_layout {
    ROPE_HALF,    /* pairs (i, i + N/2) */
    ROPE_ADJACENT /* pairs (2i, 2i + 1) */
} rope_layout;
typedef struct rope_attrs {
    int64_t offset; /* the first of them */
    int layout;
    bool inverse;   /* turns back: the gradient */
} rope_attrs;

/* In which order a product sums over the reduced index, whatever its operands hold: one chain, or both sides rounded to bf16
 * and blocks of 32 (kernels/gemm/blocks.h). */
typedef enum hn_sums { HN_SUMS_CHAIN, HN_SUMS_BLOCKS } hn_sums;
#define HN_ATTR_SUMS(type) HN_ATTR_ENUM(type, sums, "chain", "chain|blocks")

/* linear, linear_back: pairs is 0, or the head size D of a w whose rows lie in pairs: of each head, row
 * j + half * D/2 of the product is row 2j + half of the file. Sums go in the product's order. */
typedef struct linear_attrs {
    int64_t pairs;
    int sums;
} linear_attrs;

typedef struct linear_id_attrs {
    int sums;
} linear_id_attrs;

typedef struct matmul_attrs {
    bool ta, tb; /* the last two dimensions of a, of b are transposed */
} matmul_attrs;

typedef enum hn_router_score {
    HN_ROUTER_SOFTMAX,
    HN_ROUTER_SIGMOID,
    HN_ROUTER_SOFTMAX_TOPK /* softmax over the chosen logits alone: the score is the logit */
} hn_router_score;

#endif
