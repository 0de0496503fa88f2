/* adapter_config.h: adapter_config.json, as far as a pair of matrices goes: what it says beyond
 * that is refused by name. */
#ifndef HN_CONVERT_ADAPTER_CONFIG_H
#define HN_CONVERT_ADAPTER_CONFIG_H

#include "base/json.h"
#include "base/meta.h"

typedef struct hn_adapter_config {
    double alpha;
    bool has_root; /* rsLoRA: the scale is alpha / sqrt(rank) */
} hn_adapter_config;

/* Writes adapter.alora.invocation_tokens too, where there are any. */
hn_status hn_adapter_config_read(hn_heap *heap, const char *path, hn_adapter_config *out,
                                 hn_meta *meta);

typedef struct hn_adapter_module_rank {
    const char *module;
    int64_t rank;
} hn_adapter_module_rank;

/* For an adapter whose scale is alpha / rank, or 1 of alpha 0; modules are named in full. */
hn_status hn_adapter_config_write(hn_heap *heap, const char *path, double alpha,
                                  const hn_meta *meta, const hn_adapter_module_rank *modules,
                                  size_t n);

#endif
