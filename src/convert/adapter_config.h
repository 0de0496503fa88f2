/* adapter_config.h: adapter_config.json, as far as pairs of matrices, DoRA and whole modules go:
 * what it says beyond that is refused by name. */
#ifndef HN_CONVERT_ADAPTER_CONFIG_H
#define HN_CONVERT_ADAPTER_CONFIG_H

#include "base/json.h"
#include "base/meta.h"

typedef struct hn_adapter_config {
    double alpha;
    bool has_root; /* rsLoRA: the scale is alpha / sqrt(rank) */
    bool is_dora, saves_modules;
    hn_json_text *text; /* for adapter_targets.h */
} hn_adapter_config;

/* Writes adapter.alora.invocation_tokens too, where there are any. Closed also after a failure. */
hn_status hn_adapter_config_read(hn_heap *heap, const char *path, hn_adapter_config *out,
                                 hn_meta *meta);
void hn_adapter_config_close(hn_adapter_config *config);

typedef enum hn_peft_kind {
    HN_PEFT_MODULE,    /* target_modules */
    HN_PEFT_PARAMETER, /* target_parameters */
    HN_PEFT_SAVED,     /* modules_to_save */
    HN_N_PEFT_KINDS
} hn_peft_kind;

/* What an adapter changes, named in full. */
typedef struct hn_adapter_target {
    const char *name;
    hn_peft_kind kind;
    int64_t rank; /* 0 of what is saved whole */
} hn_adapter_target;

typedef struct hn_adapter_told {
    double alpha; /* the scale is alpha / rank, or 1 of alpha 0 */
    bool is_dora;
    const hn_adapter_target *targets;
    size_t n;
} hn_adapter_told;

hn_status hn_adapter_config_write(hn_heap *heap, hn_sink to, const hn_meta *meta,
                                  const hn_adapter_told *told);

#endif
