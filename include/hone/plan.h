/* plan.h: what running and training a model would compute and take, before any of it is asked for. */
#ifndef HONE_PLAN_H
#define HONE_PLAN_H

#include "hone/session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hn_lm_sizes {
    int64_t context;           /* of the session, where it was not said */
    uint64_t weights;          /* bytes, where they are mapped */
    uint64_t cache, workspace;
    uint64_t other;            /* tokenizer, names, graph, plan: all that is on the engine's heap by then */
} hn_lm_sizes;

/* Plans a session as hn_lm_session_new would make it, and allocates neither cache nor workspace. Ended by
 * hn_engine_cancel. */
HN_API hn_status hn_lm_measure(hn_lm *lm, const hn_lm_session_options *options_or_null, hn_lm_sizes *out,
                               size_t size);

/* Whether copying weights into panels, which hn_lm_session_options.mapped leaves out, is worth it for so many tokens:
 * not for few, or where the copies would take more than half of the memory that is left. */
HN_API int32_t hn_lm_worth_copying(const hn_lm *lm, int64_t tokens);

/* ---- a token, a prompt, a training step ---- */

/* Plans of what a model can do, as sessions and runs plan it on the engine's devices. Nothing is allocated but the plans
 * themselves: the model may be larger than memory. The caller frees it; it holds its model. Nothing changes it: any number
 * of threads may read one. */
typedef struct hn_lm_plan hn_lm_plan;

/* What is planned, by number. */
typedef enum hn_lm_plan_kind {
    HN_LM_PLAN_TOKEN,    /* "token" */
    HN_LM_PLAN_PROMPT,   /* "prompt" */
    HN_LM_PLAN_TRAINING, /* "training" */
    HN_LM_PLAN_TEXT      /* "text", of a model that embeds */
} hn_lm_plan_kind;
HN_API hn_status hn_lm_plan_kind_named(const char *word, hn_lm_plan_kind *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_lm_plan_kind_name(hn_lm_plan_kind kind); /* "" of a number that is none */

typedef struct hn_lm_plan_options {
    size_t size;
    const char *of;        /* as hn_lm_plan_kind_name gives it; NULL: all that it can do */
    int64_t context;       /* as hn_lm_session_options */
    int64_t prompt;        /* tokens of a prompt that are computed at a time; 0: 512 */
    const char *cache;     /* as hn_lm_session_options */
    const char *targets;   /* what is trained, as of hn_finetune; NULL: attn, mlp and experts, as there are */
    const char *optimizer; /* as hn_trainer_optimizer_name gives it; NULL: "adamw" */
    const char *mode;      /* of training's memory, as hn_exec_plan_name gives it; NULL: "inplace" */
    int64_t rank;          /* of low-rank changes; 0: 16 */
    int64_t micro_tokens;  /* of a micro-batch; 0: 512 */
    int64_t recompute;     /* every n-th layer's input is kept and the rest computed again; 0: all is kept */
    int32_t keeps_all, mapped; /* as hn_lm_session_options */
} hn_lm_plan_options;

/* HN_ERR_MEMORY: hn_engine_options.fit, and no split of the layers fits. Ended by hn_engine_cancel between plans. */
HN_API hn_status hn_lm_plan_new(hn_lm_plan **out, hn_lm *lm, const hn_lm_plan_options *options_or_null);
HN_API void hn_lm_plan_free(hn_lm_plan *plan); /* takes NULL */
/* Why training is not among them: "" if it is, or was not asked for. */
HN_API const char *hn_lm_plan_refused(const hn_lm_plan *plan);

/* The model. */
typedef struct hn_lm_planned_model {
    const char *path, *architecture; /* live as long as the plan */
    int64_t layers, width;
    uint64_t parameters, weights; /* numbers, and bytes */
} hn_lm_planned_model;
HN_API hn_status hn_lm_plan_model(const hn_lm_plan *plan, hn_lm_planned_model *out, size_t size);

/* One of them; bytes over all devices. Names live as long as the plan. */
typedef struct hn_lm_planned {
    const char *name;   /* as hn_lm_plan_kind_name gives it */
    int64_t tokens;     /* at a time */
    int64_t steps;      /* of the program, */
    int64_t copies;     /* of these between devices, */
    int64_t slow;       /* and without a kernel of their own */
    double operations;
    uint64_t weights;    /* read where they are mapped */
    uint64_t packed;     /* weights copied into panels */
    uint64_t cache, workspace;
    uint64_t parameters; /* trained */
    uint64_t moments;    /* the optimiser's states */
    uint64_t sums;       /* gradients, and other sums over tokens */
    int32_t n_devices;   /* those of the engine, and the host where it has to help */
    int32_t n_ops;
} hn_lm_planned;

HN_API int32_t hn_lm_plan_count(const hn_lm_plan *plan);
HN_API hn_status hn_lm_plan_at(const hn_lm_plan *plan, int32_t i, hn_lm_planned *out, size_t size);

typedef struct hn_lm_planned_device {
    const char *name;
    int64_t first_layer, end_layer; /* [first, end) lie there; equal: none */
    int64_t streamed;    /* of these, the last so many are sent there for each run */
    uint64_t weights;    /* mapped, uploaded, packed or kept there */
    uint64_t states;     /* cache and moments */
    uint64_t sums, workspace;
    double arrives;      /* bytes that copies from other devices bring in a step */
    uint64_t available;  /* bytes that it has room for; UINT64_MAX: nobody knows */
} hn_lm_planned_device;
HN_API hn_status hn_lm_plan_device(const hn_lm_plan *plan, int32_t i, int32_t device, hn_lm_planned_device *out,
                                   size_t size);

typedef struct hn_lm_planned_op {
    const char *name;
    int64_t n;                /* how often it runs */
    double operations, bytes; /* of inputs and outputs, each once a step */
} hn_lm_planned_op;
/* Those that compute most come first. */
HN_API hn_status hn_lm_plan_op(const hn_lm_plan *plan, int32_t i, int32_t op, hn_lm_planned_op *out, size_t size);

/* Every step with its types, places and what it takes over; and a picture of it, bytes against time, a box a tensor, in
 * SVG. As hn_lm_meta gives a text. */
HN_API hn_status hn_lm_plan_steps(const hn_lm_plan *plan, int32_t i, char *to, size_t room, size_t *bytes);
HN_API hn_status hn_lm_plan_svg(const hn_lm_plan *plan, int32_t i, char *to, size_t room, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
