/* answer_texts.h: parts of rules in GBNF: a family's marks, and texts up to one. Private to the files of rules.
 *
 * A text up to a mark, or without one, is a rule for each beginning of a mark that the text may end in. */
#ifndef HN_INFER_ANSWER_TEXTS_H
#define HN_INFER_ANSWER_TEXTS_H

#include "infer/answer_rules.h"

typedef struct hn_rule_writer {
    const hn_answer_rules *of;
    hn_str root, rules; /* the rule `root`, and those that it calls */
    int n_texts, n_pairs;
} hn_rule_writer;

/* A text of the family's: tokens without text as such. */
void hn_rule_mark(const hn_rule_writer *w, hn_str *to, const char *text);
/* A text that is not the family's: its characters. */
void hn_rule_text(hn_str *to, const char *text);
/* Characters up to and with `found`, or, if it is NULL, that end anywhere; in them stands neither `without` nor `nor` (NULL: nothing).
 * Tokens without text are none of them. */
void hn_rule_until(hn_rule_writer *w, hn_str *to, const char *found, const char *without, const char *nor);

#endif
