/* run_parts.h: a run's inside, for the files that make it up, and who owns whom.
 *
 *     input.c                model, tokenizer and data, opened; outlives the run
 *     run.c                  the run: the loop of steps, and when it evaluates, saves and ends
 *       run_told.c, run_file.c    what it was told: run.toml
 *       run_basis.c               what its result depends on: the same, or it does not go on
 *       tuning.c                  what is trained, and its memory: learner and evaluator read it
 *       run_fit.c                 makes these two, of a size that memory allows:
 *         learner.c                 one step. Its graph is objective.c's, up to the loss of a goal_*.c
 *           descent.c                 micro-batches, a check, an update by an optimizer_*.c; owns
 *                                     the executable, which owns storage and programs
 *           feed.c                    binds what the graph reads; batch.c cuts a step into micro-batches
 *         evaluator.c               held-out examples: a graph of objective.c without a backward
 *       run_samples.c             answers of what is learned by now, to the prompts of prompts.c
 *       metrics.c, checkpoint.c   a line a step; all that a later step depends on
 *       run_result.c              what it leaves: adapter_write.c, verdict.c; its folder and lock
 *     report.c, origin.c     the page of a run that ended, for whoever started it */
#ifndef HN_TRAIN_RUN_PARTS_H
#define HN_TRAIN_RUN_PARTS_H

#include "train/run.h"
#include "train/run_told.h"

enum { HN_RUN_PATH = 4096 };

struct hn_train_run {
    hn_heap *heap;
    hn_train_subject on;
    hn_train_config config;
    hn_tuning *tuning;
    hn_learner *learner;
    hn_evaluator *evaluator; /* NULL: nothing is held out */
    hn_steps steps;
    int64_t n_steps;
    hn_schedule schedule;
    hn_train_plan plan;
    double step_examples, step_tokens; /* means of the steps that were looked at */
    hn_run_state state;
    hn_metrics metrics;
    hn_batch batch;
    hn_example example;
    hn_data_step data_step;
    hn_str verdict; /* once it has ended */
    hn_prompts prompts; /* once they were asked */
    hn_lock_file lock; /* of the folder */
    hn_run_basis basis;
    bool is_old; /* it was resumed from a checkpoint of version 1 */
    bool is_resumed;
    bool is_made; /* the learner and the evaluator have their memory */
    size_t limit_before; /* of the heap, which the run may have lowered */
    bool has_moved; /* every trained tensor was seen to have a gradient */
};

/* run_fit.c: plans the learner and the evaluator, of a size that the memory allows; makes them; gives
 * their memory back. */
hn_status hn_run_fit(hn_train_run *run);
hn_status hn_run_make(hn_train_run *run);
void hn_run_release(hn_train_run *run);

/* run_samples.c: with --samples-along what is answered by now, a line of the metrics; otherwise nothing. Who cancels is
 * told no line. */
hn_status hn_run_sample(hn_train_run *run, const hn_cancel_flag *cancel);

enum { HN_RUN_TEST_TOKENS = 32 }; /* that an adapter's self-test runs, at most */

/* run_result.c */
/* What came of it, from the folder's metrics: into run->verdict and the metrics themselves. */
hn_status hn_run_judge(hn_train_run *run);
void hn_run_path(const hn_train_run *run, const char *name, char path[HN_RUN_PATH]);
void hn_run_checkpoint_path(const hn_train_run *run, int64_t step, char path[HN_RUN_PATH]);
/* Steps of the checkpoints in the folder, in ascending order; hn_free. */
hn_status hn_run_checkpoints(const hn_train_run *run, int64_t **steps, size_t *n);

/* Makes the folder, and takes it: HN_ERR_BUSY if another process works there. */
hn_status hn_run_take_folder(hn_train_run *run);
hn_status hn_run_holds_folder(const hn_train_run *run); /* still, under its name */
/* What it was told, in its folder; a file of this name that somebody wrote stays. */
bool hn_run_is_told(const hn_train_run *run);
hn_status hn_run_write_told(hn_train_run *run);
/* No file of an earlier run is left; or HN_ERR_ARGUMENT if they may not go. One that ended before its
 * first checkpoint has nothing that could be lost. */
hn_status hn_run_clear_folder(hn_train_run *run);

/* No trained tensor may have a gradient that is exactly zero, but those that are expected to: A
 * where B is zero, what belongs to experts that no token reached. `first`: of a run. */
hn_status hn_run_check_moved(hn_train_run *run);

#endif
