/* run.h: a training run from its first step to its result, in a folder of its own:
 *
 *     run.toml               what it was told: hone train -o DIR --resume needs nothing else
 *     lock                   who works there
 *     metrics.jsonl          a line a step
 *     step-00000100.ckpt     checkpoints; best.ckpt, of the best evaluation
 *     adapter.gguf           or model.gguf, where whole tensors were trained
 *
 * Killed at any instant and resumed, it ends with the same bits. What determines the result is
 * held in digests, and a run goes on only with the same. */
#ifndef HN_TRAIN_RUN_H
#define HN_TRAIN_RUN_H

#include "base/cancel.h"
#include "base/lock_file.h"
#include "base/out_file.h"
#include "data/preflight.h"
#include "train/checkpoint.h"
#include "train/config.h"
#include "train/metrics.h"

typedef struct hn_train_run hn_train_run;

/* What the run is on. All of it must outlive the run. */
typedef struct hn_train_subject {
    const hn_model *model;
    const hn_dataset *dataset; /* scanned, and not refused */
    hn_run_spec run; /* its numerics are the configuration's */
    const char *dir;
    hn_over over; /* a run that is in `dir` already is refused, or goes (HN_OVER_OLD) */
    const hn_train_config *config;
    bool makes_samples;     /* hn_samples_write follows, within the same memory */
    int n_samples;          /* prompts that are answered with --samples-along */
    const char *told;       /* lines of run.toml that are not the configuration's; or NULL */
    const char *more_told;  /* the same, of the caller; or NULL */
    const char *data_text;  /* how examples become tokens, in words: part of the data's digest */
    char tokenizer[65], template[65]; /* SHA-256; "" if there is no template */
    hn_span template_text;            /* the template's, where it is not the model's own */
} hn_train_subject;

/* Told from the thread that trains. */
typedef struct hn_train_watch {
    void *context;
    void (*step)(void *context, const hn_step_report *report);
    void (*evaluated)(void *context, int64_t step, const hn_evaluation *result, bool is_best);
    void (*saved)(void *context, const char *path);
    const hn_cancel_flag *cancel; /* the step is finished, the run is saved: HN_ERR_CANCELLED */
} hn_train_watch;

/* Plans it: nothing is written, and no memory of the run is taken. With --memory the heap's limit is
 * lowered to what the plan leaves it, until the run is freed. */
hn_status hn_train_run_new(hn_train_run **out, hn_heap *heap, const hn_train_subject *subject);
void hn_train_run_free(hn_train_run *run); /* takes NULL */
/* The folder's lock, for who writes there when the run has been freed; the caller releases it. */
hn_lock_file hn_train_run_take_lock(hn_train_run *run);

typedef struct hn_train_plan {
    int64_t n_steps, micro_tokens, recompute;
    hn_learner_bytes bytes;
    size_t evaluation_bytes, weights_bytes; /* of the model's that are read */
    size_t step_bytes;                      /* of the examples of a step, as they are read */
    size_t mapped_bytes;                    /* of those, where they lie in files */
    size_t samples_bytes;                   /* of a session beside the learner, where it answers while it trains */
    size_t ending_bytes; /* when the adapter is tried and samples are made */
    size_t yet_bytes;    /* to be taken by the largest of its phases */
    size_t total_bytes;  /* of all that will be resident, from the first byte to the last */
} hn_train_plan;
hn_train_plan hn_train_run_plan(const hn_train_run *run);
/* About how much a step computes, of a mean one's examples: each as long as their mean, with as many labels for its tokens as `seen`
 * has of all. While nothing is made or after. */
hn_status hn_train_run_operations(const hn_train_run *run, const hn_preflight *seen, double *out);
const hn_tuning *hn_train_run_tuning(const hn_train_run *run);
hn_learner *hn_train_run_learner(hn_train_run *run);
const hn_run_state *hn_train_run_state(const hn_train_run *run);
/* Whether it was resumed from a checkpoint of version 1, which tells its base by a sample. */
bool hn_train_run_is_old(const hn_train_run *run);
/* What came of it, in words; "" before hn_train_run_go has come to the end. */
const char *hn_train_run_verdict(const hn_train_run *run);

/* Takes up the newest checkpoint; where the folder has a run that was not saved yet it begins again.
 * HN_ERR_IO if there is none. One that was
 * altered, or made of something else, is refused by name. */
hn_status hn_train_run_resume(hn_train_run *run);

/* To the end. A folder that has a run in it already is refused, unless it was resumed or may be
 * overwritten; one that another process works in always. */
hn_status hn_train_run_go(hn_train_run *run, const hn_train_watch *watch);

/* Of what held-out data there is; HN_ERR_ARGUMENT if there is none. */
hn_status hn_train_run_evaluate(hn_train_run *run, const hn_run_options *options,
                                hn_evaluation *out);

/* After the last step: writes what was trained; *digest is the file's SHA-256. `file`: the base as
 * a GGUF file, for whole models. */
hn_status hn_train_run_finish(hn_train_run *run, char path[4096], char digest[65]);

#endif
