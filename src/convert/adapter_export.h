/* adapter_export.h: a LoRA in GGUF as a PEFT adapter: adapter_config.json and
 * adapter_model.safetensors. */
#ifndef HN_CONVERT_ADAPTER_EXPORT_H
#define HN_CONVERT_ADAPTER_EXPORT_H

#include "convert/encode_rows.h"

/* `base`: a GGUF file or Hugging Face directory; a directory tells the modules' names in full.
 * `dir` is made if it is not there. */
hn_status hn_adapter_export(hn_heap *heap, hn_pool *pool, const char *adapter, const char *base,
                            const char *dir, hn_watch *watch);

#endif
