/* model_name.h: what a model's name says by the habits of its makers: "Qwen3-0.6B-Instruct-v2" is
 * basename Qwen3, size 0.6B, finetune Instruct, version v2. The rules are those of llama.cpp's
 * converter, so that general.* keys come out the same. */
#ifndef HN_CONVERT_MODEL_NAME_H
#define HN_CONVERT_MODEL_NAME_H

#include "base/meta.h"

enum { HN_NAME_TEXT = 256 };

typedef struct hn_model_name {
    char basename[HN_NAME_TEXT], finetune[HN_NAME_TEXT], version[HN_NAME_TEXT],
        size[HN_NAME_TEXT]; /* "": it says none */
} hn_model_name;

/* `parameters`: of the whole model; a size that is far from it is taken for a context length. */
void hn_model_name_read(const char *name, double parameters, hn_model_name *out);

#endif
