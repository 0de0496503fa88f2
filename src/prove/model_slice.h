/* model_slice.h: which layers stand for all of a model. */
#ifndef HN_PROVE_MODEL_SLICE_H
#define HN_PROVE_MODEL_SLICE_H

#include "base/str.h"
#include "models/model.h"

/* The first, the last, the first of every kind, and whose keys the chosen ones use; ascending,
 * into layers[HN_MAX_LAYERS]. Layers are of one kind if their numbers and their weights' names,
 * types and shapes are the same. */
hn_status hn_slice_layers(hn_heap *heap, const hn_model *model, int *layers, int *n);

/* What is proved of a model: those layers, or all with `full` and where all layers share one more embedding. *slice is NULL then, else for
 * hn_model_close. */
hn_status hn_slice_take(hn_heap *heap, const hn_model *model, bool full, hn_model **slice, hn_str *left_out);

/* "3 of 24 layers: 0, 12, 23"; says what was left out. */
void hn_slice_describe(const hn_model *model, const int *layers, int n, hn_str *out);

#endif
