#include "models/open_chat.h"

#include "base/file.h"
#include "io/gguf.h"
#include "io/hf_templates.h"

#include <string.h>

enum { MOST_BYTES = 1 << 26 };

static hn_status read_json(hn_chat_input *in, const char *name, const char *text, size_t bytes,
                           const hn_json **out)
{
    HN_TRY(hn_json_read(in->heap, name, text, bytes, &in->texts[in->n_texts]));
    *out = hn_json_root(in->texts[in->n_texts++]);
    return HN_OK;
}

hn_status hn_chat_input_json(hn_chat_input *in, const char *path, const hn_json **out)
{
    void *data = NULL;
    size_t bytes = 0;
    *out = NULL;
    if (!path)
        return HN_OK;
    HN_TRY(hn_file_read(in->heap, path, MOST_BYTES, &data, &bytes));
    const hn_status status = read_json(in, path, data, bytes, out);
    hn_free(in->heap, data);
    return status;
}

static hn_status add_templates(hn_chat_input *in, const hn_hf_dir *dir)
{
    hn_hf_templates list;
    HN_TRY(hn_hf_templates_read(dir, HN_HF_TRANSFORMERS, &list));
    hn_status status = HN_OK;
    for (size_t i = 0; i < list.n && status == HN_OK; i++)
        status =
            hn_chat_format_add(in->chat, list.at[i].name, list.at[i].source, list.at[i].bytes);
    hn_hf_templates_free(&list);
    return status;
}

static hn_status read_dir(hn_chat_input *in, const char *path)
{
    hn_hf_dir *dir = NULL;
    HN_TRY(hn_hf_dir_open(in->heap, path, 0, &dir));
    hn_status status = add_templates(in, dir);
    if (status == HN_OK && dir->tokenizer_config)
        status = hn_chat_format_add_tokens(in->chat, hn_json_root(dir->tokenizer_config));
    if (status == HN_OK && dir->special_tokens)
        status = hn_chat_format_add_tokens(in->chat, hn_json_root(dir->special_tokens));
    hn_hf_dir_close(dir);
    return status;
}

hn_status hn_chat_input_open(hn_chat_input *in, const char *path)
{
    hn_gguf *gguf = NULL;
    HN_TRY(hn_chat_format_new(in->heap, path, &in->chat));
    if (hn_is_dir(path))
        return read_dir(in, path);
    HN_TRY(hn_gguf_open(in->heap, path, &gguf));
    const hn_status status = hn_chat_format_add_meta(in->chat, hn_gguf_meta(gguf));
    hn_gguf_close(gguf);
    return status;
}

hn_status hn_chat_input_set(hn_chat_input *in, const char *const *set, int n_set)
{
    HN_REQUIRE(n_set >= 0 && n_set <= HN_MAX_CHAT_VARS, HN_ERR_ARGUMENT,
               "variables of the template: expected at most %d, found %d", HN_MAX_CHAT_VARS, n_set);
    for (int i = 0; i < n_set; i++) {
        const char *equals = strchr(set[i], '=');
        HN_REQUIRE(equals && equals > set[i], HN_ERR_ARGUMENT, "--set %s: expected KEY=JSON",
                   set[i]);
        const size_t n = (size_t)(equals - set[i]);
        in->names[i] = hn_alloc(in->heap, HN_TAG_TEXT, n + 1);
        if (!in->names[i])
            return HN_ERR_MEMORY;
        memcpy(in->names[i], set[i], n);
        in->vars[i].name = in->names[i];
        in->n_vars = i + 1;
        HN_TRY(read_json(in, set[i], equals + 1, strlen(equals + 1), &in->vars[i].json));
    }
    return HN_OK;
}

hn_status hn_chat_input_template(hn_chat_input *in, const char *path)
{
    void *data = NULL;
    size_t bytes = 0;
    if (!path)
        return HN_OK;
    HN_TRY(hn_file_read(in->heap, path, MOST_BYTES, &data, &bytes));
    const hn_status status = hn_chat_format_add(in->chat, path, data, bytes);
    hn_free(in->heap, data);
    return status;
}

hn_status hn_chat_input_choose(hn_chat_input *in, const hn_template_choice *choice, const char **which)
{
    *which = choice->file ? choice->file : choice->name;
    HN_REQUIRE(!choice->file || !choice->name, HN_ERR_ARGUMENT,
               "--template %s: expected no --template-name with it, found %s", choice->file, choice->name);
    HN_REQUIRE(!choice->name || hn_chat_format_has(in->chat, choice->name), HN_ERR_ARGUMENT,
               "no chat template named '%s' in the model", choice->name);
    return hn_chat_input_template(in, choice->file);
}

void hn_chat_input_close(hn_chat_input *in)
{
    hn_chat_format_free(in->chat);
    for (int i = 0; i < in->n_texts; i++)
        hn_json_free(in->texts[i]);
    for (int i = 0; i < HN_MAX_CHAT_VARS; i++)
        hn_free(in->heap, in->names[i]);
}
