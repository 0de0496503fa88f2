/* format.h: what an answer's text is held to: `response_format`, or a grammar. */
#ifndef HN_SERVER_FORMAT_H
#define HN_SERVER_FORMAT_H

#include "server/answer.h"

/* Of a body that was checked: its kind and its text, into the answer. */
bool hn_format_take(hn_answer *a, hn_failure *why);
/* The grammar of it; on the smith. Nothing where there is none. */
bool hn_format_make(hn_answer *a, hn_failure *why);

#endif
