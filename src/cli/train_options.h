/* train_options.h: the options of a run, from train/config.def; and the opening of what a run
 * stands on: shared by the commands that train, look at gradients or prove them. */
#ifndef HN_CLI_TRAIN_OPTIONS_H
#define HN_CLI_TRAIN_OPTIONS_H

#include "cli/data_options.h"
#include "cli/machine_options.h"
#include "train/input.h"

#define HN_TRAIN_OPTION_TEXT(type, path, option, value, low, high, help) HN_TEXT(type, path, option, value, help),
#define HN_TRAIN_OPTION_INT(type, path, option, value, low, high, help)  HN_INT(type, path, option, value, low, high, help),
#define HN_TRAIN_OPTION_REAL(type, path, option, value, low, high, help) HN_REAL(type, path, option, value, help),
#define HN_TRAIN_OPTION_FLAG(type, path, option, value, low, high, help) HN_FLAG(type, path, option, help),

/* Opens everything, and looks through the data with a bar on stderr; `shows`: prints what was found there. */
hn_status hn_train_args_open(hn_train_input *in, const char *model, const hn_data_args *data,
                             const hn_list *files, const hn_machine_args *machine, FILE *shows);

#endif
