/* command_line.h: the words that the program was called with, as they could be typed again. */
#ifndef HN_CLI_COMMAND_LINE_H
#define HN_CLI_COMMAND_LINE_H

#include "base/str.h"

/* The words live as long as the program. */
void hn_command_line_keep(int n, char **words);
/* "build/hone train ...": quoted for a shell. */
void hn_command_line_write(hn_str *out);
/* "build/hone", and a word after it. */
void hn_command_line_begin(hn_str *out);
void hn_command_line_add(hn_str *out, const char *word);

#endif
