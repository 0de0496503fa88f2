/* train_options.h: the options of a run, from train/config.def; and what a run stands on, opened:
 * shared by the commands that train, look at gradients or prove them. */
#ifndef HN_CLI_TRAIN_OPTIONS_H
#define HN_CLI_TRAIN_OPTIONS_H

#include "cli/data_options.h"
#include "train/run.h"

#define HN_TRAIN_OPTION_TEXT(type, path, option, value, low, high, help) HN_TEXT(type, path, option, value, help),
#define HN_TRAIN_OPTION_INT(type, path, option, value, low, high, help)  HN_INT(type, path, option, value, low, high, help),
#define HN_TRAIN_OPTION_REAL(type, path, option, value, low, high, help) HN_REAL(type, path, option, value, help),
#define HN_TRAIN_OPTION_FLAG(type, path, option, value, low, high, help) HN_FLAG(type, path, option, help),

/* Model, tokenizer, data and device. Zeroed with a heap it is empty. */
typedef struct hn_train_input {
    hn_heap *heap;
    hn_model *model;
    hn_data_input data;
    hn_preflight preflight;
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    hn_str data_text; /* how examples become tokens */
    char tokenizer[65], template[65];
} hn_train_input;

/* Opens everything and looks through the data; `shows`: prints what was found there. Data that may
 * not be trained is refused. */
hn_status hn_train_input_open(hn_train_input *in, const char *model, const hn_data_args *data,
                              const hn_list *files, int threads, FILE *shows);
void hn_train_input_close(hn_train_input *in);
hn_train_subject hn_train_input_subject(const hn_train_input *in, const hn_train_config *config,
                                        const char *dir);

#endif
