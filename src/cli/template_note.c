#include "cli/template_note.h"

#include "io/hf_templates.h"
#include "text/template/chat.h"

#include <string.h>

static void add_name(hn_str *names, const char *name)
{
    hn_str_print(names, "%s%s", names->length ? ", " : "", name);
}

static void set_text(hn_template_note *note, hn_span text)
{
    note->has_text = text.data != NULL;
    if (text.data)
        hn_str_add_bytes(&note->text, text.data, text.bytes);
}

static hn_status read_meta(const hn_meta *meta, hn_template_note *out)
{
    static const char written[] = "tokenizer.chat_template";
    hn_span text, unused;
    out->key = hn_chat_template_key(meta);
    HN_TRY(hn_meta_string(meta, out->key, &text));
    set_text(out, text);
    HN_TRY(hn_meta_string(meta, written, &unused));
    if (strcmp(out->key, written) != 0)
        out->unused_bytes = unused.bytes;
    const size_t n = strlen(out->key);
    for (size_t i = 0; i < meta->n; i++)
        if (!strncmp(meta->values[i].key, out->key, n) && meta->values[i].key[n] == '.')
            add_name(&out->others, meta->values[i].key + n + 1);
    return HN_OK;
}

static hn_status read_dir(const hn_hf_dir *dir, hn_template_note *out)
{
    hn_hf_templates list;
    HN_TRY(hn_hf_templates_read(dir, HN_HF_TRANSFORMERS, &list));
    for (size_t i = 0; i < list.n; i++) {
        if (!strcmp(list.at[i].name, "default"))
            set_text(out, (hn_span){ list.at[i].source, list.at[i].bytes });
        else
            add_name(&out->others, list.at[i].name);
    }
    hn_hf_templates_free(&list);
    return HN_OK;
}

hn_status hn_template_note_read(hn_heap *heap, const hn_meta *meta, const hn_hf_dir *dir,
                                hn_template_note *out)
{
    *out = (hn_template_note){ .text = hn_str_on(heap), .others = hn_str_on(heap) };
    hn_status status = meta ? read_meta(meta, out) : read_dir(dir, out);
    if (status == HN_OK)
        status = hn_str_status(&out->others);
    if (status == HN_OK)
        status = hn_str_status(&out->text);
    if (status != HN_OK)
        hn_template_note_free(out);
    return status;
}

void hn_template_note_json(const hn_template_note *note, hn_json_writer *json)
{
    hn_json_key(json, "chat_template");
    if (note->has_text)
        hn_json_add_string(json, note->text.text);
    else
        hn_json_add_null(json);
    hn_json_key(json, "chat_template_key");
    if (note->key && note->has_text)
        hn_json_add_string(json, note->key);
    else
        hn_json_add_null(json);
}

void hn_template_note_print(const hn_template_note *note, FILE *out)
{
    fprintf(out, "%-13s ", "template");
    if (note->has_text)
        fprintf(out, "%zu bytes", note->text.length);
    else
        fputs("none", out);
    if (note->others.length)
        fprintf(out, ", and %s", note->others.text);
    if (note->key && strcmp(note->key, "tokenizer.chat_template") != 0)
        fprintf(out, ", of %s; of tokenizer.chat_template, which llama.cpp uses, %zu",
                note->key, note->unused_bytes);
    fputs("\n", out);
}

void hn_template_note_free(hn_template_note *note)
{
    hn_str_free(&note->others);
    hn_str_free(&note->text);
}
