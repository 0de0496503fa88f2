/* target.h: which tensors are trained, and how: "attn:r=8,experts,router:full,blk.0.ffn_up:dora".
 *
 * Items are separated by commas. Each is a group, a name or a pattern, followed by options, each
 * after a colon; of several that name the same tensor the last one counts.
 *
 *     groups    attn mlp experts router embed head norm all
 *     names     as GGUF has them, with or without "blk.N." and ".weight", or the last parts of
 *               Hugging Face's ("q_proj", "self_attn.q_proj"); '*' stands for anything
 *     options   lora dora full frozen r=RANK alpha=ALPHA rs (alpha / sqrt(r)) dropout=P
 *               decay=X (of vectors too, which have none otherwise)
 *
 * `all` is every matrix that goes into a product but the head; `all:full` every tensor. */
#ifndef HN_TRAIN_TARGET_H
#define HN_TRAIN_TARGET_H

#include "base/heap.h"

typedef enum hn_tune_how { HN_TUNE_LORA, HN_TUNE_DORA, HN_TUNE_FULL, HN_TUNE_FROZEN } hn_tune_how;

typedef struct hn_tune_settings {
    hn_tune_how how;
    int64_t rank;
    double alpha;   /* 0: the rank's double */
    bool is_rooted; /* rsLoRA */
    double dropout;
    bool has_decay; /* of its own: decay */
    double decay;
} hn_tune_settings;

typedef struct hn_tune_target {
    char what[96];
    hn_tune_settings settings;
    bool says_how; /* lora, dora or full was among the options */
} hn_tune_target;

typedef struct hn_tune_targets {
    hn_tune_target *at;
    size_t n;
} hn_tune_targets;

/* `otherwise`: settings that an item does not give. HN_ERR_ARGUMENT names the item. */
hn_status hn_tune_targets_parse(hn_heap *heap, const char *text, const hn_tune_settings *otherwise,
                           hn_tune_targets *out);
void hn_tune_targets_free(hn_heap *heap, hn_tune_targets *targets);

/* What a target is asked about a tensor. */
typedef struct hn_tune_name {
    const char *gguf;
    const char *hf;  /* its source in safetensors, or NULL */
    int rank;
    bool is_product; /* it is multiplied with, by a token's vector */
} hn_tune_name;

bool hn_tune_target_is_group(const hn_tune_target *target);
bool hn_tune_target_matches(const hn_tune_target *target, const hn_tune_name *name);

#endif
