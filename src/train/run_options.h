/* run_options.h: what a run was told, as the file run.toml in its folder: the same options that
 * `hone train run.toml` takes, so that a run can go on with nothing typed again. */
#ifndef HN_TRAIN_RUN_OPTIONS_H
#define HN_TRAIN_RUN_OPTIONS_H

#include "train/config.h"
#include "train/data_input.h"

/* Model, data and how it is read: lines `key = value`. File names become absolute: a run goes on from
 * any folder. */
hn_status hn_run_options_of_data(const char *model, const hn_data_choice *choice,
                                 const char *const *files, int n_files, hn_str *out);

/* Every option of the configuration that is not the default. */
void hn_run_options_of_config(const hn_train_config *config, hn_str *out);

#endif
