#include "convert/tokenizer_keys.h"

#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TEMPLATE = 4 << 20 };

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
    hn_span names[64];
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

/* A file of its own comes before what tokenizer_config.json says. */
static hn_status add_template(const hn_hf_dir *dir, hn_meta *meta)
{
    void *text;
    size_t bytes;
    HN_TRY(hn_hf_dir_read(dir, "chat_template.jinja", MAX_TEMPLATE, &text, &bytes));
    if (text) {
        const hn_status status =
            hn_meta_set_string(meta, "tokenizer.chat_template", (hn_span){ text, bytes });
        hn_free(dir->heap, text);
        return status;
    }
    if (!dir->tokenizer_config)
        return HN_OK;
    const hn_json *found = hn_json_get(hn_json_root(dir->tokenizer_config), "chat_template");
    if (!found || found->kind == HN_JSON_NULL)
        return HN_OK;
    if (found->kind == HN_JSON_ARRAY)
        return add_named(found, meta);
    const char *template;
    HN_TRY(hn_json_want_string(found, "tokenizer_config.json: chat_template", &template));
    return hn_meta_set_text(meta, "tokenizer.chat_template", template);
}

hn_status hn_tokenizer_keys(const hn_hf_dir *dir, hn_meta *meta)
{
    HN_TRY(add_vocabulary(dir, meta));
    return add_template(dir, meta);
}
