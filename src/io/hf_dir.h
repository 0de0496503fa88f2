/* hf_dir.h: a model in a Hugging Face directory: config, tokenizer, template and safetensors.
 *
 * Only config.json must be there. What else is present is read as it is, whole: these texts are
 * small, save tokenizer.json, which may have tens of megabytes and is parsed once. */
#ifndef HN_IO_HF_DIR_H
#define HN_IO_HF_DIR_H

#include "base/json.h"
#include "base/map_file.h"
#include "io/weights.h"

typedef struct hn_hf_dir {
    hn_heap *heap;
    char *path;
    hn_json_text *config;            /* config.json */
    hn_json_text *generation;        /* generation_config.json, or NULL */
    hn_json_text *tokenizer_config;  /* tokenizer_config.json, or NULL */
    hn_json_text *special_tokens;    /* special_tokens_map.json, or NULL */
    hn_json_text *tokenizer;         /* tokenizer.json, or NULL; see hn_hf_dir_open */
    hn_weights weights;              /* of model.safetensors or of all its shards; may be empty */
    struct hn_safetensors **parts;
    int n_parts;
} hn_hf_dir;

enum { HN_HF_TEXT = 1, HN_HF_WEIGHTS = 2 };

/* `what`: HN_HF_TEXT also reads tokenizer.json, HN_HF_WEIGHTS maps the weights, which must then
 * be there. */
hn_status hn_hf_dir_open(hn_heap *heap, const char *path, int what, hn_hf_dir **out);
/* Whether it has weights, whatever they are. */
hn_status hn_hf_dir_has_weights(const hn_hf_dir *dir, bool *out);
const hn_map_file *hn_hf_dir_map(const hn_hf_dir *dir, int part);

/* The object whose eos_token_id ends a generation, as Transformers has it: generation_config.json,
 * or without that file config.json, or its text_config. */
const hn_json *hn_hf_dir_generation(const hn_hf_dir *dir);
void hn_hf_dir_close(hn_hf_dir *dir); /* takes NULL */

/* Another file of the directory, whole; *out is NULL if it is not there. hn_free it. */
hn_status hn_hf_dir_read(const hn_hf_dir *dir, const char *name, size_t limit, void **out,
                         size_t *bytes);

/* The names of the files in a folder of it that end so, in order of their bytes: `visit` gets
 * "folder/name" and the name without its ending. A folder that is not there has none. */
typedef hn_status hn_hf_dir_visit(void *context, const char *file, const char *name);
hn_status hn_hf_dir_each(const hn_hf_dir *dir, const char *folder, const char *ending,
                         hn_hf_dir_visit *visit, void *context);

/* Whether `path` is a directory. */
bool hn_is_dir(const char *path);

#endif
