/* adapter.h: adapters in files, opened for a model and applied while it runs: its weights stay
 * packed and mapped.
 *
 * A GGUF adapter of llama.cpp's kind (adapter.type "lora") is a pair of matrices a tensor. hone's
 * own kind ("hone") also holds magnitudes (DoRA) and whole tensors, which stand in for the
 * model's. Every tensor must have its place, and both of a pair must be there. An adapter that
 * hone trained says what it was trained on, and what it gave for a few tokens; hn_adapter_open holds
 * it to that, and nothing else makes an hn_adapter. */
#ifndef HN_INFER_ADAPTER_H
#define HN_INFER_ADAPTER_H

#include "backend/backend.h"
#include "base/sha256.h"
#include "infer/run_spec.h"
#include "io/gguf.h"
#include "models/model.h"
#include "models/open_chat.h"

#define HN_ADAPTER_TYPE      "adapter.type"
#define HN_ADAPTER_ALPHA     "adapter.lora.alpha"
#define HN_ADAPTER_INVOCATION "adapter.alora.invocation_tokens"
#define HN_ADAPTER_BASE      "hone.adapter.base.sha256"
#define HN_ADAPTER_VERSION   "hone.adapter.version" /* 2; of those without it, 1 */
#define HN_ADAPTER_SEAL      "hone.adapter.sha256"  /* of the file: io/seal.h */
#define HN_ADAPTER_TOKENIZER "hone.adapter.tokenizer.sha256"
#define HN_ADAPTER_TEMPLATE  "hone.adapter.template.sha256"
#define HN_ADAPTER_TEMPLATE_TEXT "hone.adapter.template" /* where it is not the model's own */
#define HN_ADAPTER_NUMERICS  "hone.adapter.numerics"
#define HN_ADAPTER_TEST_IDS  "hone.adapter.test.tokens"
#define HN_ADAPTER_TEST_SHA  "hone.adapter.test.logits.sha256"
#define HN_ADAPTER_TEST_LOGITS "hone.adapter.test.logits"
#define HN_ADAPTER_BUDGET    "hone.adapter.test.kl_budget"

typedef struct hn_adapter hn_adapter;

/* What it is held to. */
typedef struct hn_adapter_use {
    const hn_model *model;     /* must outlive it */
    hn_run_spec run;           /* that it is for: its self-test runs so, */
    bool as_trained;           /* or in the numerics that it was trained in alone */
    const char *tokenizer;     /* SHA-256 of the one in use; NULL: the model's own */
    const char *template;      /* the same of the chat template; NULL: the one that the adapter carries, or
                                * the model's own */
    bool renders_nothing;      /* no template is in use: texts are taken as they are */
    double scale;              /* of everything low-rank; 0 means 1 */
    bool may_be_forced;        /* whoever asked could say --force, which a refusal names then */
    bool is_forced;            /* another base, tokenizer or template is told, and taken */
} hn_adapter_use;

/* What the opening found. */
typedef struct hn_adapter_trial {
    char note[160];       /* what it is held to less strictly, or "" */
    char overridden[512]; /* what was forced, in words; or "" */
    bool was_tried;       /* an adapter of others has no test, one of another base nothing to compare */
    hn_numerics recorded;
    double kl; /* of the recorded logits from those of the run; 0 where bits are asked and hold */
    double budget; /* at most that */
} hn_adapter_trial;

/* The only way to one: its keys, base, tokenizer, template and self-test hold, or it is refused. */
hn_status hn_adapter_open(hn_adapter **out, hn_heap *heap, const char *path,
                          const hn_adapter_use *use, hn_adapter_trial *told_or_null);
/* The file of one, for those who copy its tensors: what has a contract is held to it on `base`, and
 * what has none needs no base, but fits the one that is told if `fits_base`. A template is refused where none was
 * trained with. Closed with hn_gguf_close. */
hn_status hn_adapter_file_open(hn_gguf **out, hn_heap *heap, const char *path,
                               const hn_ignored *ignored, const char *base_or_null, bool fits_base,
                               const hn_template_choice *template_or_null, int n_threads);
/* The SHA-256 of a template with the model's tokens, as hn_adapter_use has it. */
hn_status hn_adapter_template(hn_heap *heap, const char *model, const hn_template_choice *template,
                              char text[65]);
void hn_adapter_close(hn_adapter *adapter); /* takes NULL */

const hn_meta *hn_adapter_meta(const hn_adapter *adapter);
const hn_weights *hn_adapter_tensors(const hn_adapter *adapter); /* as the file has them */
/* What it was trained in; those of before there was a choice do not say: f32. */
hn_status hn_adapter_numerics(const hn_adapter *adapter, hn_numerics *out);

/* One low-rank change, for whoever merges. */
typedef struct hn_adapter_pair {
    const nn_weight *base;
    nn_lora lora; /* matrices in canonical order */
    bool is_embedding;
} hn_adapter_pair;
const hn_adapter_pair *hn_adapter_pair_at(const hn_adapter *adapter, int i); /* NULL: past the last */
const nn_weight *hn_adapter_whole_at(const hn_adapter *adapter, int i);      /* NULL: past the last */

/* The keys of version 2, for who writes one: the version, and a seal that the writer fills in. */
hn_status hn_adapter_set_version(hn_meta *keys);

/* Adds all that it changes, by name, scale and bytes. */
void hn_adapter_digest(const hn_adapter *adapter, hn_sha256 *sha);

enum { HN_MAX_ADAPTERS = 8 };

/* Those that are applied together, in this order. */
typedef struct hn_adapters {
    hn_adapter *at[HN_MAX_ADAPTERS];
    nn_adapter nodes[HN_MAX_ADAPTERS];
    int n;
} hn_adapters;

/* Takes it. HN_ERR_ARGUMENT if it replaces what another one replaces. */
hn_status hn_adapters_add(hn_adapters *adapters, hn_adapter *adapter);
/* The template that a conversation with them is written by: the one that some of them carry; data NULL:
 * the model's. HN_ERR_ARGUMENT if they were trained with several. */
hn_status hn_adapters_template(const hn_adapters *adapters, hn_span *out);
void hn_adapters_close(hn_adapters *adapters);
void hn_adapters_apply(const hn_adapters *adapters_or_null, nn_build_options *options);

#endif
