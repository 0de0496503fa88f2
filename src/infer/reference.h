/* reference.h: what another program computed of a model, layer by layer: a safetensors file that
 * tools/reference/parity_dump.py wrote. All values as f32, which holds those of a bf16 run
 * exactly. */
#ifndef HN_INFER_REFERENCE_H
#define HN_INFER_REFERENCE_H

#include "models/model.h"

/* How far two sets of logits are apart; the first is the reference. */
typedef struct hn_logit_distance {
    double nmse;      /* sum of squared differences over the sum of squares */
    double largest;   /* difference */
    double kl;        /* nats a token */
    double agreement; /* share of tokens whose likeliest is the same */
} hn_logit_distance;

typedef struct hn_reference {
    hn_heap *heap;
    hn_numerics numerics; /* of its run */
    char *about;          /* class and versions, for people */
    int64_t n_tokens, n_layer, width, n_vocab;
    int64_t own_width;    /* of inputs that only one layer has; 0: none */
    int64_t n_expert;
    int32_t *tokens;      /* [T] */
    int64_t position;     /* of the first */
    float **hidden;       /* [n_layer + 1][T, width]: what goes into each layer, then the head */
    float **own;          /* [n_layer][T, own_width], each NULL where it has none */
    float **router;       /* [n_layer][T, n_expert] what they are chosen by, each NULL where it has none */
    float *logits;        /* [T, n_vocab] */
    bool has_other;       /* the same model with another library's products */
    char *other_name;
    hn_logit_distance other;
    double *other_layers; /* [n_layer + 1] NMSE of each layer, and the head, fed with this run's
                             input; NULL if unknown */
} hn_reference;

/* HN_ERR_FORMAT names what is missing or is not of this model. Free it in any case. */
hn_status hn_reference_read(hn_reference *out, hn_heap *heap, const char *path,
                            const hn_hparams *hp);
void hn_reference_free(hn_reference *reference);

#endif
