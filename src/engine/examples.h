/* examples.h: the inside of public examples. */
#ifndef HN_ENGINE_EXAMPLES_H
#define HN_ENGINE_EXAMPLES_H

#include "engine/engine.h"
#include "engine/settings.h"
#include "train/input.h"

struct hn_examples {
    hn_engine *engine;
    hn_run_told *told;  /* what it was opened by */
    hn_data_choice choice; /* of it */
    hn_run_file *file;  /* whose words these are; or NULL: they are `kept` */
    hn_kept kept;
    const char *digests; /* a folder, or NULL */
    hn_train_input in;
    bool is_counted; /* `sum` and `found` are there */
    hn_examples_file files[HN_MAX_DATA_FILES];
    hn_example example; /* that was read last */
    hn_examples_sequence sequences[2];
    size_t n_sequences;
    hn_examples_sum sum;
    hn_examples_found found[HN_EXAMPLES_SHARED + 1];
};

/* Takes `told` and `file`, both on the engine's heap, also if it fails; `file` may be NULL. */
hn_status hn_examples_make(hn_examples **out, hn_engine *engine, hn_run_told *told, hn_run_file *file);
/* Finds every example of what was told. */
hn_status hn_examples_find(hn_examples *examples);
/* Checks what was not, and opens the model. */
hn_status hn_examples_want_model(hn_examples *examples);
/* For examples_found.c: what hn_preflight_run counted. */
void hn_examples_take_counts(hn_examples *examples);

#endif
