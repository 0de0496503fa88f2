/* line_input.h: lines from a person or a pipe. On a terminal they are edited, elsewhere read as
 * they are. The terminal is in its raw mode only while a line is read. */
#ifndef HN_CLI_LINE_INPUT_H
#define HN_CLI_LINE_INPUT_H

#include "cli/line_edit.h"

typedef struct hn_line_input {
    bool is_terminal; /* both ways: keys come from it and it shows what is drawn */
    hn_line_edit *edit;
    char bytes[256]; /* typed and not yet read */
    size_t n_bytes;
} hn_line_input;

hn_status hn_line_input_open(hn_line_input *in, hn_heap *heap);
void hn_line_input_close(hn_line_input *in);

/* One line to `out`, cleared first; HN_LINE_ENTERED, _INTERRUPTED or _ENDED. A pipe's last line
 * needs no line end. */
hn_status hn_line_input_read(hn_line_input *in, const char *prompt, hn_str *out,
                             hn_line_event *event);

/* A message of several lines: a backslash at the end of one goes on with the next, and """
 * begins a block that ends with """; *is_block tells. */
hn_status hn_line_input_message(hn_line_input *in, hn_str *out, bool *is_block,
                                hn_line_event *event);

#endif
