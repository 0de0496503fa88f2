/* finetune_run.h: the inside of public runs. */
#ifndef HN_ENGINE_FINETUNE_RUN_H
#define HN_ENGINE_FINETUNE_RUN_H

#include "base/lock_file.h"
#include "engine/examples.h"
#include "train/run.h"

struct hn_finetune_run {
    hn_examples *examples;
    hn_finetune_run_options o; /* its texts are `kept` */
    hn_kept kept;
    hn_train_config config;
    char samples[40]; /* as a line of run.toml */
    int n_samples;    /* that are made along */
    hn_train_run *inner; /* NULL once it is reported on */
    hn_finetune_estimate estimate;
    hn_finetune_layout layout;
    hn_lock_file folder; /* held to the last byte that is written there */
    size_t limit;        /* of the engine's heap, before the run lowered it */
    char result[4096];
    bool is_done, is_finished;
};

/* Takes nothing of `o` over but what it points to, and a checked configuration. `samples`: as run.toml is to have it;
 * below 0: not at all. */
hn_status hn_finetune_run_make(hn_finetune_run **out, hn_examples *examples, const hn_finetune_run_options *o,
                               const hn_train_config *config, int64_t samples);

/* Checks and opens what the examples are of, and plans. */
hn_status hn_finetune_run_plan(hn_finetune_run *run);

#endif
