/* Two programs, two orders of precedence: each reader goes through the same places in its program's order, and of
 * two with one name the later counts. */
#include "io/hf_templates.h"

#include <string.h>

enum { MAX_TEMPLATE = 4 << 20 };

typedef struct reader {
    const hn_hf_dir *dir;
    hn_hf_choice choice;
    hn_hf_templates *out;
} reader;

const hn_hf_template *hn_hf_templates_find(const hn_hf_templates *templates, const char *name)
{
    for (size_t i = 0; i < templates->n; i++)
        if (!strcmp(templates->at[i].name, name))
            return &templates->at[i];
    return NULL;
}

void hn_hf_templates_free(hn_hf_templates *templates)
{
    for (size_t i = 0; i < templates->n; i++)
        hn_free(templates->heap, templates->at[i].source);
    hn_free(templates->heap, templates->at);
    *templates = (hn_hf_templates){ .heap = templates->heap };
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Of two with one name the later counts. */
static hn_status add(reader *r, const char *name, const char *source, size_t bytes)
{
    hn_hf_templates *to = r->out;
    hn_hf_template t = { .bytes = bytes };
    const size_t length = strlen(name);
    HN_REQUIRE(length < sizeof t.name, HN_ERR_UNSUPPORTED,
               "%s: chat template %.40s...: its name has more than %d bytes", r->dir->path,
               name, HN_HF_TEMPLATE_NAME - 1);
    for (size_t i = 0; i < length; i++)
        t.name[i] = r->choice == HN_HF_LLAMA_CPP && !is_plain(name[i]) ? '_' : name[i];
    size_t i = 0;
    while (i < to->n && strcmp(to->at[i].name, t.name) != 0)
        i++;
    HN_REQUIRE(i < HN_HF_MOST_TEMPLATES, HN_ERR_UNSUPPORTED, "%s: more than %d chat templates",
               r->dir->path, HN_HF_MOST_TEMPLATES);
    t.source = hn_alloc(to->heap, HN_TAG_TEXT, bytes + 1);
    if (!t.source)
        return HN_ERR_MEMORY;
    memcpy(t.source, source, bytes);
    if (i < to->n)
        hn_free(to->heap, to->at[i].source);
    else
        to->n++;
    to->at[i] = t;
    return HN_OK;
}

/* Both read these files as Python reads text: "\r\n" and "\r" end a line as "\n" does. */
static size_t join_newlines(char *text, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) {
        const bool is_return = text[i] == '\r';
        i += is_return && i + 1 < bytes && text[i + 1] == '\n';
        text[n++] = is_return ? '\n' : text[i];
    }
    return n;
}

static hn_status add_file(reader *r, const char *file, const char *name)
{
    void *source;
    size_t bytes;
    HN_TRY(hn_hf_dir_read(r->dir, file, MAX_TEMPLATE, &source, &bytes));
    if (!source)
        return HN_OK;
    const hn_status status = add(r, name, source, join_newlines(source, bytes));
    hn_free(r->dir->heap, source);
    return status;
}

static hn_status add_additional(void *context, const char *file, const char *name)
{
    return add_file(context, file, name);
}

static hn_status add_files(reader *r)
{
    HN_TRY(add_file(r, "chat_template.jinja", "default"));
    if (r->choice == HN_HF_LLAMA_CPP && !r->out->n)
        return HN_OK;
    return hn_hf_dir_each(r->dir, "additional_chat_templates", ".jinja", add_additional, r);
}

/* What a file has under chat_template. */
static hn_status add_value(reader *r, const char *file, const hn_json *config)
{
    const hn_json *found = hn_json_get(config, "chat_template");
    if (!found || found->kind == HN_JSON_NULL)
        return HN_OK;
    if (found->kind == HN_JSON_STRING)
        return add(r, "default", hn_json_string(found), hn_json_bytes(found));
    HN_REQUIRE(found->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "%s/%s: chat_template: expected a text, or a list of them", r->dir->path, file);
    for (const hn_json *t = hn_json_first(found); t; t = t->next) {
        const hn_json *name = hn_json_get(t, "name"), *source = hn_json_get(t, "template");
        HN_REQUIRE(
            name && name->kind == HN_JSON_STRING && source && source->kind == HN_JSON_STRING,
            HN_ERR_FORMAT, "%s/%s: chat_template: expected objects with a name and a template",
            r->dir->path, file);
        HN_TRY(add(r, hn_json_string(name), hn_json_string(source), hn_json_bytes(source)));
    }
    return HN_OK;
}

static hn_status add_processor(reader *r)
{
    static const char file[] = "chat_template.json";
    void *text;
    size_t bytes;
    hn_json_text *json = NULL;
    HN_TRY(hn_hf_dir_read(r->dir, file, MAX_TEMPLATE, &text, &bytes));
    if (!text)
        return HN_OK;
    hn_status status = hn_json_read(r->dir->heap, file, text, bytes, &json);
    if (status == HN_OK)
        status = add_value(r, file, hn_json_root(json));
    hn_json_free(json);
    hn_free(r->dir->heap, text);
    return status;
}

static hn_status add_config(reader *r)
{
    return add_value(r, "tokenizer_config.json", hn_json_root(r->dir->tokenizer_config));
}

static hn_status read_as_llama_cpp(reader *r)
{
    if (!r->dir->tokenizer_config)
        return HN_OK;
    if (hn_json_get(hn_json_root(r->dir->tokenizer_config), "chat_template"))
        return add_config(r);
    HN_TRY(add_files(r));
    return r->out->n ? HN_OK : add_processor(r);
}

static hn_status read_as_transformers(reader *r)
{
    HN_TRY(add_files(r));
    if (!r->out->n && r->dir->tokenizer_config)
        HN_TRY(add_config(r));
    return r->out->n ? HN_OK : add_processor(r);
}

hn_status hn_hf_templates_read(const hn_hf_dir *dir, hn_hf_choice choice, hn_hf_templates *out)
{
    *out = (hn_hf_templates){ .heap = dir->heap };
    out->at = hn_alloc_array(dir->heap, HN_TAG_TEXT, HN_HF_MOST_TEMPLATES, sizeof *out->at);
    if (!out->at)
        return HN_ERR_MEMORY;
    reader r = { dir, choice, out };
    const hn_status status =
        choice == HN_HF_LLAMA_CPP ? read_as_llama_cpp(&r) : read_as_transformers(&r);
    if (status != HN_OK)
        hn_hf_templates_free(out);
    return status;
}
