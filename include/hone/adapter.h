/* adapter.h: adapters: what they are held to, to and from other programs' files, and into the weights.
 *
 * hn_lm_add_adapter of model.h opens one and applies it. Here are the same with what was found, and the files. All
 * is told of by hn_engine_on_work, ended by hn_engine_cancel, and what it writes has its name when it is whole, or
 * never. */
#ifndef HONE_ADAPTER_H
#define HONE_ADAPTER_H

#include "hone/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What came of holding one to what it was trained on, and to its own test. */
typedef struct hn_lm_adapter_trial {
    char note[160];       /* what it is held to less strictly, in words; or "" */
    char overridden[512]; /* what hn_lm_adapter_options.is_forced let pass; or "" */
    int32_t was_tried;    /* 0: it has no test, or one on another base */
    hn_lm_numerics recorded; /* that it was trained in */
    double kl;            /* of its recorded logits from those found, nats; 0 where bits are asked and hold */
    double budget;        /* at most that */
} hn_lm_adapter_trial;

/* hn_lm_add_adapter, and what was found; also where it is refused for what was applied before it. */
HN_API hn_status hn_lm_apply_adapter(hn_lm *lm, const char *path, const hn_lm_adapter_options *options_or_null,
                                     hn_lm_adapter_trial *trial, size_t size);

/* ---- to and from PEFT and llama.cpp ---- */

typedef struct hn_lm_import_options {
    size_t size;
    const char *type; /* of the matrices: "f32" (NULL), "f16" or "bf16"; hn_element_name gives them */
    const char *name; /* general.name; NULL: the directory's */
    const char *const *ignored_keys; /* of the base, that are passed over */
    int32_t n_ignored_keys;
    int32_t overwrite; /* a file that is there, instead of refusing; never an input */
} hn_lm_import_options;

/* A PEFT adapter, adapter_config.json and adapter_model.safetensors in a directory, as an adapter in GGUF for the
 * base, a GGUF file or a Hugging Face directory. What GGUF cannot say is refused by name. */
HN_API hn_status hn_lm_import_adapter(hn_engine *engine, const char *peft, const char *base, const char *out,
                                      const hn_lm_import_options *options_or_null);

typedef struct hn_lm_export_options {
    size_t size;
    const char *base; /* what the adapter is for; NULL: it says nothing of its base, and goes to llama.cpp */
    const char *template_file; /* what it was trained with, if it does not carry it */
    const char *template_name; /* or the base's of this name */
    int32_t is_apart;  /* PEFT: a module an expert, as before Transformers 5 */
    const char *const *ignored_keys; /* of the base, that are passed over */
    int32_t n_ignored_keys;
    int32_t overwrite;
} hn_lm_export_options;

/* For PEFT: into a folder, which is made; needs a base. */
HN_API hn_status hn_lm_export_peft(hn_engine *engine, const char *adapter, const char *folder,
                                   const hn_lm_export_options *options);
/* A file that llama.cpp loads. An adapter without a contract of hone's needs no base; it is held to one that is told. */
HN_API hn_status hn_lm_export_gguf(hn_engine *engine, const char *adapter, const char *out,
                                   const hn_lm_export_options *options_or_null);

/* ---- into the weights ---- */

typedef struct hn_lm_merge_options {
    size_t size;
    const char *type;  /* of changed matrices, as hn_element_name gives it; NULL: that which each has */
    double budget;     /* KL(adapter || merged) at most, nats a token; 0: 0.01; below 0: 0 is meant */
    double keep;       /* share of the update that must survive; 0: 0.9; below 0: 0 is meant */
    const char *held;  /* a file of text to measure on; NULL: one of hone's own */
    const char *template_file; /* for the merged model; NULL: what the adapter was trained with */
    const char *template_name;
    const char *digests; /* a folder, as hn_lm_keep_digests */
    const char *const *ignored_keys;
    int32_t n_ignored_keys;
    int32_t is_forced; /* the file is kept whatever is measured */
    int32_t overwrite;
} hn_lm_merge_options;

/* What was measured. The caller frees it, before its engine; it needs no model any more. Nothing changes it: any number of
 * threads may read one. */
typedef struct hn_lm_merge_report hn_lm_merge_report;

/* Of the whole. */
typedef struct hn_lm_merge_sum {
    size_t n_tensors;   /* changed */
    double kept;        /* share of all changes together */
    double kl, kl_base; /* KL(adapter || merged), KL(adapter || base), nats a token */
    int32_t fits;       /* both budgets hold, and the base itself is no nearer to the adapter */
    const char *better; /* if not: a type that would do; NULL: none was found */
} hn_lm_merge_sum;

typedef struct hn_lm_merged {
    const char *name, *from, *to; /* types: "q4_k" */
    double update, weight; /* lengths: of the change, and of the weights */
    double kept, error;    /* shares of the change: along it, and beside it */
} hn_lm_merged;

/* A GGUF model with an adapter's changes in its weights. The adapter is held to its contract first. *report, which
 * the caller frees, is there if it was measured: also with HN_ERR_NUMERIC, where the budgets do not hold and
 * nothing is written; else NULL. */
HN_API hn_status hn_lm_merge(hn_engine *engine, const char *model, const char *adapter, const char *out,
                             const hn_lm_merge_options *options_or_null, hn_lm_merge_report **report);
/* Both live as long as the report. NULL: there is no such tensor. */
HN_API const hn_lm_merge_sum *hn_lm_merge_report_sum(const hn_lm_merge_report *report);
HN_API const hn_lm_merged *hn_lm_merge_report_tensor(const hn_lm_merge_report *report, size_t i);
HN_API void hn_lm_merge_report_free(hn_lm_merge_report *report); /* takes NULL */

#ifdef __cplusplus
}
#endif
#endif
