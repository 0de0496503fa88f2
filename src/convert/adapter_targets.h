/* adapter_targets.h: what adapter_config.json says of the modules that an adapter changes, beside what its tensors
 * say. PEFT leaves a tensor out that no target names, and makes up what a target names and the file lacks; here the
 * two have to agree. */
#ifndef HN_CONVERT_ADAPTER_TARGETS_H
#define HN_CONVERT_ADAPTER_TARGETS_H

#include "convert/adapter_base.h"
#include "convert/adapter_config.h"

/* Refuses lists and patterns of another kind. */
hn_status hn_adapter_targets_check(const hn_json *root);

/* The module's, or a parameter's, by a pattern that is its name; else that of all. */
hn_status hn_adapter_targets_alpha(const hn_adapter_config *config, const char *module, double *alpha);

/* A pair of matrices of a module, by its full name in the model. */
hn_status hn_adapter_targets_admit(const hn_adapter_config *config, const char *module, int64_t rank);

/* Every module that is named and that the base has is there. */
hn_status hn_adapter_targets_all_there(const hn_adapter_config *config, const hn_adapter_base *base,
                                       const hn_weights *weights);

#endif
