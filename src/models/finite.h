/* finite.h: weights that are no numbers. A result that is not finite is explained by the tensor that made
 * it so; and where a soft cap would turn an infinity into a number again, the tensors before it are looked
 * at beforehand. Every run of a model's graph comes past these. */
#ifndef HN_MODELS_FINITE_H
#define HN_MODELS_FINITE_H

#include "models/model.h"

/* The guard of every graph of the model (hn_model_build sets it): its files are as long as they were, and
 * results that are not finite are refused by the weight that is to blame. */
hn_graph_guard hn_model_guard(const hn_model *model);

/* HN_ERR_NUMERIC names the first weight that is not finite, with row and element; HN_OK: all are. */
hn_status hn_model_check_finite(const hn_model *model);

#endif
