/* data_options.h: what the commands that read training data have in common: options of how
 * examples become tokens, and what is told of the data. */
#ifndef HN_CLI_DATA_OPTIONS_H
#define HN_CLI_DATA_OPTIONS_H

#include "cli/command.h"
#include "train/data_input.h"

typedef struct hn_data_args {
    hn_data_choice choice; /* but for its lists */
#define HN_ARGS_TEXT(field)
#define HN_ARGS_PATH(field)
#define HN_ARGS_INT(field)
#define HN_ARGS_REAL(field)
#define HN_ARGS_FLAG(field)
#define HN_ARGS_LIST(field)  hn_list field;
#define HN_ARGS_PATHS(field) HN_ARGS_LIST(field)
#define HN_DATA(kind, field, option, value, low, high, help) HN_ARGS_##kind(field)
#include "train/data_choice.def"
} hn_data_args;

/* Points into `args`. */
hn_data_choice hn_data_args_choice(const hn_data_args *args);

/* For the option table of a command whose arguments hold hn_data_args as `at`: HN_DATA of
 * train/data_choice.def is HN_DATA_OPTION_##kind of it. */
#define HN_DATA_OPTION_TEXT(type, at, field, option, value, low, high, help)  HN_TEXT(type, at.choice.field, option, value, help),
#define HN_DATA_OPTION_PATH(type, at, field, option, value, low, high, help)  HN_TEXT(type, at.choice.field, option, value, help),
#define HN_DATA_OPTION_INT(type, at, field, option, value, low, high, help)   HN_INT(type, at.choice.field, option, value, low, high, help),
#define HN_DATA_OPTION_REAL(type, at, field, option, value, low, high, help)  HN_REAL(type, at.choice.field, option, value, help),
#define HN_DATA_OPTION_FLAG(type, at, field, option, value, low, high, help)  HN_FLAG(type, at.choice.field, option, help),
#define HN_DATA_OPTION_LIST(type, at, field, option, value, low, high, help)  HN_LIST(type, at.field, option, value, help),
#define HN_DATA_OPTION_PATHS(type, at, field, option, value, low, high, help) HN_LIST(type, at.field, option, value, help),

/* The pass over all examples, with a bar on stderr. */
hn_status hn_data_input_check(hn_data_input *in, hn_preflight *out);
/* What it found, for people. */
void hn_preflight_print(const hn_preflight *report, const hn_dataset *dataset, FILE *out);
void hn_preflight_write(const hn_preflight *report, const hn_dataset *dataset,
                        hn_json_writer *json);

#endif
