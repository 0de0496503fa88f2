/* input_text.h: a text that comes on standard input. */
#ifndef HN_CLI_INPUT_TEXT_H
#define HN_CLI_INPUT_TEXT_H

#include "base/str.h"

/* All of it, added to *to. What cannot be read to its end (a folder, a descriptor that is closed) is an error, and so is more than
 * `most` bytes: none of it is taken for a text that is shorter. */
hn_status hn_input_text(hn_str *to, size_t most);

#endif
