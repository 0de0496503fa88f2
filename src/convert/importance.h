/* importance.h: how much each input of each matrix matters: mean squares of activations.
 *
 * Files are llama.cpp's, in its GGUF form: for each tensor "<name>.in_sum2" f32 [experts, inputs],
 * the sum of squares, and "<name>.counts" f32 [experts, 1]. Its older binary form is read too. */
#ifndef HN_CONVERT_IMPORTANCE_H
#define HN_CONVERT_IMPORTANCE_H

#include "base/heap.h"

typedef struct hn_importance hn_importance;

hn_status hn_importance_open(hn_heap *heap, const char *path, hn_importance **out);
void hn_importance_close(hn_importance *importance); /* takes NULL */

/* Of the tensor called so: `experts` vectors of `inputs` numbers. *out is NULL if the file has
 * none; HN_ERR_SHAPE if it has another number. An expert that nothing reached weighs all alike. */
hn_status hn_importance_of(const hn_importance *importance, const char *tensor, int64_t experts,
                           int64_t inputs, const float **out);

#endif
