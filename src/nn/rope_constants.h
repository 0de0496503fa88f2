/* rope_constants.h: the divisors of rope's frequencies that files hold ready-made. */
#ifndef HN_NN_ROPE_CONSTANTS_H
#define HN_NN_ROPE_CONSTANTS_H

#include "nn/hparams.h"

/* `n` values of the GGUF tensor called so, rounded as Transformers rounds. */
hn_status hn_rope_constant(const hn_hparams *hp, const char *gguf_name, int64_t n, double *out);

#endif
