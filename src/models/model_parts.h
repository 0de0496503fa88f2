/* model_parts.h: a model's inside, for model.c, which makes it, the formats, which
 * fill it, and slice.c, which takes parts. */
#ifndef HN_MODELS_MODEL_PARTS_H
#define HN_MODELS_MODEL_PARTS_H

#include "models/format.h"
#include "models/identity.h"
#include "models/model.h"

struct hn_model {
    hn_heap *heap;
    char *path;
    const hn_arch *arch;
    const char *prefix;
    hn_hparams *hp;
    hn_ignored ignored; /* of its own memory */
    const hn_model_format *format;
    void *file;                  /* of the format; NULL: none */
    const hn_weights *in_memory; /* while it is being made of these */
    hn_arch_tensor *tensors;
    size_t n_tensors;
    nn_weight *weights;
    void **owned; /* of weights[i]: what close frees, or NULL */
    size_t n;
    uint32_t *index; /* by hash of the name: 1 + weight */
    size_t index_size;
    hn_identity *identity; /* NULL of a slice */
};

/* Makes the index of the weights that there are. */
hn_status hn_model_index(hn_model *model);
/* The tensors of its file. */
const hn_weights *hn_model_stored(const hn_model *model);
/* Whether it has this weight already, by its name in GGUF. */
bool hn_model_has(const hn_model *model, const char *name);
/* Architecture and numbers, of GGUF's keys. */
hn_status hn_model_read_keys(hn_model *model, const hn_meta *meta);

#endif
