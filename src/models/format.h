/* format.h: what a model may lie in: formats.def as a table. A format knows its files; what it makes of them is the
 * same whatever they are: numbers, weights by their names in GGUF, a tokenizer, templates. */
#ifndef HN_MODELS_FORMAT_H
#define HN_MODELS_FORMAT_H

#include "base/map_file.h"
#include "io/weights.h"
#include "models/model.h"
#include "models/open_chat.h"
#include "nn/surplus.h"
#include "text/tokenizer/tokenizer.h"

/* A model without its weights. */
typedef struct hn_model_head {
    const hn_arch *arch;
    hn_hparams *hp;     /* the caller's */
    const char *prefix; /* what names begin with in files of other names than GGUF's; NULL: not said */
    bool has_weights;
} hn_model_head;

typedef struct hn_model_format {
    const char *name;
    bool (*is)(const char *path);
    hn_status (*read_head)(hn_heap *heap, const char *path, const hn_ignored *ignored, hn_model_head *head);
    hn_status (*is_tokenizer_alone)(hn_heap *heap, const char *path, bool *out);
    hn_status (*read_tokenizer)(hn_heap *heap, const char *path, hn_tokenizer **out);
    hn_status (*read_chat)(hn_chat_input *in, const char *path);

    /* Sets file, architecture and numbers of a model with a path. */
    hn_status (*open)(hn_model *model);
    void (*close)(void *file);
    const hn_weights *(*weights)(const void *file);
    /* All tensors that the architecture's table names, into model->weights, marked as taken. */
    hn_status (*take)(hn_model *model, hn_taken *taken);
    int (*parts)(const void *file);
    const hn_map_file *(*map)(const void *file, int part);
} hn_model_format;

#define HN_MODEL_FORMAT(name) extern const hn_model_format hn_model_format_##name;
#include "models/formats.def"
#undef HN_MODEL_FORMAT

const hn_model_format *hn_model_format_of(const char *path);

#endif
