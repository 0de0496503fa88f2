/* line_edit.h: a line being typed: its keys, its text, the lines before it. It knows no
 * terminal: bytes come in, what to draw goes out. line_input.h is the one that reads and draws.
 */
#ifndef HN_CLI_LINE_EDIT_H
#define HN_CLI_LINE_EDIT_H

#include "base/str.h"

typedef enum hn_key {
    HN_KEY_NONE, /* of no meaning here */
    HN_KEY_TEXT, /* one character, as it stands */
    HN_KEY_LEFT,
    HN_KEY_RIGHT,
    HN_KEY_WORD_LEFT,
    HN_KEY_WORD_RIGHT,
    HN_KEY_HOME,
    HN_KEY_END,
    HN_KEY_UP,
    HN_KEY_DOWN,
    HN_KEY_BACKSPACE,
    HN_KEY_DELETE,
    HN_KEY_CUT_WORD,
    HN_KEY_CUT_BEFORE,
    HN_KEY_CUT_AFTER,
    HN_KEY_CLEAR, /* the screen */
    HN_KEY_ENTER,
    HN_KEY_INTERRUPT, /* Ctrl-C */
    HN_KEY_PASTE,     /* the terminal begins to send what was pasted, */
    HN_KEY_PASTED,    /* and has sent all of it: line ends in between enter nothing */
    HN_KEY_EXIT       /* Ctrl-D: the end where the line is empty, else delete */
} hn_key;

/* The first key of what a terminal sent, and its bytes; 0 if more must come to tell. Sequences
 * that are not known are one key of no meaning. */
size_t hn_key_read(const char *bytes, size_t n, hn_key *key);

typedef enum hn_line_event {
    HN_LINE_GOES_ON,
    HN_LINE_ENTERED,
    HN_LINE_INTERRUPTED,
    HN_LINE_ENDED,
    HN_LINE_CLEARS /* the screen is to be cleared; the line goes on */
} hn_line_event;

typedef struct hn_line_edit hn_line_edit;

hn_status hn_line_edit_new(hn_line_edit **out, hn_heap *heap);
void hn_line_edit_free(hn_line_edit *edit); /* takes NULL */

/* Begins an empty line. */
void hn_line_edit_begin(hn_line_edit *edit);
/* `text` is the key's, for HN_KEY_TEXT. */
hn_line_event hn_line_edit_press(hn_line_edit *edit, hn_key key, const char *text,
                                 size_t bytes);
/* The text, and where the cursor is in it: a character's first byte, or the end. HN_ERR_MEMORY
 * if something was lost. */
hn_status hn_line_edit_text(const hn_line_edit *edit, const char **text, size_t *bytes,
                            size_t *cursor);
/* A line for the arrows to come back to; neither empty ones nor the same twice. */
hn_status hn_line_edit_remember(hn_line_edit *edit, const char *line);

/* Adds what shows prompt and line in one row of `columns`, with the cursor in its place: of a
 * longer line the part around it. */
void hn_line_edit_draw(const hn_line_edit *edit, const char *prompt, int columns, hn_str *out);

#endif
