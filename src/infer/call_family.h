/* call_family.h: how a model writes calls of tools and marks its thoughts: what call_families.def and thought_marks.def say of its
 * chat template. */
#ifndef HN_INFER_CALL_FAMILY_H
#define HN_INFER_CALL_FAMILY_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum hn_call_form {
    HN_CALLS_JSON,
    HN_CALLS_KEYED,
    HN_CALLS_NAMED,
    HN_CALLS_XML,
    HN_CALLS_PAIRS,
    HN_CALLS_PYTHON,
    HN_CALLS_HARMONY,
    HN_N_CALL_FORMS,
    HN_CALLS_REFUSED = HN_N_CALL_FORMS /* known, and not read */
} hn_call_form;

const char *hn_call_form_name(hn_call_form form); /* of one that is read: "json" */
/* HN_ERR_ARGUMENT lists them. */
hn_status hn_call_form_parse(const char *word, hn_call_form *out);

typedef struct hn_call_family {
    const char *name;
    hn_call_form form;
    const char *signs, *open, *begin, *prefix, *sep, *end, *close; /* call_families.def; "" if there is none */
} hn_call_family;

/* NULL: no such. */
const hn_call_family *hn_call_family_named(const char *name);
/* The family of a chat template, by its source; NULL: none is known. */
const hn_call_family *hn_call_family_of(const char *source, size_t bytes);
const hn_call_family *hn_call_family_at(size_t i); /* NULL after the last */

/* Marks of a model's thoughts, and those around its answers, which are not said; "" if there are none. */
typedef struct hn_thought_marks {
    const char *open, *close, *before, *after;
} hn_thought_marks;
/* Those that a template names; <think> if it names none. */
hn_thought_marks hn_thought_marks_of(const char *source, size_t bytes);

/* Whether these `n` bytes stand in the text. */
bool hn_text_holds(const char *text, size_t bytes, const char *word, size_t n);

#endif
