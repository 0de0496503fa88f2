/* general_keys.h: the keys general.* of a converted model. */
#ifndef HN_CONVERT_GENERAL_KEYS_H
#define HN_CONVERT_GENERAL_KEYS_H

#include "convert/recipe.h"
#include "io/hf_dir.h"
#include "nn/arch.h"

/* How large a model is: all its parameters, and a label of them, "7.2M" or "8x7B". */
typedef struct hn_model_size {
    double parameters;
    char label[32];
} hn_model_size;

hn_model_size hn_model_size_of(const hn_arch_tensor *tensors, const bool *is_there, size_t n,
                               int64_t n_expert);

/* general.name; of no name the last part of `path`, as a title. */
hn_status hn_name_key(const char *path, const char *name, hn_meta *meta);

hn_status hn_general_keys(const hn_hf_dir *dir, const char *name, const hn_model_size *size,
                          int file_type, hn_meta *meta);

#endif
