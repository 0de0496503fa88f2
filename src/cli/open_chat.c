#include "cli/open_chat.h"

#include "base/file.h"
#include "io/gguf.h"
#include "io/hf_dir.h"

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

static hn_status add_file(hn_chat_input *in, const hn_hf_dir *dir, const char *file,
                          const char *name)
{
    void *data = NULL;
    size_t bytes = 0;
    HN_TRY(hn_hf_dir_read(dir, file, MOST_BYTES, &data, &bytes));
    if (!data)
        return HN_OK;
    const hn_status status = hn_chat_format_add(in->chat, name, data, bytes);
    hn_free(in->heap, data);
    return status;
}

typedef struct additional {
    hn_chat_input *in;
    const hn_hf_dir *dir;
} additional;

static hn_status add_additional(void *context, const char *file, const char *name)
{
    const additional *to = context;
    return add_file(to->in, to->dir, file, name);
}

static hn_status add_processor(hn_chat_input *in, const hn_hf_dir *dir)
{
    void *data = NULL;
    size_t bytes = 0;
    const hn_json *root = NULL;
    HN_TRY(hn_hf_dir_read(dir, "chat_template.json", MOST_BYTES, &data, &bytes));
    if (!data)
        return HN_OK;
    hn_status status = read_json(in, "chat_template.json", data, bytes, &root);
    hn_free(in->heap, data);
    return status == HN_OK ? hn_chat_format_add_json(in->chat, root) : status;
}

static hn_status read_dir(hn_chat_input *in, const char *path)
{
    hn_hf_dir *dir = NULL;
    HN_TRY(hn_hf_dir_open(in->heap, path, 0, &dir));
    hn_status status = add_file(in, dir, "chat_template.jinja", "default");
    if (status == HN_OK)
        status = hn_hf_dir_each(dir, "additional_chat_templates", ".jinja", add_additional,
                                &(additional){ in, dir });
    if (status == HN_OK && dir->tokenizer_config)
        status = hn_chat_format_add_json(in->chat, hn_json_root(dir->tokenizer_config));
    if (status == HN_OK && dir->special_tokens)
        status = hn_chat_format_add_json(in->chat, hn_json_root(dir->special_tokens));
    if (status == HN_OK)
        status = add_processor(in, dir);
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

hn_status hn_chat_input_set(hn_chat_input *in, const hn_list *set)
{
    for (int i = 0; i < set->n; i++) {
        const char *equals = strchr(set->at[i], '=');
        HN_REQUIRE(equals && equals > set->at[i], HN_ERR_ARGUMENT,
                   "--set %s: expected KEY=JSON", set->at[i]);
        const size_t n = (size_t)(equals - set->at[i]);
        in->names[i] = hn_alloc(in->heap, HN_TAG_TEXT, n + 1);
        if (!in->names[i])
            return HN_ERR_MEMORY;
        memcpy(in->names[i], set->at[i], n);
        in->vars[i].name = in->names[i];
        in->n_vars = i + 1;
        HN_TRY(read_json(in, set->at[i], equals + 1, strlen(equals + 1), &in->vars[i].json));
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

void hn_chat_input_close(hn_chat_input *in)
{
    hn_chat_format_free(in->chat);
    for (int i = 0; i < in->n_texts; i++)
        hn_json_free(in->texts[i]);
    for (int i = 0; i < HN_MAX_LIST; i++)
        hn_free(in->heap, in->names[i]);
}
