/* reader.h: what a model says, told apart while it comes: answers, thoughts, and calls of tools.
 *
 * A reader is fed bytes, in pieces of any size: what comes of them is the same however they are cut. How calls are written is
 * the family's (call_families.def). What looks like a call and is none is said as text; from the moment that a call's name is
 * told, it is one. */
#ifndef HN_INFER_READER_H
#define HN_INFER_READER_H

#include "base/json.h"
#include "infer/call_family.h"
#include "infer/thought.h"

typedef struct hn_reader_ear {
    void (*say)(void *context, hn_voice voice, const char *text, size_t bytes);
    /* Calls are counted from 0. `name` ends in NUL and comes once, first, as does `id`, "" if the model gives none; then both
     * are NULL. Arguments are JSON, whole only once the call is. */
    void (*call)(void *context, int32_t index, const char *id, const char *name, const char *arguments, size_t bytes);
    void *context;
} hn_reader_ear;

typedef struct hn_reader_options {
    const hn_call_family *family;    /* NULL: calls are not looked for */
    hn_thought_marks thoughts;       /* zeroed: <think> */
    const hn_json *tools;            /* an array as OpenAI has it; must outlive the reader */
    bool in_thought;                 /* the prompt ends in a thought's beginning */
} hn_reader_options;

typedef struct hn_reader hn_reader;

hn_status hn_reader_new(hn_reader **out, hn_heap *heap, const hn_reader_options *options, const hn_reader_ear *ear);
void hn_reader_free(hn_reader *reader); /* takes NULL */
hn_status hn_reader_add(hn_reader *reader, const char *text, size_t bytes);
/* Lets go of what was held. *is_cut: a call's arguments did not come to their end. */
hn_status hn_reader_finish(hn_reader *reader, bool *is_cut);
/* Whether a token of this text is one of the reader's marks, or a part of one. */
bool hn_reader_knows(const hn_reader *reader, const char *piece, size_t bytes);

#endif
