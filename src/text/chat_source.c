/* Where templates and special tokens are found in a model's tables. */
#include "text/chat.h"

#include <string.h>

static const char prefix[] = "tokenizer.chat_template";

/* tokenizer.chat_template is the default; tokenizer.chat_template.NAME the others. */
static hn_status add_templates(hn_chat_format *chat, const hn_meta *meta)
{
    for (size_t i = 0; i < meta->n; i++) {
        const char *key = meta->values[i].key;
        if (strncmp(key, prefix, sizeof prefix - 1))
            continue;
        const char *rest = key + sizeof prefix - 1;
        if (*rest && *rest != '.')
            continue; /* tokenizer.chat_templates lists the names */
        hn_span text;
        HN_TRY(hn_meta_string(meta, key, &text));
        HN_TRY(hn_chat_format_add(chat, *rest ? rest + 1 : "default", text.data, text.bytes));
    }
    return HN_OK;
}

static const struct {
    const char *key, *name;
} ids[] = {
    { "tokenizer.ggml.bos_token_id", "bos_token" },
    { "tokenizer.ggml.eos_token_id", "eos_token" },
    { "tokenizer.ggml.unknown_token_id", "unk_token" },
    { "tokenizer.ggml.seperator_token_id", "sep_token" }, /* spelt so in GGUF */
    { "tokenizer.ggml.padding_token_id", "pad_token" },
    { "tokenizer.ggml.cls_token_id", "cls_token" },
    { "tokenizer.ggml.mask_token_id", "mask_token" },
};
enum { N_IDS = sizeof ids / sizeof *ids };

hn_status hn_chat_format_add_meta(hn_chat_format *chat, const hn_meta *meta)
{
    const hn_meta_value *tokens = NULL;
    int64_t want[N_IDS];
    HN_TRY(add_templates(chat, meta));
    HN_TRY(hn_meta_array(meta, "tokenizer.ggml.tokens", HN_META_STRING, &tokens));
    for (int i = 0; i < N_IDS; i++)
        HN_TRY(hn_meta_int(meta, ids[i].key, -1, &want[i]));
    size_t cursor = 0;
    for (uint64_t id = 0; tokens && id < tokens->n; id++) {
        const hn_span text = hn_meta_next_string(tokens, &cursor);
        for (int i = 0; i < N_IDS; i++)
            if (want[i] == (int64_t)id)
                HN_TRY(hn_chat_format_set_token(chat, ids[i].name, text.data, text.bytes));
    }
    return HN_OK;
}

static hn_status add_named(hn_chat_format *chat, const hn_json *list)
{
    for (const hn_json *v = list->as.children.first; v; v = v->next) {
        const hn_json *name = hn_json_get(v, "name"), *source = hn_json_get(v, "template");
        HN_REQUIRE(name && name->kind == HN_JSON_STRING && source &&
                       source->kind == HN_JSON_STRING,
                   HN_ERR_FORMAT, "chat_template: expected objects with a name and a template");
        if (!hn_chat_format_has(chat, name->as.string.text))
            HN_TRY(hn_chat_format_add(chat, name->as.string.text, source->as.string.text,
                                      source->as.string.bytes));
    }
    return HN_OK;
}

hn_status hn_chat_format_add_json(hn_chat_format *chat, const hn_json *config)
{
    const hn_json *template = hn_json_get(config, "chat_template");
    if (template && template->kind == HN_JSON_ARRAY)
        HN_TRY(add_named(chat, template));
    if (template && template->kind == HN_JSON_STRING && !hn_chat_format_has(chat, "default"))
        HN_TRY(hn_chat_format_add(chat, "default", template->as.string.text,
                                  template->as.string.bytes));
    for (int i = 0; i < N_IDS; i++) {
        const hn_json *token = hn_json_get(config, ids[i].name);
        if (token && token->kind == HN_JSON_OBJECT)
            token = hn_json_get(token, "content");
        if (token && token->kind == HN_JSON_STRING && !hn_chat_format_token(chat, ids[i].name))
            HN_TRY(hn_chat_format_set_token(chat, ids[i].name, token->as.string.text,
                                            token->as.string.bytes));
    }
    return HN_OK;
}
