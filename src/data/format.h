/* format.h: the shapes in which examples are written, told apart by their keys. */
#ifndef HN_DATA_FORMAT_H
#define HN_DATA_FORMAT_H

#include "base/json.h"

/*    enum               name (--format)     what is looked for */
#define HN_DATA_FORMAT_LIST(X)                                                                 \
    X(MESSAGES, "messages", "messages")                                                        \
    X(PROMPT, "prompt-completion", "prompt and completion")                                    \
    X(LABELLED, "unpaired-preference", "prompt, completion and label")                         \
    X(ALPACA, "alpaca", "instruction and output")                                              \
    X(SHAREGPT, "sharegpt", "conversations")                                                   \
    X(TEXT, "text", "text")                                                                    \
    X(PREFERENCE, "preference", "chosen and rejected")                                         \
    X(PREFERRED, "preferred-output", "input, preferred_output and non_preferred_output")       \
    X(TOKENS, "tokens", "ids")

typedef enum hn_data_format {
#define HN_DATA_FORMAT_ENUM(upper, name, keys) HN_DATA_##upper,
    HN_DATA_FORMAT_LIST(HN_DATA_FORMAT_ENUM)
#undef HN_DATA_FORMAT_ENUM
        HN_N_DATA_FORMATS
} hn_data_format;

const char *hn_data_format_name(hn_data_format format);
/* HN_ERR_ARGUMENT lists them. */
hn_status hn_data_format_parse(const char *word, hn_data_format *out);

/* Of one example. HN_ERR_FORMAT names its keys if they are of no format, or of two; the caller
 * says where. */
hn_status hn_data_format_of(const hn_json *example, hn_data_format *out);
/* Whether the keys of this format are there. */
bool hn_data_format_fits(const hn_json *example, hn_data_format format);

#endif
