/* adapter_extra.h: what an adapter of PEFT holds beside pairs of matrices: the magnitudes of DoRA,
 * and modules saved whole. hone's own kind of adapter has a place for both; llama.cpp's has not. */
#ifndef HN_CONVERT_ADAPTER_EXTRA_H
#define HN_CONVERT_ADAPTER_EXTRA_H

#include "convert/adapter_base.h"
#include "convert/adapter_config.h"

typedef struct hn_adapter_extra {
    const hn_adapter_base *base;
    const hn_arch_tensor *tensor;
    const hn_weight_entry *from;
    bool is_magnitude;
    char name[HN_TENSOR_NAME + 16]; /* in GGUF */
} hn_adapter_extra;

/* The magnitude of a pair under use_dora, without which none may be there; out->from is NULL of none.
 * `prefix` is that under which the pair was found. */
hn_status hn_adapter_extra_magnitude(const hn_adapter_base *base, const hn_weights *weights,
                                     const hn_adapter_config *config, const char *prefix,
                                     const hn_arch_tensor *tensor, hn_adapter_extra *out);

/* The tensor itself, under modules_to_save; out->from is NULL of none. */
hn_status hn_adapter_extra_whole(const hn_adapter_base *base, const hn_weights *weights,
                                 const hn_adapter_config *config, const hn_arch_tensor *tensor,
                                 hn_adapter_extra *out);

hn_status hn_adapter_extra_type(const hn_adapter_extra *extra, hn_dtype dtype, hn_type *out);

/* A row of it as GGUF has it: of hn_row_job. */
const uint8_t *hn_adapter_extra_row(const void *extra, int64_t row, float *out, uint8_t *bytes);

#endif
