/* adapter_fused.h: experts in one parameter, as Transformers 5 holds them and PEFT adapts them
 * (`target_parameters`).
 *
 * A parameter of E experts has one pair for all: A [R * E, in], row e * R + j, and B [out, R * E],
 * column j * E + e. Where it fuses two of GGUF's tensors (gate above up), A has the rows of both and
 * B blocks with zeros beside them: rank R is the sum of both ranks. */
#ifndef HN_CONVERT_ADAPTER_FUSED_H
#define HN_CONVERT_ADAPTER_FUSED_H

#include "convert/adapter_base.h"

typedef struct hn_adapter_fused {
    char module[HN_TENSOR_NAME];     /* "model.layers.0.mlp.experts" */
    char parameter[48];              /* "gate_up_proj" */
    const hn_arch_tensor *parts[2];  /* one above the other; the second may be NULL */
} hn_adapter_fused;

/* The parameter that the tensor is in, or false: the architecture has none for it. */
bool hn_adapter_fused_of(const hn_adapter_base *base, const char *prefix,
                         const hn_arch_tensor *tensor, hn_adapter_fused *out);

/* "module.parameter", as target_parameters has it. */
void hn_adapter_fused_target(const hn_adapter_fused *fused, char out[2 * HN_TENSOR_NAME]);

#endif
