/* build.h: a model's graph in the making: its weights become leaves as they are asked for.
 *
 * Weights are asked for by their GGUF names, ".x" meaning those of the present layer, and stay in
 * the memory they are in. Every product goes through nn_linear or nn_linear_id, so that what
 * watches or adapts them has one place. Failure is the graph's: see hn_graph_finish. */
#ifndef HN_NN_BUILD_H
#define HN_NN_BUILD_H

#include "nn/hparams.h"
#include "ops/ops.h"

typedef struct nn_weight {
    const char *name; /* GGUF's */
    hn_type type;
    const void *data;
    bool is_permuted; /* rows 2i+j of each head are canonical rows j*(D/2)+i */
} nn_weight;

/* A product: the rows of `x` (of slot u of token t: ids[t,u]) went through the weight. */
typedef struct nn_use {
    const nn_weight *weight;
    hn_node *x, *ids; /* ids: NULL where there are no experts */
} nn_use;

typedef struct nn_bound {
    const nn_weight *weight;
    hn_node *leaf;
} nn_bound;

typedef struct nn_build {
    hn_graph *g;
    const hn_hparams *hp;
    const void *model;
    const nn_weight *(*find)(const void *model, const char *gguf_name); /* NULL: it has none */
    int layer;
    int tokens_extent;
    hn_node *tokens, *positions, *segments; /* i32 [T] */
    nn_bound *bound;
    int n_bound, bound_room;
    nn_use *uses;
    int n_uses, uses_room;
} nn_build;

/* Sets up the inputs for at most max_tokens at a time. */
void nn_build_begin(nn_build *b, hn_graph *g, const hn_hparams *hp, int64_t max_tokens);

/* NULL if the model has none. */
hn_node *nn_weight_of(nn_build *b, const char *name);
/* A failure of the graph if it has none. */
hn_node *nn_want(nn_build *b, const char *name);

/* x times the matrix `name`.weight, plus `name`.bias where there is one; rows in canonical
 * order. */
hn_node *nn_linear(nn_build *b, hn_node *x, const char *name);
/* The same of each token's experts; their biases too. */
hn_node *nn_linear_id(nn_build *b, hn_node *x, const char *name, hn_node *ids);

hn_node *nn_rms_norm(nn_build *b, hn_node *x, const char *name);

/* "name.suffix" in memory of the graph. */
const char *nn_name(nn_build *b, const char *name, const char *suffix);

#endif
