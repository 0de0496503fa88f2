/* rounding.h: operations that round as the mode of a run asks.
 *
 * Models are built of these verbs. In f32 mode each is the op of its name, in mixed mode too but for
 * nn_product_in and nn_product_out. In bf16 mode each gives
 * what Transformers' eager model gives in bfloat16 on a CPU: computed in f32, and rounded to bf16
 * where PyTorch stores a tensor. So a rounding point is declared by the verb that is used, in the
 * model's file, and nowhere else. Values stay f32 in memory; a gradient passes through a rounding
 * unchanged. Attention that is differentiated is composed of primitives there, and its scores are
 * materialised: tokens times keys, of all heads of a layer. */
#ifndef HN_NN_ROUNDING_H
#define HN_NN_ROUNDING_H

#include "nn/build.h"
#include "ops/attrs.h"

hn_node *nn_round(nn_build *b, hn_node *x);

/* A constant that the reference holds in a tensor of the activations' type. Plain numbers of its
 * code are not rounded: they go to nn_scale as they are. */
float nn_constant(const nn_build *b, double value);

/* In mixed mode both sides of a product by a matrix of any stored type are bf16, here and in the gradient, but for one that
 * chooses experts: what goes in is rounded, and so is the gradient of what comes out; the product rounds the matrix.
 * All else is f32. nn_linear and nn_linear_id do the first, nn_adapt the second; heads, which are products of their
 * own, ask. */
bool nn_is_narrow(const nn_build *b, const nn_weight *w);
hn_node *nn_product_in(nn_build *b, hn_node *x, const nn_weight *w);
hn_node *nn_product_out(nn_build *b, hn_node *y, const nn_weight *w);

/* The product of x by a matrix, whose rows lie in `pairs`, or by those of experts that were chosen. The mode and the matrix
 * alone say how it is summed: in int8 mode in whole numbers, if it is in a block format and chooses no experts; in blocks
 * of bf16 in mixed mode where it is narrow, and in bf16 mode if it is in no block format; else as one chain. */
hn_sums nn_sums(const nn_build *b, const nn_weight *w);
hn_node *nn_product(nn_build *b, hn_node *x, const nn_weight *w, int64_t pairs);
hn_node *nn_product_id(nn_build *b, hn_node *x, const nn_weight *w, hn_node *ids);

/* One rounding each, of the result. */
hn_node *nn_add(nn_build *b, hn_node *x, hn_node *y);
hn_node *nn_mul(nn_build *b, hn_node *x, hn_node *y);
hn_node *nn_scale(nn_build *b, hn_node *x, float a);
hn_node *nn_gelu(nn_build *b, hn_node *x);
hn_node *nn_silu(nn_build *b, hn_node *x);
/* Three: divided, tanh, multiplied. */
hn_node *nn_softcap(nn_build *b, hn_node *x, float cap);

/* LlamaRMSNorm: rounded before the gain and after. */
hn_node *nn_rms_norm(nn_build *b, hn_node *x, const char *name);
/* Gemma's and gpt-oss's: rounded after the gain alone. NULL: no gain. */
hn_node *nn_rms_norm_once(nn_build *b, hn_node *x, const char *name_or_null);

/* LayerNorm: `name`.weight and .bias, rounded at the end alone. */
hn_node *nn_layer_norm(nn_build *b, hn_node *x, const char *name);

/* Cosines and sines are rounded, so are both products and their sum. `x` [T, H, D]; the first columns of a head turn.
 * Angles of one spec and its divisors are made once, for all layers and builds of the graph. */
hn_node *nn_rope(nn_build *b, hn_node *x, hn_node *divisors, const hn_rope_spec *spec);

typedef struct nn_score_options {
    int64_t window; /* 0: none */
    float scale;    /* 0: 1 / sqrt(D) */
    float softcap;  /* 0: none */
    hn_node *sinks; /* or NULL */
} nn_score_options;

/* [T, H, D] over the keys that each token sees: scores, scaled, capped, their softmax, and the
 * sum of values are rounded. With sinks the largest is subtracted first, and rounded. */
hn_node *nn_attend(nn_build *b, hn_node *q, nn_keys keys, const nn_score_options *options);

/* The experts of each token. In bf16 mode slots ascend by expert, as the eager loop adds. */
typedef struct nn_chosen {
    hn_node *weights, *ids; /* f32, i32 [T, used] */
} nn_chosen;

typedef struct nn_choose_options {
    hn_node *bias;         /* of the choice alone, or NULL */
    hn_node *expert_scale; /* multiplies the weights, or NULL */
    int score;             /* hn_router_score */
    bool renormalises;
    int64_t n_group, k_group; /* experts of the k_group best groups alone; 0: all */
    int64_t group_best;       /* what ranks a group: the sum of its two best, or its best */
    float factor;             /* of all weights; 0: 1 */
    float eps;                /* beside the sum that they are divided by */
    bool rounds_weights;   /* the reference stores them as activations, not as f32 */
} nn_choose_options;

/* Probabilities are f32 of rounded logits [T, E]. */
nn_chosen nn_choose(nn_build *b, hn_node *logits, const nn_choose_options *options);

/* y[t] = the sum of its slots' x[t, u], weighted: each product and each sum is rounded. */
hn_node *nn_combine(nn_build *b, hn_node *x, nn_chosen chosen);

#endif
