/* plan_look.h: the plans of a model's token, prompt and training step, as sessions and runs plan them. */
#ifndef HN_ENGINE_PLAN_LOOK_H
#define HN_ENGINE_PLAN_LOOK_H

#include "graph/plan_work.h"
#include "infer/compiled.h"
#include "infer/fit.h"
#include "infer/session.h"
#include "train/learner.h"

/* hn_lm_plan_options with what is left out filled in. */
typedef struct hn_plan_asks {
    int64_t context, prompt, rank, micro_tokens, recompute;
    const char *cache, *targets, *optimizer, *mode;
    bool keeps_all, mapped;
    const hn_adapters *adapters; /* of the token and the prompt */
} hn_plan_asks;

typedef enum hn_plan_memory {
    HN_PLAN_WEIGHTS,    /* read where they are */
    HN_PLAN_PACKED,     /* copied into panels */
    HN_PLAN_CACHE,
    HN_PLAN_WORKSPACE,
    HN_PLAN_PARAMETERS, /* trained */
    HN_PLAN_MOMENTS,
    HN_PLAN_SUMS,
    HN_N_PLAN_MEMORY
} hn_plan_memory;

typedef enum hn_plan_kind {
    HN_PLAN_OF_TOKEN,
    HN_PLAN_OF_PROMPT,
    HN_PLAN_OF_TRAINING,
    HN_PLAN_OF_TEXT, /* of a model that embeds */
    HN_N_PLAN_KINDS
} hn_plan_kind;

const char *hn_plan_kind_name(hn_plan_kind kind); /* "token" */
hn_status hn_plan_kind_parse(const char *word, hn_plan_kind *out);

typedef struct hn_plan_look {
    const char *name;
    int64_t tokens;
    const hn_plan *plan;
    hn_plan_work work;
    uint64_t memory[HN_N_PLAN_MEMORY];
    hn_run_spec run;                    /* with the split that it is planned for */
    hn_device_bytes on[HN_MAX_DEVICES];  /* of plan->n_devices */
    /* what holds the plan */
    hn_session *session;
    hn_compiled compiled;
    hn_tuning *tuning;
    hn_learner *learner;
} hn_plan_look;

enum { HN_MAX_LOOKS = 3 };

typedef struct hn_plan_looks {
    hn_heap *heap;
    int n;
    hn_plan_look at[HN_MAX_LOOKS];
    char refused[320]; /* what cannot be had and why; "" if nothing */
} hn_plan_looks;

/* `of`: a kind's name; NULL: all that the model can do. */
hn_status hn_plan_looks_new(hn_plan_looks *looks, hn_heap *heap, const hn_model *model,
                            const hn_run_spec *run, const char *of, const hn_plan_asks *asks);
void hn_plan_looks_free(hn_plan_looks *looks);

/* Bytes and numbers of a model's weights. */
uint64_t hn_plan_weight_bytes(const hn_model *model, uint64_t *n_parameters);

#endif
