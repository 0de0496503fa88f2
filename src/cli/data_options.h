/* data_options.h: what the commands that read training data have in common: options of how
 * examples become tokens, and what is told of the data. */
#ifndef HN_CLI_DATA_OPTIONS_H
#define HN_CLI_DATA_OPTIONS_H

#include "cli/command.h"
#include "train/data_input.h"

typedef struct hn_data_args {
    hn_data_choice choice; /* but for its lists */
    hn_list held, set, ignore;
} hn_data_args;

/* Points into `args`. */
hn_data_choice hn_data_args_choice(const hn_data_args *args);

/* For the option table of a command whose arguments hold hn_data_args as `field`. */
#define HN_DATA_OPTIONS(type, field)                                                           \
    HN_TEXT(type, field.choice.format, "format", "NAME",                                              \
            "messages, prompt-completion, alpaca, sharegpt, text, preference, "                \
            "preferred-output, tokens (by keys); json, jsonl, csv, tsv, "                      \
            "paragraphs (by name)"),                                                           \
        HN_TEXT(type, field.choice.loss, "loss", "WHICH",                                             \
                "assistant, last, all or weights "                                             \
                "(assistant)"),                                                                \
        HN_INT(type, field.choice.max_length, "max-length", "N", 1, INT32_MAX,                        \
               "tokens of a sequence at most (the model's context)"),                                                \
        HN_TEXT(type, field.choice.too_long, "too-long", "WHAT",                                      \
                "of longer ones: error, keep-start, keep-end; allow, past the "                \
                "model's context (error)"),                                                    \
        HN_FLAG(type, field.choice.drop_empty, "drop-empty",                                          \
                "leave out examples without supervised tokens"),                               \
        HN_FLAG(type, field.choice.drop_unread, "drop-unread",                                 \
                "train without what the template does not write"),                             \
        HN_LIST(type, field.ignore, "ignore", "KEY", "a key of examples that need not be read"), \
        HN_FLAG(type, field.choice.allow_unended, "allow-unended",                                    \
                "train turns that no end token ends"),                                         \
        HN_FLAG(type, field.choice.plain, "plain",                                                    \
                "no chat template: prompts and completions as "                                \
                "texts"),                                                                      \
        HN_TEXT(type, field.choice.template, "template", "FILE", "this chat template instead"),       \
        HN_TEXT(type, field.choice.name, "template-name", "NAME",                                     \
                "the model's template of this "                                                \
                "name"),                                                                       \
        HN_LIST(type, field.set, "set", "KEY=JSON", "a variable, as enable_thinking=false"),   \
        HN_LIST(type, field.held, "held", "FILE", "examples to evaluate on, not to train"),    \
        HN_REAL(type, field.choice.held_fraction, "held-fraction", "X",                               \
                "of the examples to evaluate on, by a hash of their tokens")

/* The pass over all examples, with a bar on stderr. */
hn_status hn_data_input_check(hn_data_input *in, hn_preflight *out);
/* What it found, for people. */
void hn_preflight_print(const hn_preflight *report, const hn_dataset *dataset, FILE *out);
void hn_preflight_write(const hn_preflight *report, const hn_dataset *dataset,
                        hn_json_writer *json);

#endif
