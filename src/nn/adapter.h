/* adapter.h: what is added to a model's products without touching its weights.
 *
 *     lora        y = W x + scale * B (A drop(x))
 *     magnitude   y = m / n * (W x + scale * B A drop(x)), n the norms of the rows of
 *                 W + scale B A, which no gradient passes (DoRA)
 *
 *     bank        the same of many adapters, each row of x by its own or none (ops/low_rank.c)
 *
 * Of an embedding A has a row for every word and B A is looked up. Rows of B are in canonical
 * order. */
#ifndef HN_NN_ADAPTER_H
#define HN_NN_ADAPTER_H

#include "ops/ops.h"

struct nn_build;
struct nn_weight;

typedef struct nn_lora {
    const struct nn_weight *a;         /* [r,K], of experts [E,r,K]; of an embedding [V,r] */
    const struct nn_weight *b;         /* [N,r], of experts [E,N,r] */
    const struct nn_weight *magnitude; /* [N], or NULL */
    float scale, dropout;
    int64_t seed; /* of dropout */
} nn_lora;

typedef struct nn_adapter {
    const void *self;
    const nn_lora *(*find)(const void *self, const struct nn_weight *base); /* NULL: none */
} nn_adapter;

/* Room for adapters that come and go after the graph is made: of the matrices of all layers, of experts and
 * of a head of its own only if asked. The embedding has none. */
typedef struct nn_bank_room {
    int64_t n, rank; /* adapters, and the largest rank; 0: no room */
    bool has_experts, has_head;
} nn_bank_room;

/* What is there of a matrix: leaves that whoever runs the graph fills. */
typedef struct nn_banked {
    const struct nn_weight *weight;
    hn_node *ranks, *scales; /* i32 [n], f32 [n] */
    hn_node *a, *b;          /* [n, rank, K] and [n, N, rank], of experts [n, E, ..] */
} nn_banked;

/* y = x W^T as every adapter has it, its gradient rounded where the product is narrow (nn/rounding.h);
 * `ids` for experts, or NULL. */
hn_node *nn_adapt(struct nn_build *b, hn_node *y, hn_node *x, const struct nn_weight *w,
                  hn_node *ids);
/* The same of rows looked up in an embedding. */
hn_node *nn_adapt_rows(struct nn_build *b, hn_node *y, const struct nn_weight *w, hn_node *ids);

/* Whether an adapter's magnitude needs the weight's own elements. */
bool nn_is_adapted_whole(const struct nn_build *b, const struct nn_weight *w);
/* Whether any adapter has something for the weight. */
bool nn_is_adapted(const struct nn_build *b, const struct nn_weight *w);

#endif
