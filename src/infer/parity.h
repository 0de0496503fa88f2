/* parity.h: how near a model is to the numbers of its reference, layer by layer.
 *
 * In f32 the model runs from its tokens to its logits, and what leaves each layer is compared. In
 * bf16 roundings grow apart within a few layers whatever is computed, so each layer is fed with
 * the reference's own input, and its output is judged twice: by its distance, and by how much
 * nearer it is than the same layer computed in f32 and rounded at its end. Tokens whose last
 * chosen expert and first not chosen have router probabilities within one bf16 step of each
 * other are counted and left out. From tokens to logits the distance is printed, not judged. */
#ifndef HN_INFER_PARITY_H
#define HN_INFER_PARITY_H

#include "infer/reference.h"
#include "infer/run_spec.h"

typedef struct hn_parity_part {
    double nmse, largest;
    double rounded; /* bf16: the NMSE of the same part in f32, rounded at its end */
    double bound;   /* on nmse */
    int64_t n_close; /* bf16: tokens left out */
    int64_t n_other; /* tokens with other experts than the reference's, of those compared */
    bool is_beyond;
} hn_parity_part;

typedef struct hn_parity {
    hn_heap *heap;
    hn_numerics numerics;
    int64_t n_layer;
    hn_parity_part *parts;  /* [n_layer + 2]: the embedding, the layers, the head */
    int64_t first_beyond;   /* of parts; -1: none */
    double close_share;     /* of tokens times layers with experts */
    hn_logit_distance logits; /* from tokens to logits */
} hn_parity;

#define HN_PARITY_F32_BOUND 1e-11
#define HN_PARITY_F32_TIE 1e-4f /* probabilities of experts nearer than this are a toss-up */
#define HN_PARITY_BF16_BOUND 1e-5
#define HN_PARITY_BF16_GAIN 0.1  /* of `rounded` */
#define HN_PARITY_CLOSE_SHARE 0.05

/* The reference's mode is the run's. Being beyond a bound is no failure here: hn_parity_judge. */
hn_status hn_parity_run(hn_parity *out, hn_heap *heap, const hn_model *model, hn_run_spec run,
                        const hn_reference *reference);
void hn_parity_free(hn_parity *parity);

/* HN_ERR_PROOF names the first part beyond its bound. */
hn_status hn_parity_judge(const hn_parity *parity);

/* "embedding", "layer 3", "head". */
const char *hn_parity_part_name(const hn_parity *parity, int64_t part, char room[32]);

/* Of [n, vocab] each. */
hn_logit_distance hn_logits_compare(const float *want, const float *got, int64_t n, int64_t vocab);

#endif
