/* blocks.h: what decoders are made of. Names of weights are those of build.h. */
#ifndef HN_NN_BLOCKS_H
#define HN_NN_BLOCKS_H

#include "nn/rounding.h"

/* Rows of the embedding for the tokens. */
hn_node *nn_embed(nn_build *b);

typedef struct nn_attention_options {
    bool norms_heads;   /* RMS norms .attn_q_norm and .attn_k_norm on every head */
    bool norms_whole;   /* the same over all heads at once */
    bool rounds_norms_once; /* of these: nn_rms_norm_once */
    bool has_no_rope;   /* this layer's positions do not turn */
    int64_t window;     /* 0: none */
    float scale;        /* 0: 1 / sqrt(head width) */
    float softcap;      /* 0: none */
} nn_attention_options;

/* .attn_q, .attn_k, .attn_v, or .attn_qkv where the model has them in one; rope, attention, .attn_output. */
hn_node *nn_attention(nn_build *b, hn_node *x, const nn_attention_options *options);

/* Columns begin to end of x [T, N]: of a product by matrices that lie in one. */
hn_node *nn_columns(nn_build *b, hn_node *x, int64_t begin, int64_t end);

/* Rope of the present layer, as the model's numbers say. */
hn_rope_spec nn_rope_spec(const nn_build *b);
/* Its divisors, or NULL: those of llama3, and longrope's of short sequences; layers with a rope of their own have none. */
hn_node *nn_rope_divisors(nn_build *b);

/* What its frequencies are divided by: llama3's, or longrope's of short sequences; NULL where there are none, as of
 * layers with a rope of their own. */
hn_node *nn_rope_divisors(nn_build *b);

/* The window of the present layer, 0: none. */
int64_t nn_window(const nn_build *b);

/* The model's activation, or the usual one where nothing is said; rounded. */
hn_node *nn_activate(nn_build *b, hn_activation usual, hn_node *x);
/* activation(gate) * up: the activation is rounded, and the product. */
hn_node *nn_gate(nn_build *b, hn_activation usual, hn_node *gate, hn_node *up);

/* .ffn_down(silu(.ffn_gate x) * .ffn_up x), or with tanh-GELU. */
hn_node *nn_swiglu(nn_build *b, hn_node *x);
hn_node *nn_geglu(nn_build *b, hn_node *x);

/* The usual decoder, from tokens to logits: each half of a layer on a norm of the residual, and added to it. */
typedef hn_node *nn_part(nn_build *b, hn_node *x);
hn_node *nn_pre_norm(nn_build *b, nn_part *attention, nn_part *feed_forward);

/* Softmax over all experts, the best, renormalised or not, their weights rounded or not; SwiGLU in
 * each; weighted sum. */
hn_node *nn_experts(nn_build *b, hn_node *x, bool renormalises, bool rounds_weights);
/* The same with experts chosen in any way. */
hn_node *nn_experts_by(nn_build *b, hn_node *x, const nn_choose_options *how);

/* softcap(x w^T / divisor), each unless 0; w the output matrix, or the embedding where they are
 * one. */
hn_node *nn_head(nn_build *b, hn_node *x, float softcap, float divisor);

#endif
