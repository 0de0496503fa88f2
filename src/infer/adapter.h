/* adapter.h: adapters in files, opened for a model and applied while it runs: its weights stay
 * packed and mapped.
 *
 * A GGUF adapter of llama.cpp's kind (adapter.type "lora") is a pair of matrices a tensor. hone's
 * own kind ("hone") also holds magnitudes (DoRA) and whole tensors, which stand in for the
 * model's. Every tensor must have its place, and both of a pair must be there. An adapter that
 * hone trained says what it was trained on: another base is refused. */
#ifndef HN_INFER_ADAPTER_H
#define HN_INFER_ADAPTER_H

#include "io/gguf.h"
#include "models/model.h"

#define HN_ADAPTER_TYPE      "adapter.type"
#define HN_ADAPTER_ALPHA     "adapter.lora.alpha"
#define HN_ADAPTER_BASE      "hone.adapter.base.sha256"
#define HN_ADAPTER_TOKENIZER "hone.adapter.tokenizer.sha256"
#define HN_ADAPTER_TEMPLATE  "hone.adapter.template.sha256"
#define HN_ADAPTER_NUMERICS  "hone.adapter.numerics"
#define HN_ADAPTER_TEST_IDS  "hone.adapter.test.tokens"
#define HN_ADAPTER_TEST_SHA  "hone.adapter.test.logits.sha256"
#define HN_ADAPTER_TEST_LOGITS "hone.adapter.test.logits"
#define HN_ADAPTER_BUDGET    "hone.adapter.test.kl_budget"

typedef struct hn_adapter hn_adapter;

typedef struct hn_adapter_options {
    double scale;      /* of everything low-rank; 0 means 1 */
    bool is_forced;    /* a wrong base is named in `overridden`, and taken */
    char *overridden;  /* HN_ADAPTER_TEXT bytes, or NULL */
} hn_adapter_options;
enum { HN_ADAPTER_TEXT = 256 };

/* The model must outlive it. */
hn_status hn_adapter_open(hn_adapter **out, hn_heap *heap, const hn_model *model, const char *path,
                          const hn_adapter_options *options);
void hn_adapter_close(hn_adapter *adapter); /* takes NULL */

const hn_meta *hn_adapter_meta(const hn_adapter *adapter);

/* One low-rank change, for whoever merges. */
typedef struct hn_adapter_pair {
    const nn_weight *base;
    nn_lora lora; /* matrices in canonical order */
    bool is_embedding;
} hn_adapter_pair;
const hn_adapter_pair *hn_adapter_pair_at(const hn_adapter *adapter, int i); /* NULL: past the last */
const nn_weight *hn_adapter_whole_at(const hn_adapter *adapter, int i);      /* NULL: past the last */

enum { HN_MAX_ADAPTERS = 8 };

/* Those that are applied together, in this order. */
typedef struct hn_adapters {
    hn_adapter *at[HN_MAX_ADAPTERS];
    nn_adapter nodes[HN_MAX_ADAPTERS];
    int n;
} hn_adapters;

/* Takes it. HN_ERR_ARGUMENT if it replaces what another one replaces. */
hn_status hn_adapters_add(hn_adapters *adapters, hn_adapter *adapter);
void hn_adapters_close(hn_adapters *adapters);
void hn_adapters_apply(const hn_adapters *adapters_or_null, nn_build_options *options);

#endif
