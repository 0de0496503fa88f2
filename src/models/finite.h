/* finite.h: weights that are no numbers. A result that is not finite is explained by the tensor that made
 * it so; and where a soft cap would turn an infinity into a number again, the tensors before it are looked
 * at beforehand. */
#ifndef HN_MODELS_FINITE_H
#define HN_MODELS_FINITE_H

#include "models/model.h"

/* HN_ERR_NUMERIC names the first weight that is not finite, with row and element; HN_OK: all are. */
hn_status hn_model_check_finite(const hn_model *model);

/* The same of what stands before a soft cap; HN_OK at once of models without one. */
hn_status hn_model_check_capped(const hn_model *model);

/* `n` results of the model: HN_ERR_NUMERIC if one is not finite, with the weight that is to blame, if one
 * is. */
hn_status hn_model_check_results(const hn_model *model, const float *results, int64_t n);

#endif
