/* adapter_write.h: what was trained, as a file.
 *
 * Pairs of matrices are a GGUF adapter that llama.cpp loads; with magnitudes or whole tensors it
 * is of hone's own type, which llama.cpp rejects. alpha is one for the whole file: where scales
 * differ, B carries the rest. The file holds only what determines the result, so that equal runs
 * make equal files. */
#ifndef HN_TRAIN_ADAPTER_WRITE_H
#define HN_TRAIN_ADAPTER_WRITE_H

#include "infer/adapter.h"
#include "train/tuning.h"

/* Whether whole tensors are all that was trained: then the result is a model, not an adapter. */
bool hn_tuning_is_full(const hn_tuning *tuning);

/* `keys`: what the file says of its making, beyond what makes it an adapter. Refuses elements
 * that are not finite, by tensor. */
hn_status hn_adapter_write(const hn_tuning *tuning, const char *path, const hn_meta *keys);

/* The whole model as a GGUF file: the base's tensors with those trained in their place, these in
 * the type that the base has. `file`: the base; of a directory, the file it was converted to. */
hn_status hn_tuned_model_write(const hn_tuning *tuning, const hn_gguf *file, const char *path,
                               const hn_meta *keys);

#endif
