/* model_id.h: "ORG/NAME" as the hub has it, in words: the rules of llama.cpp's converter. */
#ifndef HN_CONVERT_MODEL_ID_H
#define HN_CONVERT_MODEL_ID_H

#include "base/heap.h"
#include "convert/model_name.h"

typedef struct hn_model_id {
    hn_heap *heap;
    char *title;        /* "Qwen3 0.6B Base" */
    char *organization; /* "Qwen"; NULL: it says none */
    hn_model_name name;
} hn_model_id;

/* An id with a blank is a sentence: a title and no more. An organisation that begins with a
 * point is a folder, and none. On failure everything is empty. */
hn_status hn_model_id_read(hn_heap *heap, const char *id, double parameters, hn_model_id *out);
void hn_model_id_free(hn_model_id *id);

/* "qwen3-0.6b" is "Qwen3 0.6b": words get capitals, save those that have some, begin with a
 * digit or are a version, as Python's str.title gives them. hn_free it; NULL: no memory. */
char *hn_model_title(hn_heap *heap, const char *text, size_t bytes);

#endif
