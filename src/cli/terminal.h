/* terminal.h: what a model writes, as a terminal may see it: its control characters are shown,
 * not obeyed, and what it thinks is dimmed. A pipe or file gets every byte. */
#ifndef HN_CLI_TERMINAL_H
#define HN_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct hn_terminal {
    FILE *out;
    bool is_terminal, is_dim, ends_line;
} hn_terminal;

hn_terminal hn_terminal_on(FILE *out);
/* Whole characters. Flushed. */
void hn_terminal_write(hn_terminal *t, const char *text, size_t bytes);
void hn_terminal_dim(hn_terminal *t, bool is_dim);
/* Ends a line that was begun, in plain letters. */
void hn_terminal_finish(hn_terminal *t);

/* Words of a file's: their control characters are shown wherever they go, ends of lines too. */
void hn_terminal_show(FILE *out, const char *text, size_t bytes);

/* Columns of the terminal that this is; those of COLUMNS, or 80, where it is none. */
int hn_terminal_width(FILE *stream);
/* Columns that a character takes: 0, 1 or 2. */
int hn_terminal_columns(uint32_t code);

#endif
