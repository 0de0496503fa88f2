/* model_name.h: what a model's name says by the habits of its makers: "Qwen3-0.6B-Instruct-v2" is
 * basename Qwen3, size 0.6B, finetune Instruct, version v2. The rules are those of llama.cpp's
 * converter, so that general.* keys come out the same. */
#ifndef HN_CONVERT_MODEL_NAME_H
#define HN_CONVERT_MODEL_NAME_H

#include "base/meta.h"

enum { HN_NAME_TEXT = 256, HN_NAME_ROOM = 2 * HN_NAME_TEXT };

typedef struct hn_model_name {
    char basename[HN_NAME_ROOM], finetune[HN_NAME_ROOM], version[HN_NAME_ROOM],
        size[HN_NAME_ROOM]; /* "": it says none */
} hn_model_name;

/* A name of HN_NAME_TEXT bytes or more says nothing.
 * `parameters`: of the whole model; a size that is far from it is taken for a context length. */
void hn_model_name_read(const char *name, double parameters, hn_model_name *out);

#endif
