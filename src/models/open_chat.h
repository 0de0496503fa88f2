/* open_chat.h: what a chat template is rendered with: the model's format, a template of one's own,
 * and JSON. */
#ifndef HN_MODELS_OPEN_CHAT_H
#define HN_MODELS_OPEN_CHAT_H

#include "text/template/chat.h"

enum { HN_MAX_CHAT_VARS = 16 };

/* What was read, and lives until it is closed. Zeroed, with a heap, it is empty. */
typedef struct hn_chat_input {
    hn_heap *heap;
    hn_chat_format *chat;
    hn_json_text *texts[HN_MAX_CHAT_VARS + 8];
    int n_texts;
    hn_template_var vars[HN_MAX_CHAT_VARS]; /* of hn_chat_input_set */
    char *names[HN_MAX_CHAT_VARS];
    int n_vars;
} hn_chat_input;

/* The templates and special tokens of a GGUF file or a Hugging Face directory. */
hn_status hn_chat_input_open(hn_chat_input *in, const char *model);
/* A template of one's own, which gets the file's name; NULL: none. */
hn_status hn_chat_input_template(hn_chat_input *in, const char *path_or_null);
/* Which of the templates: one of these, or, if both are NULL, the default. */
typedef struct hn_template_choice {
    const char *file, *name; /* a file of one's own; the name of one of the model's */
} hn_template_choice;
/* *which: its name in the format, NULL of the default. One that there is not is refused. */
hn_status hn_chat_input_choose(hn_chat_input *in, const hn_template_choice *choice, const char **which);
/* A JSON file; without one *out is NULL. */
hn_status hn_chat_input_json(hn_chat_input *in, const char *path_or_null, const hn_json **out);
/* Each is KEY=JSON, for a variable. */
hn_status hn_chat_input_set(hn_chat_input *in, const char *const *set, int n);
void hn_chat_input_close(hn_chat_input *in);

#endif
