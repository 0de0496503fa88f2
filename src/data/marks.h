/* marks.h: whose words a rendered conversation is made of, where it is trained.
 *
 * As in a chat, the words of a conversation become no token that ends a turn or begins one. One thing is more: a turn of
 * the assistant that is to be learned is what the model itself is to write, and where it holds marks of thoughts or calls
 * (<think>, <tool_call>: marks.def), these are meant, and stay tokens. */
#ifndef HN_DATA_MARKS_H
#define HN_DATA_MARKS_H

#include "data/example.h"

/* The marks within example->stretches of the assistant count as the template's own in example->origins. */
hn_status hn_marks_find(hn_example *example, const hn_str *text);
/* The same for n bytes that were put into the text at this place, from the end of example->rendered, which has the place
 * too: whose they were there, they are here, and all behind them moves on. */
hn_status hn_marks_insert(hn_example *example, size_t at, size_t n);

#endif
