/* data_options.h: what the commands that read training data have in common: options of how
 * examples become tokens, and the opened data. */
#ifndef HN_CLI_DATA_OPTIONS_H
#define HN_CLI_DATA_OPTIONS_H

#include "cli/command.h"
#include "cli/open_chat.h"
#include "data/preflight.h"

typedef struct hn_data_args {
    const char *format, *loss, *too_long, *template, *name;
    int64_t max_length;
    double held_fraction;
    bool plain, drop_empty, allow_unended;
    hn_list held, set;
} hn_data_args;

/* For the option table of a command whose arguments hold hn_data_args as `field`. */
#define HN_DATA_OPTIONS(type, field)                                                           \
    HN_TEXT(type, field.format, "format", "NAME",                                              \
            "messages, prompt-completion, alpaca, sharegpt, text, preference, "                \
            "preferred-output, tokens, paragraphs (by content)"),                                      \
        HN_TEXT(type, field.loss, "loss", "WHICH",                                             \
                "assistant, last, all or weights "                                             \
                "(assistant)"),                                                                \
        HN_INT(type, field.max_length, "max-length", "N", 1, INT32_MAX,                        \
               "tokens of a sequence at most"),                                                \
        HN_TEXT(type, field.too_long, "too-long", "WHAT",                                      \
                "of longer ones: error, keep-start or keep-end (error)"),                      \
        HN_FLAG(type, field.drop_empty, "drop-empty",                                          \
                "leave out examples without supervised tokens"),                               \
        HN_FLAG(type, field.allow_unended, "allow-unended",                                    \
                "train turns that no end token ends"),                                         \
        HN_FLAG(type, field.plain, "plain",                                                    \
                "no chat template: prompts and completions as "                                \
                "texts"),                                                                      \
        HN_TEXT(type, field.template, "template", "FILE", "this chat template instead"),       \
        HN_TEXT(type, field.name, "template-name", "NAME",                                     \
                "the model's template of this "                                                \
                "name"),                                                                       \
        HN_LIST(type, field.set, "set", "KEY=JSON", "a variable, as enable_thinking=false"),   \
        HN_LIST(type, field.held, "held", "FILE", "examples to evaluate on, not to train"),    \
        HN_REAL(type, field.held_fraction, "held-fraction", "X",                               \
                "of the examples to evaluate on, by a hash of their tokens")

/* A tokenizer, a chat format and the data; zeroed with a heap it is empty. */
typedef struct hn_data_input {
    hn_heap *heap;
    hn_chat_input chat;
    hn_tokenizer *tok;
    hn_dataset *dataset;
    char *paths[HN_MAX_DATA_FILES]; /* of files that were given a weight */
    int n_paths;
} hn_data_input;

hn_status hn_data_input_open(hn_data_input *in, const hn_data_args *args, const char *model,
                             const char *const *files, int n_files, bool wants_roles);
void hn_data_input_close(hn_data_input *in);

/* The pass over all examples, with a bar on stderr. */
hn_status hn_data_input_check(hn_data_input *in, hn_preflight *out);
/* What it found, for people. */
void hn_preflight_print(const hn_preflight *report, const hn_dataset *dataset, FILE *out);
void hn_preflight_write(const hn_preflight *report, const hn_dataset *dataset,
                        hn_json_writer *json);

#endif
