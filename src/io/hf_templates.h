/* hf_templates.h: the chat templates of a Hugging Face directory, which have four places there:
 * chat_template.jinja, additional_chat_templates/NAME.jinja, and "chat_template" (a text, or a
 * list of names and texts) of tokenizer_config.json or of chat_template.json.
 *
 * Which counts where there are several is decided differently, so it is asked for. */
#ifndef HN_IO_HF_TEMPLATES_H
#define HN_IO_HF_TEMPLATES_H

#include "io/hf_dir.h"

typedef enum hn_hf_choice {
    /* The files, if there are any; else tokenizer_config.json; else chat_template.json. */
    HN_HF_TRANSFORMERS,
    /* tokenizer_config.json, without which there is none; where it has no such key
     * chat_template.jinja and what is beside it; else chat_template.json. Characters of names
     * that are no ASCII letters or digits become '_'. */
    HN_HF_LLAMA_CPP
} hn_hf_choice;

enum { HN_HF_MOST_TEMPLATES = 65, HN_HF_TEMPLATE_NAME = 100 };

typedef struct hn_hf_template {
    char name[HN_HF_TEMPLATE_NAME]; /* "default", "tool_use", "rag" */
    char *source;
    size_t bytes;
} hn_hf_template;

typedef struct hn_hf_templates {
    hn_heap *heap;
    hn_hf_template *at; /* names differ */
    size_t n;
} hn_hf_templates;

hn_status hn_hf_templates_read(const hn_hf_dir *dir, hn_hf_choice choice, hn_hf_templates *out);
void hn_hf_templates_free(hn_hf_templates *templates);
/* NULL if there is none of this name. */
const hn_hf_template *hn_hf_templates_find(const hn_hf_templates *templates, const char *name);

#endif
