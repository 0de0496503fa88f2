/* finetune.h: fine-tuning of a model file: what `hone train` does, in the caller's process.
 *
 *     hn_finetune_spec spec = { .size = sizeof spec, .model = "m.gguf", .data = files, .n_data = 1, .out = "run" };
 *     hn_finetune(engine, &spec, &result, sizeof result);
 *
 * The result is a function of model, data, settings and seed: the file has the SHA-256 that
 * `hone train` gives with the same options. docs/training.md and docs/data.md say what they mean.
 *
 * hn_engine_cancel, from any thread or from a callback, lets the step finish; the run is saved, and
 * hn_finetune ends in HN_ERR_CANCELLED. After hn_engine_resume a spec of `out` and `resume` alone goes
 * on to the same bits; so it does after the process was killed, in another process, or in the program:
 * the folder holds what the run was told. hn_engine_on_progress is told the share of steps done. A
 * failure leaves no half a file, and every checkpoint as it was. */
#ifndef HONE_FINETUNE_H
#define HONE_FINETUNE_H

#include "hone/examples.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A step that was done. */
typedef struct hn_finetune_step {
    int64_t step, n_steps; /* steps done, of how many */
    double loss, grad_norm, rate, epoch;
    int64_t tokens, supervised; /* of this step */
    double seconds;             /* it took */
    size_t resident_bytes;      /* of the process now; 0 where it cannot be known */
} hn_finetune_step;

/* Of all held-out examples; `step` 0: before the first. */
typedef struct hn_finetune_evaluation {
    int64_t step;
    double loss, accuracy;
    int64_t n;       /* supervised tokens, or pairs, that accuracy is of */
    int32_t is_best; /* so far */
} hn_finetune_evaluation;

/* What of an example is supervised, and what becomes of one that is too long, by number. */
typedef enum hn_finetune_loss {
    HN_FINETUNE_ASSISTANT, /* "assistant", or NULL: every turn of the assistant; completions; whole texts */
    HN_FINETUNE_LAST,      /* "last": the last of these turns */
    HN_FINETUNE_ALL,       /* "all": every token */
    HN_FINETUNE_WEIGHTS    /* "weights": messages that have a weight */
} hn_finetune_loss;
HN_API hn_status hn_finetune_loss_named(const char *word_or_null, hn_finetune_loss *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_finetune_loss_name(hn_finetune_loss loss); /* "" of a number that is none */

typedef enum hn_finetune_too_long {
    HN_FINETUNE_ERROR,      /* "error", or NULL: it is refused */
    HN_FINETUNE_KEEP_START, /* "keep-start" */
    HN_FINETUNE_KEEP_END,   /* "keep-end" */
    HN_FINETUNE_ALLOW       /* "allow": it is trained as it is */
} hn_finetune_too_long;
HN_API hn_status hn_finetune_too_long_named(const char *word_or_null, hn_finetune_too_long *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_finetune_too_long_name(hn_finetune_too_long too_long); /* "" of a number that is none */

/* How the learning rate goes ("schedule" of hn_finetune_setting), and what the routers' balance is over ("balance"), by number.
 * Optimisers and the type of their moments are hn_trainer_optimizer's and hn_trainer_moments', "plan" is hn_exec_plan's. */
typedef enum hn_finetune_schedule {
    HN_FINETUNE_CONSTANT, /* "constant" */
    HN_FINETUNE_LINEAR,   /* "linear": down to the least rate */
    HN_FINETUNE_COSINE,   /* "cosine": half a cosine down to it */
    HN_FINETUNE_WSD       /* "wsd": constant, then down over the last steps */
} hn_finetune_schedule;
HN_API hn_status hn_finetune_schedule_named(const char *word, hn_finetune_schedule *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_finetune_schedule_name(hn_finetune_schedule schedule); /* "" of a number that is none */

typedef enum hn_finetune_balance {
    HN_FINETUNE_SEQUENCE, /* "sequence", or NULL: each by itself */
    HN_FINETUNE_BATCH     /* "batch": all of a step, as Transformers does */
} hn_finetune_balance;
HN_API hn_status hn_finetune_balance_named(const char *word_or_null, hn_finetune_balance *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_finetune_balance_name(hn_finetune_balance balance); /* "" of a number that is none */

/* Zero is default in every field but the first. Read, not kept: it may go when the call has returned. */
typedef struct hn_finetune_spec {
    size_t size;
    const char *model;       /* a GGUF file or a Hugging Face directory; NULL with `resume`: that of run.toml in `out` */
    const char *const *data; /* files of examples; PATH:2.5 is seen 2.5 times an epoch */
    int32_t n_data;
    const char *out; /* the run's folder; made if it is not there */

    /* "rank=8", "targets=attn,experts:r=4", "in-order": the options of `hone train --help` from
     * "targets" on. Not "threads": these are the engine's. */
    const char *const *settings;
    int32_t n_settings;

    /* How examples become tokens. */
    const char *format;        /* hn_examples_file_kind, as hn_examples_format_name gives it, or both: "csv,alpaca"; NULL: by name and keys */
    const char *loss;          /* as hn_finetune_loss_name gives it; NULL: "assistant" */
    const char *too_long;      /* as hn_finetune_too_long_name gives it; NULL: "error" */
    const char *template_file; /* a chat template instead of the model's */
    const char *template_name; /* or the model's of this name */
    int64_t max_length;        /* tokens of a sequence at most; 0: the model's context */
    const char *const *variables; /* of the template, KEY=JSON; at most 16 */
    int32_t n_variables;
    int32_t plain;         /* no template: prompts and completions are texts */
    int32_t drop_empty;    /* leaves out examples without supervised tokens, instead of refusing */
    int32_t allow_unended; /* trains turns that no end token ends, instead of refusing */
    int32_t drop_unread;   /* trains without what the template does not write, instead of refusing */
    const char *const *ignored_fields; /* keys of examples that need not be read */
    int32_t n_ignored_fields;
    const char *const *ignored_keys; /* of the model's config.json or GGUF, that are passed over */
    int32_t n_ignored_keys;

    /* What is evaluated on, and not trained. */
    const char *const *held;
    int32_t n_held;
    double held_fraction;

    /* Goes on with the run in `out`: without `model` as it was told then; what is given here counts
     * after that, and must give the same result. With no checkpoint it begins. */
    int32_t resume;
    int32_t overwrite; /* begins anew where a run is already, instead of refusing */

    /* Called on the thread that trains; any may be NULL. `path`: of a checkpoint. */
    void *context;
    void (*on_step)(void *context, const hn_finetune_step *step);
    void (*on_evaluation)(void *context, const hn_finetune_evaluation *evaluation);
    void (*on_saved)(void *context, const char *path);
} hn_finetune_spec;

typedef struct hn_finetune_result {
    char path[4096];  /* adapter.gguf in `out`; model.gguf where whole tensors alone were trained */
    char sha256[65];  /* of that file */
    int64_t n_steps;  /* of the whole run */
    double last_loss; /* of the last step */
    char verdict[512]; /* what came of it, in words */
} hn_finetune_result;

/* Trains to the end and writes what was trained. *result is zero unless it returns HN_OK. */
HN_API hn_status hn_finetune(hn_engine *engine, const hn_finetune_spec *spec,
                             hn_finetune_result *result, size_t size);

/* What a run would take. */
typedef struct hn_finetune_estimate {
    int64_t n_steps, n_examples;          /* steps; examples to train */
    int64_t n_trained, n_tensors;         /* numbers that are trained, in how many tensors */
    int64_t micro_tokens, recompute;      /* chosen to fit the memory; these change no bit */
    size_t total_bytes;                   /* of all that will be resident */
    size_t weights_bytes, workspace_bytes, trained_bytes, evaluation_bytes; /* parts of it */
    double step_operations; /* about as many are computed in a step; how long that takes is the machine's to say */
} hn_finetune_estimate;

/* Opens and checks all that hn_finetune would, and writes nothing; `out` and `resume` are not
 * looked at. */
HN_API hn_status hn_finetune_plan(hn_engine *engine, const hn_finetune_spec *spec,
                                  hn_finetune_estimate *estimate, size_t size);

/* ---- a run, step by step ---- */

/* A run on examples that are open: planned, taken up again where it has begun, trained, finished, reported on.
 * hn_finetune is all of it at once but the report. The caller frees it, before its examples, which nothing else uses
 * meanwhile. Used by one thread at a time, on which it calls back. */
typedef struct hn_finetune_run hn_finetune_run;

/* Answers before and after that `hone train` and its jobs are told to make where nobody says how many. */
enum { HN_FINETUNE_SAMPLES = 3 };

typedef struct hn_finetune_run_options {
    size_t size;
    const char *const *settings; /* of hn_finetune_setting, but "threads", which are the engine's */
    int32_t n_settings;
    const char *out;     /* the run's folder; made if it is not there; NULL: it can be planned, and no more */
    int32_t overwrite;   /* begins anew where a run is already, instead of refusing */
    int32_t samples;     /* answers that hn_finetune_run_report makes before and after, within the same memory; at most 64 */
    const char *command; /* what was called, for the report; or NULL */
    /* As in hn_finetune_spec. */
    void *context;
    void (*on_step)(void *context, const hn_finetune_step *step);
    void (*on_evaluation)(void *context, const hn_finetune_evaluation *evaluation);
    void (*on_saved)(void *context, const char *path);
} hn_finetune_run_options;

/* Checks the examples where nobody did, and plans: nothing is written. Nothing of `options` but what is called back and
 * its context is kept. */
HN_API hn_status hn_finetune_run_new(hn_finetune_run **out, hn_examples *examples,
                                     const hn_finetune_run_options *options_or_null);
HN_API void hn_finetune_run_free(hn_finetune_run *run); /* takes NULL */

typedef struct hn_finetune_layout {
    const hn_finetune_estimate *estimate; /* lives as long as the run */
    int32_t n_lora, n_dora, n_full; /* weights that are trained in each way */
    double share;                   /* of the model's active parameters, that these weights hold */
    double rate;
    const char *schedule;           /* as hn_finetune_schedule_name gives it */
    const char *optimizer;          /* as hn_trainer_optimizer_name gives it */
    int64_t seed;
    int32_t judges_answers;         /* what an evaluation's accuracy is of: answers told well; 0: tokens */
    int32_t is_model;               /* whole tensors alone are trained: a model comes of it, no adapter */
    hn_lm_numerics numerics;        /* of the steps */
} hn_finetune_layout;
HN_API const hn_finetune_layout *hn_finetune_run_get_layout(const hn_finetune_run *run);

/* Takes up the run in the folder, before hn_finetune_run_go. *step (may be NULL): the last that was saved; 0: none was, and
 * it begins. *is_old (may be NULL): its checkpoint is of version 1, which tells its base by a sample. */
HN_API hn_status hn_finetune_run_resume(hn_finetune_run *run, int64_t *step, int32_t *is_old);
/* Trains to the end. A folder that has a run in it is refused, unless it was taken up or may be overwritten. */
HN_API hn_status hn_finetune_run_go(hn_finetune_run *run);
/* After the end: writes what was trained, and tries it. *result is zero unless it returns HN_OK. */
HN_API hn_status hn_finetune_run_finish(hn_finetune_run *run, hn_finetune_result *result, size_t size);

typedef struct hn_finetune_page {
    char path[4096];    /* report.html in the folder; "": it was not written */
    char left_out[512]; /* why there are no samples, where memory does not do for them; or "" */
} hn_finetune_page;
/* After it was finished: gives back what training took, makes the samples and the page of the run. Where samples fail
 * otherwise, the page is written without them first. */
HN_API hn_status hn_finetune_run_report(hn_finetune_run *run, hn_finetune_page *page, size_t size);

/* ---- its folder ---- */

/* One page of a run's folder, also of one that has not ended: report.html in it, whose name is given as hn_lm_meta
 * gives a text. */
HN_API hn_status hn_finetune_report(hn_engine *engine, const char *folder, char *to, size_t room, size_t *bytes);

/* ---- run.toml ---- */

/* What a run is told, in lines `key = value`: keys are options of `hone train`, and "model" and "data". The caller closes it,
 * before its engine is freed. Nothing changes it: any number of threads may read one. */
typedef struct hn_finetune_file hn_finetune_file;

HN_API hn_status hn_finetune_file_open(hn_finetune_file **out, hn_engine *engine, const char *path);
/* Of a run that has begun: what its folder holds. HN_ERR_IO: there is no run in it. */
HN_API hn_status hn_finetune_file_of_run(hn_finetune_file **out, hn_engine *engine, const char *folder);
HN_API void hn_finetune_file_close(hn_finetune_file *file); /* takes NULL */

typedef enum hn_finetune_value {
    HN_FINETUNE_TEXT,  /* as a command line would have it */
    HN_FINETUNE_TRUE,
    HN_FINETUNE_FALSE,
    HN_FINETUNE_NONE   /* an empty array */
} hn_finetune_value;

typedef struct hn_finetune_line {
    const char *key, *text; /* text: HN_FINETUNE_TEXT's; NULL of others */
    hn_finetune_value value;
    int32_t line; /* of the file */
} hn_finetune_line;

/* An array is a line for each of its values. They live as long as the file; NULL: past the last. */
HN_API const hn_finetune_line *hn_finetune_file_line(const hn_finetune_file *file, size_t i);

#ifdef __cplusplus
}
#endif
#endif
