/* general_keys.h: the keys general.* of a converted model. */
#ifndef HN_CONVERT_GENERAL_KEYS_H
#define HN_CONVERT_GENERAL_KEYS_H

#include "convert/recipe.h"
#include "io/hf_dir.h"
#include "nn/arch.h"

/* "8B", "30B-A3B" in words: "7.2M", "8x7B". At least 32 bytes. */
void hn_size_label(const hn_arch_tensor *tensors, const bool *is_there, size_t n,
                   int64_t n_expert, char *out);

/* general.name; of no name the last part of `path`, as a title. */
hn_status hn_name_key(const char *path, const char *name, hn_meta *meta);

hn_status hn_general_keys(const hn_hf_dir *dir, const char *name, const char *size_label,
                          int file_type, hn_meta *meta);

#endif
