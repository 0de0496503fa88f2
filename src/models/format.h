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

/* A file that is looked into, whether or not hone can run what is in it. Texts live as long as the file. */
typedef struct hn_model_look {
    void *file;            /* the format's; its close takes it */
    const char *format;    /* what the file says that it is: "GGUF 3", "safetensors" */
    const hn_meta *meta;   /* its keys of GGUF; NULL: it has none of these */
    const hn_weights *weights;
    int parts;
    char arch_name[64];    /* as the file calls it where hone does not know it; "": not said */
    const hn_arch *arch;   /* NULL: not known to hone, or none stated */
    hn_hparams *hp;        /* the heap's; NULL where arch is, or where there is no model in it */
    const char *tokenizer_class; /* or NULL */
    bool has_template;
    hn_str template, others;     /* the default one; names of those beside it: "rag, tool_use" */
    const char *template_key;    /* that it was taken from, or NULL */
    size_t template_unused;      /* bytes of a key that another was taken for */
} hn_model_look;

typedef struct hn_model_format {
    const char *name;
    bool (*is)(const char *path);
    hn_status (*read_head)(hn_heap *heap, const char *path, const hn_ignored *ignored, hn_model_head *head);
    hn_status (*is_tokenizer_alone)(hn_heap *heap, const char *path, bool *out);
    hn_status (*read_tokenizer)(hn_heap *heap, const char *path, hn_tokenizer **out);
    hn_status (*read_chat)(hn_chat_input *in, const char *path);
    /* Its keys tokenizer.*, as a GGUF of it has them. */
    hn_status (*read_tokenizer_keys)(hn_heap *heap, const char *path, hn_meta *keys);
    /* Fills in what is there; the look is closed also when it failed. */
    hn_status (*look)(hn_heap *heap, const char *path, const hn_ignored *ignored, hn_model_look *look);

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

hn_status hn_model_look_open(hn_model_look *look, hn_heap *heap, const char *path, const hn_ignored *ignored);
void hn_model_look_close(hn_model_look *look, hn_heap *heap, const char *path);
/* For formats: a template, the default one if it is called so, or else one of those beside it. */
void hn_model_look_add(hn_model_look *look, const char *name, const char *text, size_t bytes);

#endif
