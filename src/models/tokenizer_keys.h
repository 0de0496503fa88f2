/* tokenizer_keys.h: the keys tokenizer.* of a converted model: vocabulary and chat template. */
#ifndef HN_MODELS_TOKENIZER_KEYS_H
#define HN_MODELS_TOKENIZER_KEYS_H

#include "base/meta.h"
#include "io/hf_dir.h"

hn_status hn_tokenizer_keys(const hn_hf_dir *dir, hn_meta *meta);

#endif
