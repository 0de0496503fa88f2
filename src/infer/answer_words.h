/* answer_words.h: rules of calls in notations of their own, which reader_words.c reads. Private to answer_rules.c. */
#ifndef HN_INFER_ANSWER_WORDS_H
#define HN_INFER_ANSWER_WORDS_H

#include "infer/answer_texts.h"

/* One call of this tool, without what opens and closes it: call:NAME{key:value}, or NAME(key=value). */
hn_status hn_rule_words(hn_rule_writer *w, hn_str *to, const hn_json *tool);

#endif
