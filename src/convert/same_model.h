/* same_model.h: whether what a GGUF file will say is the model that its directory is.
 *
 * The keys that are about to be written are read back as any reader would, and the model's graph is
 * built of them and of the directory's numbers, over the same tensors: both must be the same to the
 * last attribute. So a number that convert does not carry over is refused before a byte is written,
 * whatever architecture it is of and whoever added it. */
#ifndef HN_CONVERT_SAME_MODEL_H
#define HN_CONVERT_SAME_MODEL_H

#include "io/weights.h"
#include "nn/arch.h"

typedef struct hn_same_model {
    hn_heap *heap;
    const hn_arch *arch;
    const hn_hparams *hp;         /* the directory's */
    const hn_arch_tensor *tensors; /* of the architecture, those of the entries among them */
    const hn_weight_entry *entries; /* that will be written */
    size_t n;
} hn_same_model;

/* HN_ERR_UNSUPPORTED names what would be lost. */
hn_status hn_same_model_check(const hn_same_model *m, const hn_meta *meta);
/* Whether any reader would take these keys and tensors, and find a graph: of a model that was never a directory. */
hn_status hn_same_model_opens(const hn_same_model *m, const hn_meta *meta);

#endif
