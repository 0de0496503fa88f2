/* answer_rules.h: what an answer may be, as rules in GBNF: thoughts, text, calls of tools as a family has them written. What they
 * allow the reader of the same family takes for what it is meant as. docs/speech.md. */
#ifndef HN_INFER_ANSWER_RULES_H
#define HN_INFER_ANSWER_RULES_H

#include "infer/reader.h"

typedef struct hn_answer_rules {
    const hn_call_family *family; /* NULL: no calls */
    hn_thought_marks thoughts;
    bool in_thought;     /* the prompt ends in one */
    const hn_json *tools; /* [{"function": {"name", "parameters", "strict"}}], or without what is around; NULL: none */
    const char *only;    /* a call of this tool; NULL: of any */
    bool must_call, once;
    int64_t most_thought; /* tokens; -1: any number */
    const char *schema;  /* of the text, JSON; NULL: any text */
    /* The id of the longest token without text that begins here, and its bytes; -1: none does. */
    int32_t (*control)(const void *context, const char *text, size_t *bytes);
    int32_t (*token)(const void *context, const char *text); /* whose text this is; -1: none's */
    const void *context;
} hn_answer_rules;

/* "": nothing is held. HN_ERR_ARGUMENT: there is no such tool; HN_ERR_UNSUPPORTED: what no rules are known of, by name. */
hn_status hn_answer_rules_write(hn_heap *heap, const hn_answer_rules *of, hn_str *out);

/* How a family has its parameters written as elements; NULL: otherwise. */
typedef struct hn_call_elements {
    const char *family, *open, *key_end, *value_open, *value_end;
} hn_call_elements;
const hn_call_elements *hn_call_elements_of(const hn_call_family *family);
/* Whether a value may be of a type: by `type`, by one in anyOf and so on, by `enum`. */
bool hn_call_value_may_be(const hn_json *schema, const char *type);

#endif
