/* adapter_base.h: the model that an adapter is for: its architecture, numbers and names. None
 * of its weights is read. */
#ifndef HN_CONVERT_ADAPTER_BASE_H
#define HN_CONVERT_ADAPTER_BASE_H

#include "nn/arch.h"
#include "nn/config.h"

#define HN_PEFT_PREFIX "base_model.model." /* of every name in PEFT's files */
enum { HN_PEFT_NAME = HN_TENSOR_NAME + 64 };

typedef struct hn_adapter_base {
    hn_heap *heap;
    const char *path;          /* borrowed */
    const hn_ignored *ignored; /* borrowed, or NULL */
    const hn_arch *arch;
    hn_hparams *hp;
    hn_arch_tensor *tensors;
    size_t n;
    const char *prefix; /* of names in safetensors */
    bool has_weights;   /* that can be run; a directory may have config.json alone */
} hn_adapter_base;

/* A GGUF file or a Hugging Face directory, whose config.json is enough. Close it also after a
 * failure. */
hn_status hn_adapter_base_open(hn_heap *heap, const char *path, const hn_ignored *ignored,
                               hn_adapter_base *out);
void hn_adapter_base_close(hn_adapter_base *base);

/* An adapter is a pair of matrices: of a tensor that is cut out of another, or transposed by
 * head, none can be told. */
hn_status hn_adapter_check_kind(const hn_adapter_base *base, const hn_arch_tensor *tensor,
                                const char *module);

/* Both halves of a pair must fit the tensor; an embedding's first half is [rank, words]. Sizes
 * are of one expert. */
hn_status hn_adapter_check_shapes(const hn_arch_tensor *tensor, bool is_embedding,
                                  const hn_weight_entry *a, const hn_weight_entry *b);

bool hn_adapter_is_embedding(const hn_arch_tensor *tensor);

/* Whether PEFT has to be told of the module's parameter instead. Routers are bare parameters in Transformers 5, and
 * modules before: this fits both. A dense gate_proj beside experts whose files say gate_proj too PEFT takes for theirs,
 * and leaves its change out, however it is named; `is_apart`: as before Transformers 5, when it did not. */
bool hn_adapter_is_parameter(const hn_adapter_base *base, const hn_arch_tensor *tensor, bool is_apart);
int64_t hn_adapter_experts(const hn_arch_tensor *tensor); /* 1 unless they are stacked */

/* The module of a tensor: the name in safetensors without ".weight". HN_TENSOR_NAME bytes. */
void hn_adapter_module(const hn_adapter_base *base, const char *prefix,
                       const hn_arch_tensor *tensor, int expert, char *out);

/* Of the rows of B: where GGUF's row i lies in Hugging Face's order, and the reverse. */
int64_t hn_adapter_row_of_gguf(const hn_adapter_base *base, const hn_arch_tensor *tensor,
                               int64_t i);
int64_t hn_adapter_row_of_hf(const hn_adapter_base *base, const hn_arch_tensor *tensor,
                             int64_t i);

/* Element i of f32, f16 or bf16 data. */
float hn_adapter_element(const hn_weight_entry *entry, int64_t i);

#endif
