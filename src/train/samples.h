/* samples.h: what a model says before and after it was trained: the likeliest continuation of a few
 * prompts, held-out ones where there are any. Written to samples.json of a run's folder. */
#ifndef HN_TRAIN_SAMPLES_H
#define HN_TRAIN_SAMPLES_H

#include "backend/program.h"
#include "data/dataset.h"
#include "infer/run_spec.h"
#include "models/model.h"

typedef struct hn_samples_options {
    const hn_model *model;      /* the base */
    const hn_dataset *dataset;  /* scanned */
    hn_run_spec run;
    const char *dir;            /* of the run */
    const char *result;         /* its adapter, or the whole model */
    bool is_model;              /* which of both */
    const char *tokenizer, *template; /* SHA-256s that the result is held to; "": none is used */
    int n;                      /* prompts */
} hn_samples_options;

/* Prompts and answers are within the model's context. Where memory does not do for it, the run is
 * worth what it was without: samples.json says why, *left_out is true, and the message is still
 * hn_error_message's. */
hn_status hn_samples_write(hn_heap *heap, const hn_samples_options *options, bool *left_out);

#endif
