/* Two templates may be written: the one that llama.cpp takes where it looks, and, if the model was trained with
 * another, that one under hone's own key. */
#include "models/tokenizer_keys.h"

#include "io/hf_templates.h"
#include "text/tokenizer/tokenizer.h"

#include <stdio.h>
#include <string.h>

static hn_status add_vocabulary(const hn_hf_dir *dir, hn_meta *meta)
{
    hn_tokenizer *tok;
    HN_REQUIRE(dir->tokenizer, HN_ERR_UNSUPPORTED,
               "%s: no tokenizer.json: other kinds of tokenizer files are not read", dir->path);
    HN_TRY(hn_tokenizer_from_json(
        dir->heap, dir->path, hn_json_root(dir->tokenizer),
        dir->tokenizer_config ? hn_json_root(dir->tokenizer_config) : NULL,
        hn_hf_dir_generation(dir), &tok));
    const hn_status status = hn_tokenizer_to_meta(tok, meta);
    hn_tokenizer_free(tok);
    return status;
}

/* "default" is the one, the others go beside it under their names. */
static hn_status add_templates(const hn_hf_templates *list, const char *prefix, hn_meta *meta)
{
    for (size_t i = 0; i < list->n; i++) {
        const hn_hf_template *t = &list->at[i];
        char key[64 + HN_HF_TEMPLATE_NAME];
        const bool is_default = !strcmp(t->name, "default");
        snprintf(key, sizeof key, is_default ? "%s" : "%s.%s", prefix, t->name);
        HN_TRY(hn_meta_set_string(meta, key, (hn_span){ t->source, t->bytes }));
    }
    return HN_OK;
}

static hn_status add_names(const hn_hf_templates *list, hn_meta *meta)
{
    hn_span names[HN_HF_MOST_TEMPLATES];
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i].name, "default") != 0)
            names[n++] = (hn_span){ list->at[i].name, strlen(list->at[i].name) };
    return n ? hn_meta_set_strings(meta, "tokenizer.chat_templates", names, n) : HN_OK;
}

static bool are_same(const hn_hf_templates *a, const hn_hf_templates *b)
{
    for (size_t i = 0; i < a->n; i++) {
        const hn_hf_template *other = hn_hf_templates_find(b, a->at[i].name);
        if (!other || other->bytes != a->at[i].bytes ||
            memcmp(other->source, a->at[i].source, other->bytes) != 0)
            return false;
    }
    return a->n == b->n;
}

/* What llama.cpp's converter takes goes where llama.cpp looks; where that is not what the model
 * was trained with, as Transformers has it, that goes under hone's own keys, which hone reads
 * first. */
static hn_status add_template(const hn_hf_dir *dir, hn_meta *meta)
{
    hn_hf_templates said, meant;
    HN_TRY(hn_hf_templates_read(dir, HN_HF_LLAMA_CPP, &said));
    hn_status status = hn_hf_templates_read(dir, HN_HF_TRANSFORMERS, &meant);
    if (status == HN_OK) {
        status = add_templates(&said, "tokenizer.chat_template", meta);
        if (status == HN_OK)
            status = add_names(&said, meta);
        if (status == HN_OK && !are_same(&said, &meant))
            status = add_templates(&meant, "hone.chat_template", meta);
        hn_hf_templates_free(&meant);
    }
    hn_hf_templates_free(&said);
    return status;
}

hn_status hn_tokenizer_keys(const hn_hf_dir *dir, hn_meta *meta)
{
    HN_TRY(add_vocabulary(dir, meta));
    return add_template(dir, meta);
}
