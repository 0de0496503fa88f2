/* activation.h: what a feed-forward layer puts its gate, or its only half, through. */
#ifndef HN_NN_ACTIVATION_H
#define HN_NN_ACTIVATION_H

#include "base/status.h"

typedef enum hn_activation {
    HN_ACT_USUAL, /* what the architecture has when nothing is said */
    HN_ACT_SILU,
    HN_ACT_GELU_TANH,
    HN_ACT_GELU,
    HN_ACT_QUICK_GELU, /* x sigmoid(1.702 x) */
    HN_ACT_RELU,
    HN_ACT_RELU2,      /* relu(x)^2 */
    HN_ACT_TANH,
    HN_ACT_MISH, /* x tanh(ln(1 + e^x)) */
    HN_N_ACT
} hn_activation;

/* By a name of Transformers; HN_ERR_UNSUPPORTED. */
hn_status hn_activation_named(const char *word, hn_activation *out);
/* The name that is written. */
const char *hn_activation_word(hn_activation activation);

#endif
