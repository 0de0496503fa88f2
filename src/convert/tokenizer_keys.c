#include "convert/tokenizer_keys.h"

#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TEMPLATE = 4 << 20, MAX_NAMED = 64 };

static hn_status add_vocabulary(const hn_hf_dir *dir, hn_meta *meta)
{
    hn_tokenizer *tok;
    HN_REQUIRE(dir->tokenizer, HN_ERR_UNSUPPORTED,
               "%s: no tokenizer.json: other kinds of tokenizer files are not read", dir->path);
    HN_TRY(hn_tokenizer_from_json(dir->heap, dir->path, hn_json_root(dir->tokenizer),
                                  dir->tokenizer_config ? hn_json_root(dir->tokenizer_config)
                                                        : NULL,
                                  dir->generation ? hn_json_root(dir->generation) : NULL, &tok));
    const hn_status status = hn_tokenizer_to_meta(tok, meta);
    hn_tokenizer_free(tok);
    return status;
}

/* Several templates: "default" is the one, the others go beside it under their names. */
static hn_status add_named(const hn_json *list, hn_meta *meta)
{
    hn_span names[MAX_NAMED];
    size_t n = 0;
    for (const hn_json *t = list->as.children.first; t; t = t->next) {
        const char *name, *text;
        char key[160];
        HN_TRY(hn_json_want_string(hn_json_get(t, "name"), "chat_template: name", &name));
        HN_TRY(hn_json_want_string(hn_json_get(t, "template"), "chat_template: template", &text));
        if (!strcmp(name, "default")) {
            HN_TRY(hn_meta_set_text(meta, "tokenizer.chat_template", text));
            continue;
        }
        HN_REQUIRE(n < sizeof names / sizeof *names && strlen(name) < 100, HN_ERR_UNSUPPORTED,
                   "chat_template: too many, or a name that is too long");
        snprintf(key, sizeof key, "tokenizer.chat_template.%s", name);
        HN_TRY(hn_meta_set_text(meta, key, text));
        names[n++] = (hn_span){ name, strlen(name) };
    }
    return n ? hn_meta_set_strings(meta, "tokenizer.chat_templates", names, n) : HN_OK;
}

typedef struct named {
    const hn_hf_dir *dir;
    hn_meta *meta;
    hn_span names[MAX_NAMED];
    char texts[MAX_NAMED][100];
    size_t n;
} named;

static hn_status add_file(const hn_hf_dir *dir, const char *file, const char *key, hn_meta *meta,
                          bool *is_there)
{
    void *text;
    size_t bytes;
    HN_TRY(hn_hf_dir_read(dir, file, MAX_TEMPLATE, &text, &bytes));
    *is_there = text != NULL;
    if (!text)
        return HN_OK;
    const hn_status status = hn_meta_set_string(meta, key, (hn_span){ text, bytes });
    hn_free(dir->heap, text);
    return status;
}

static hn_status add_additional(void *context, const char *file, const char *name)
{
    named *to = context;
    char key[160];
    bool is_there;
    HN_REQUIRE(to->n < MAX_NAMED && strlen(name) < sizeof to->texts[0], HN_ERR_UNSUPPORTED,
               "%s/%s: too many templates, or a name that is too long", to->dir->path, file);
    snprintf(key, sizeof key, "tokenizer.chat_template.%s", name);
    snprintf(to->texts[to->n], sizeof to->texts[0], "%s", name);
    to->names[to->n] = (hn_span){ to->texts[to->n], strlen(name) };
    to->n++;
    return add_file(to->dir, file, key, to->meta, &is_there);
}

/* What tokenizer_config.json or chat_template.json has under chat_template. */
static hn_status add_value(const hn_json *config, hn_meta *meta)
{
    const hn_json *found = hn_json_get(config, "chat_template");
    const char *text;
    if (!found || found->kind == HN_JSON_NULL)
        return HN_OK;
    if (found->kind == HN_JSON_ARRAY)
        return add_named(found, meta);
    HN_TRY(hn_json_want_string(found, "chat_template", &text));
    return hn_meta_set_text(meta, "tokenizer.chat_template", text);
}

static hn_status add_processor(const hn_hf_dir *dir, hn_meta *meta)
{
    void *text;
    size_t bytes;
    hn_json_text *json = NULL;
    HN_TRY(hn_hf_dir_read(dir, "chat_template.json", MAX_TEMPLATE, &text, &bytes));
    if (!text)
        return HN_OK;
    hn_status status = hn_json_read(dir->heap, "chat_template.json", text, bytes, &json);
    if (status == HN_OK)
        status = add_value(hn_json_root(json), meta);
    hn_json_free(json);
    hn_free(dir->heap, text);
    return status;
}

/* In the order in which Transformers looks, and `hone render` too: a file of its own and those
 * beside it, tokenizer_config.json, chat_template.json. */
static hn_status add_template(const hn_hf_dir *dir, hn_meta *meta)
{
    bool is_there;
    named more = { .dir = dir, .meta = meta };
    HN_TRY(add_file(dir, "chat_template.jinja", "tokenizer.chat_template", meta, &is_there));
    HN_TRY(hn_hf_dir_each(dir, "additional_chat_templates", ".jinja", add_additional, &more));
    if (more.n)
        HN_TRY(hn_meta_set_strings(meta, "tokenizer.chat_templates", more.names, more.n));
    if (is_there)
        return HN_OK;
    if (dir->tokenizer_config)
        HN_TRY(add_value(hn_json_root(dir->tokenizer_config), meta));
    return hn_meta_find(meta, "tokenizer.chat_template") ? HN_OK : add_processor(dir, meta);
}

hn_status hn_tokenizer_keys(const hn_hf_dir *dir, hn_meta *meta)
{
    HN_TRY(add_vocabulary(dir, meta));
    return add_template(dir, meta);
}
