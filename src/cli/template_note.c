/* One sentence in two forms, as JSON and for people. */
#include "cli/template_note.h"

#include <string.h>

void hn_template_note_json(const hn_lm_about *about, hn_json_writer *json)
{
    hn_json_key(json, "chat_template");
    if (about->template_text)
        hn_json_add_string(json, about->template_text);
    else
        hn_json_add_null(json);
    hn_json_key(json, "chat_template_key");
    if (about->template_key && about->template_text)
        hn_json_add_string(json, about->template_key);
    else
        hn_json_add_null(json);
}

void hn_template_note_print(const hn_lm_about *about, FILE *out)
{
    fprintf(out, "%-13s ", "template");
    if (about->template_text)
        fprintf(out, "%zu bytes", about->template_bytes);
    else
        fputs("none", out);
    if (*about->templates)
        fprintf(out, ", and %s", about->templates);
    if (about->template_key && strcmp(about->template_key, "tokenizer.chat_template") != 0)
        fprintf(out, ", of %s; of tokenizer.chat_template, which llama.cpp uses, %zu",
                about->template_key, about->template_unused);
    fputs("\n", out);
}
