/* gradients.h: the gradient of every trained tensor on one batch, for whoever compares them with another engine's. Nothing
 * is clipped or trained. */
#ifndef HN_TRAIN_GRADIENTS_H
#define HN_TRAIN_GRADIENTS_H

#include "train/input.h"

typedef struct hn_gradients_options {
    const hn_train_config *config; /* checked */
    const char *from; /* an adapter, whose tensors and values these are; NULL: the configuration's targets */
    int64_t most;     /* examples; 0: all */
    const hn_run_options *run;
} hn_gradients_options;

typedef struct hn_gradients {
    const hn_gradients_options *o;
    const hn_train_input *in;
    hn_adapter *from; /* or NULL */
    hn_tuning *tuning;
    hn_learner *learner;
    hn_batch batch;
    hn_learned learned;
} hn_gradients;

/* Computes them as the input's run says. Free it also after a failure. Options and input must outlive it. */
hn_status hn_gradients_compute(hn_gradients *gradients, const hn_train_input *in, const hn_gradients_options *options);
void hn_gradients_free(hn_gradients *gradients);

/* Number i of tuning->tensors, f32, rows in the order of Hugging Face's files; *values is freed with hn_free. */
hn_status hn_gradients_take(const hn_gradients *gradients, int i, float **values, size_t *bytes);
/* All of them, as safetensors; loss, norm and counts are in __metadata__. */
hn_status hn_gradients_write(const hn_gradients *gradients, hn_sink to);

#endif
