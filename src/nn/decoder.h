/* decoder.h: a decoder-only transformer of any shape, with random weights: what is proved, shown
 * and measured until models come from files.
 *
 * Pre-norm layers: grouped-query attention with rope, then a gated feed-forward or a mixture of
 * experts; RMS norms; an embedding that may be the head too. Sequences of a batch are
 * concatenated along T and kept apart by segment ids. */
#ifndef HN_NN_DECODER_H
#define HN_NN_DECODER_H

#include "ops/ops.h"

typedef struct nn_decoder_options {
    int64_t vocab, width, n_layer, n_head, n_kv_head, head_dim, ffn;
    int64_t n_expert, n_used;  /* 0: dense */
    int64_t window;            /* of every second layer; 0: none */
    int64_t max_tokens;        /* of a micro-batch, over all its sequences */
    int64_t lora_rank;         /* 0: all weights are trained; else adapters only */
    hn_dtype base;             /* type of the frozen weights under adapters */
    hn_layout pack;            /* how the frozen weights lie */
    bool is_tied;              /* the head is the embedding */
    float balance, z_loss;     /* weights of the router's losses; 0: none */
    float dropout;             /* on the residual branches */
    int n_devices;             /* layers are spread over them; 0: one */
} nn_decoder_options;

enum { NN_MAX_PARAMS = 2048 };

typedef struct nn_decoder {
    nn_decoder_options o;
    hn_graph *g;
    int tokens_extent;
    hn_node *tokens, *labels, *segments, *positions; /* i32 [T] */
    hn_node *at;                                     /* i32 [T,2]: sequence, position; for dropout */
    hn_node *step;                                   /* i32 scalar */
    hn_node *count;     /* f32 scalar: supervised tokens of the whole step */
    hn_node *sequences; /* f32 scalar: sequences of the whole step */
    hn_node *loss, *hidden, *head, *nll;
    int n_params;
    hn_node *params[NN_MAX_PARAMS]; /* what is trained */
} nn_decoder;

/* Builds the forward graph and the loss into `g`. Failure shows in hn_graph_finish. */
void nn_decoder_build(nn_decoder *d, hn_graph *g, const nn_decoder_options *options);

/* Values for a weight leaf, a function of its name and the seed: plain rows of its type. */
hn_status nn_decoder_init_weight(const hn_leaf *leaf, uint64_t seed, hn_heap *heap,
                                 const hn_tensor *out);

#endif
