/* data_input.h: training data, opened: how examples become tokens, as its user chooses, with the
 * tokenizer and the chat format of a model. */
#ifndef HN_TRAIN_DATA_INPUT_H
#define HN_TRAIN_DATA_INPUT_H

#include "data/preflight.h"
#include "models/open_chat.h"

/* Zero is default; `hone show-tokens --help` says what each may be. */
typedef struct hn_data_choice {
    const char *format, *loss, *too_long;
    const char *template, *name; /* a file of one's own; the name of one of the model's */
    int64_t max_length;
    double held_fraction;
    bool plain, drop_empty, allow_unended, drop_unread;
    const char *const *held, *const *set, *const *ignore; /* files held out; KEY=JSON; keys */
    int n_held, n_set, n_ignore;
} hn_data_choice;

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
                             const char *const *files, int n_files, bool wants_roles);
void hn_data_input_close(hn_data_input *in);

#endif
