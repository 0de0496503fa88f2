/* model.h: an opened model: its numbers and its weights in canonical order, from a GGUF file or a
 * Hugging Face directory.
 *
 * Weights stay where they are mapped. Of a directory, what hone's order needs together (experts
 * one file tensor each, gains stored less one, halves of fused matrices) is put together in
 * memory; vectors become f32, as a converted file would have them. */
#ifndef HN_MODELS_MODEL_H
#define HN_MODELS_MODEL_H

#include "io/gguf.h"
#include "io/hf_dir.h"
#include "models/models.h"
#include "nn/build.h"

typedef struct hn_model hn_model;

/* HN_ERR_FORMAT names what is missing, has another shape, or has no place in the architecture.
 * `ignored` (or NULL): keys of its configuration that are passed over; copied. */
hn_status hn_model_open(hn_heap *heap, const char *path, const hn_ignored *ignored, hn_model **out);
/* Of keys and tensors as GGUF has them, in memory of this heap, which is the model's then: not if this
 * fails. `name` begins messages. */
hn_status hn_model_of(hn_heap *heap, const char *name, const hn_meta *meta, const hn_weights *weights,
                      hn_model **out);
const hn_ignored *hn_model_ignored(const hn_model *model);
void hn_model_close(hn_model *model); /* takes NULL */

const hn_arch *hn_model_arch(const hn_model *model);
const hn_hparams *hn_model_hparams(const hn_model *model);
bool hn_model_embeds_only(const hn_model *model); /* there is nothing to generate from */
const char *hn_model_path(const hn_model *model);
hn_gguf *hn_model_gguf(const hn_model *model);      /* NULL of a directory, and of memory */
hn_hf_dir *hn_model_hf_dir(const hn_model *model);  /* NULL of a file, and of memory */

/* Every tensor that a model of its architecture and numbers may have. */
const hn_arch_tensor *hn_model_tensors(const hn_model *model, size_t *n);

/* By GGUF name; NULL if the model has none. `model` is an hn_model: for nn_weights.find. */
const nn_weight *hn_model_find(const void *model, const char *gguf_name);

/* A model of some of its layers, in ascending order, over the same weights; *out is closed before
 * `model`. Those whose keys others use must be among them. Refuses models with per-layer
 * embeddings, whose rows are of all layers at once. */
hn_status hn_model_slice(const hn_model *model, int n, const int *layers, hn_model **out);

/* Whether a weight's data is memory of the model's own, not a file's. */
bool hn_model_owns(const hn_model *model, const void *data);

/* Builds its graph; the logits, or a failure of the graph. */
hn_node *hn_model_build(const hn_model *model, nn_build *b, hn_graph *g,
                        const nn_build_options *options);

#endif
