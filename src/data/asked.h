/* asked.h: what is asked in an example that has no messages: a system text, and a prompt under one
 * of its names. */
#ifndef HN_DATA_ASKED_H
#define HN_DATA_ASKED_H

#include "data/record.h"

typedef struct hn_asked {
    hn_span system;
    hn_span text;        /* prompt, question, or instruction with its input; {"", 0}: none */
    const hn_json *list; /* a prompt that is messages; then `text` is none */
    hn_span instruction, input; /* the two as they were */
    bool is_there;       /* one of the names is, with words or without */
} hn_asked;

/* HN_ERR_FORMAT if two names ask. The text may lie in record->text, which this fills. */
hn_status hn_asked_read(hn_record *record, const hn_json *example, hn_asked *out);
/* `system` or `system_prompt`; {"", 0}: neither. */
hn_status hn_asked_system(const hn_json *example, hn_span *out);
/* A text under this key; {"", 0} if it is missing or null. */
hn_status hn_asked_text(const hn_json *example, const char *key, hn_span *out);

#endif
