/* ignore_option.h: --ignore KEY, of every command that opens a model and reads no training data
 * (of those it is a line of train/data_choice.def). */
#ifndef HN_CLI_IGNORE_OPTION_H
#define HN_CLI_IGNORE_OPTION_H

#include "cli/command.h"

#define HN_IGNORE_KEY_HELP "pass over a key of the model's config.json or GGUF; may be repeated"

/* Of a command whose args have an hn_list `ignore`. */
#define HN_IGNORE_OPTION(type) HN_LIST(type, ignore, "ignore", "KEY", HN_IGNORE_KEY_HELP)

#endif
