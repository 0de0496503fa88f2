/* data_input.h: training data, opened: how examples become tokens, as its user chooses, with the
 * tokenizer and the chat format of a model. */
#ifndef HN_TRAIN_DATA_INPUT_H
#define HN_TRAIN_DATA_INPUT_H

#include "data/preflight.h"
#include "models/open_chat.h"
#include "nn/config.h"

/* Zero is default; data_choice.def says what each may be. */
typedef struct hn_data_choice {
#define HN_CHOICE_TEXT(field)  const char *field;
#define HN_CHOICE_PATH(field)  const char *field;
#define HN_CHOICE_INT(field)   int64_t field;
#define HN_CHOICE_REAL(field)  double field;
#define HN_CHOICE_FLAG(field)  bool field;
#define HN_CHOICE_LIST(field)  const char *const *field; int n_##field;
#define HN_CHOICE_PATHS(field) HN_CHOICE_LIST(field)
#define HN_DATA(kind, field, option, value, low, high, help) HN_CHOICE_##kind(field)
#include "train/data_choice.def"
} hn_data_choice;

/* Keys of the model that are passed over. HN_ERR_ARGUMENT if they are too many. */
hn_status hn_data_choice_ignored(const hn_data_choice *choice, hn_ignored *out);

/* A tokenizer, a chat format and the data; zeroed with a heap it is empty. */
typedef struct hn_data_input {
    hn_heap *heap;
    hn_chat_input chat;
    hn_tokenizer *tok;
    hn_dataset *dataset;
    char *paths[HN_MAX_DATA_FILES]; /* of files that were given a weight */
    int n_paths;
} hn_data_input;

/* The lists of the choice, and `model`, must outlive it.
 * `files`: paths, as PATH:2.5 with how often an epoch has them. Close it also after a failure. */
hn_status hn_data_input_open(hn_data_input *in, const hn_data_choice *choice, const char *model,
                             const char *const *files, int n_files);
void hn_data_input_close(hn_data_input *in);

#endif
