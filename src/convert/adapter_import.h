/* adapter_import.h: a PEFT adapter as a LoRA in GGUF, as llama.cpp's converter writes it. */
#ifndef HN_CONVERT_ADAPTER_IMPORT_H
#define HN_CONVERT_ADAPTER_IMPORT_H

#include "convert/encode_rows.h"

typedef struct hn_adapter_import_options {
    const char *base; /* a GGUF file or Hugging Face directory */
    const struct hn_ignored *ignored; /* keys of the base that are passed over, or NULL */
    hn_dtype dtype;   /* of both matrices: f32, f16 or bf16 */
    const char *name; /* general.name; NULL: the directory's */
} hn_adapter_import_options;

/* `dir` holds adapter_config.json and adapter_model.safetensors. What GGUF cannot say, and what
 * the base has no place for, is refused by name. */
hn_status hn_adapter_import(hn_heap *heap, hn_pool *pool, const char *dir, hn_sink out,
                            const hn_adapter_import_options *options, hn_watch *watch);

#endif
