/* run_basis.h: what a run's result depends on, in lines "key = value": its options, how examples become
 * tokens, the bytes of each data file, tokenizer and template; and its base. A run goes on only on the
 * same, and what is another is named. */
#ifndef HN_TRAIN_RUN_BASIS_H
#define HN_TRAIN_RUN_BASIS_H

#include "base/str.h"
#include "data/dataset.h"
#include "models/model.h"
#include "train/config.h"

/* Lines of --ignore-field and --ignore: what these options were called when records of them were first
 * made. The words stay, for records do. */
#define HN_RUN_LINE_FIELD "ignore"
#define HN_RUN_LINE_KEY   "ignore-key"

typedef struct hn_run_basis {
    hn_str config, data; /* lines */
    char data_sha[65];   /* of the data files and of how they are read, as adapters record it */
    const hn_model *model;
    char base[65]; /* the model's identity; "" before it was asked for */
    char config_sha[65]; /* as checkpoints of version 1 have it */
} hn_run_basis;

typedef struct hn_run_basis_of {
    const hn_model *model;
    const hn_dataset *dataset;
    const char *data_text, *tokenizer, *template;
} hn_run_basis_of;

hn_status hn_run_basis_make(hn_run_basis *basis, hn_heap *heap, const hn_train_config *config,
                            const hn_run_basis_of *of);
void hn_run_basis_free(hn_run_basis *basis); /* takes a zeroed one */

/* Waits for the base's identity; then basis->base has it. */
hn_status hn_run_basis_settle(hn_run_basis *basis);

/* HN_ERR_ARGUMENT names the first line that differs, and both values. */
hn_status hn_run_lines_same(const char *was, size_t was_bytes, const char *now);

/* HN_ERR_IO if model or data were written to since they were opened. */
hn_status hn_run_basis_unchanged(hn_run_basis *basis, const hn_dataset *dataset);

#endif
