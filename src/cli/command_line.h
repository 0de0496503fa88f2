/* command_line.h: the words that the program was called with, as they could be typed again. */
#ifndef HN_CLI_COMMAND_LINE_H
#define HN_CLI_COMMAND_LINE_H

#include "base/str.h"

/* The words live as long as the program. */
void hn_command_line_keep(int n, char **words);
/* "build/hone train ..." with `more` behind it, unless it is among the words: quoted for a shell. */
void hn_command_line_write(hn_str *out, const char *more_or_null);

#endif
