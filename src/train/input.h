/* input.h: what a run stands on, opened: model, tokenizer, data, and the digests of how examples
 * become tokens. */
#ifndef HN_TRAIN_INPUT_H
#define HN_TRAIN_INPUT_H

#include "train/data_input.h"
#include "train/run.h"

/* Zeroed with a heap it is empty. */
typedef struct hn_train_input {
    hn_heap *heap;
    hn_model *model;
    hn_data_input data;
    hn_preflight preflight;
    hn_run_spec run; /* what it is computed by, on the caller's devices */
    hn_str data_text; /* how examples become tokens */
    hn_str told;      /* what all this was opened by: lines of run.toml */
    char tokenizer[65], template[65];
    hn_span template_text; /* where it is not the model's own: adapters carry it */
} hn_train_input;

/* Told while the data is looked through, and of what was found before it is judged. */
typedef struct hn_train_look {
    void *context;
    hn_preflight_watch *watch;
    void (*found)(void *context, const hn_preflight *report, const hn_dataset *dataset);
} hn_train_look;

/* Opens everything but devices and looks through the data. Data that may not be trained is refused.
 * Close it also after a failure. */
hn_status hn_train_input_open(hn_train_input *in, const char *model, const hn_data_choice *choice,
                              const char *const *files, int n_files,
                              const hn_train_look *look_or_null);
/* The three steps of it, which follow each other: the data is found, looked through and judged, and the model is
 * opened. */
hn_status hn_train_input_find(hn_train_input *in, const char *model, const hn_data_choice *choice,
                              const char *const *files, int n_files);
hn_status hn_train_input_check(hn_train_input *in, const hn_train_look *look_or_null);
hn_status hn_train_input_open_model(hn_train_input *in, const char *model, const hn_data_choice *choice);
void hn_train_input_close(hn_train_input *in);

/* A run's on in->run. */
hn_train_subject hn_train_input_subject(const hn_train_input *in, const hn_train_config *config,
                                        const char *dir);

#endif
