/* adapter_export.h: an adapter in GGUF as a PEFT adapter: adapter_config.json and
 * adapter_model.safetensors; or as a GGUF file that llama.cpp loads.
 *
 * Low-rank pairs become LoRA, of routers and of experts in one parameter `target_parameters`; with
 * magnitudes use_dora; whole tensors modules_to_save. What the other side cannot say is refused by
 * name. */
#ifndef HN_CONVERT_ADAPTER_EXPORT_H
#define HN_CONVERT_ADAPTER_EXPORT_H

#include "convert/encode_rows.h"
#include "models/open_chat.h"
#include "nn/config.h"

/* Beside a PEFT adapter: what hone knows of it, for hone import. */
#define HN_ADAPTER_PROBE "hone.gguf"

/* `base`: a GGUF file or Hugging Face directory; a directory tells the modules' names in full.
 * `dir` is made if it is not there. `template`: what an adapter was trained with, if it is not the base's
 * and the adapter does not carry it. `ignored` (or NULL): keys of the base that are passed over. `is_apart`: a module an
 * expert, as before Transformers 5. */
hn_status hn_adapter_export(hn_heap *heap, hn_pool *pool, const char *adapter, const hn_ignored *ignored, const char *base,
                            const hn_template_choice *template, hn_sink dir, bool is_apart, hn_watch *watch);

/* Copies an adapter that is of llama.cpp's kind. `base`: NULL of one that hone did not train. */
hn_status hn_adapter_export_gguf(hn_heap *heap, hn_pool *pool, const char *adapter, const hn_ignored *ignored,
                                 const char *base_or_null, const hn_template_choice *template,
                                 hn_sink out);

#endif
