/* template_note.h: which chat template of a model hone uses, for `hone inspect`. */
#ifndef HN_CLI_TEMPLATE_NOTE_H
#define HN_CLI_TEMPLATE_NOTE_H

#include "base/json.h"
#include "base/meta.h"
#include "io/hf_dir.h"

#include <stdio.h>

typedef struct hn_template_note {
    const char *key; /* of GGUF; NULL of a directory */
    hn_str text;     /* of the default template */
    bool has_text;
    hn_str others;       /* names of those beside it: "rag, tool_use" */
    size_t unused_bytes; /* of tokenizer.chat_template where `key` is another; 0: none */
} hn_template_note;

/* From one of the two; the other is NULL. */
hn_status hn_template_note_read(hn_heap *heap, const hn_meta *meta, const hn_hf_dir *dir,
                                hn_template_note *out);
void hn_template_note_json(const hn_template_note *note, hn_json_writer *json);
void hn_template_note_print(const hn_template_note *note, FILE *out);
void hn_template_note_free(hn_template_note *note);

#endif
