/* Where templates and special tokens are found in a model's tables. */
#include "text/template/chat.h"

#include <string.h>

/* What is left of a key after the prefix, if that is nothing or begins with a point:
 * tokenizer.chat_templates, which lists the names, is no template. */
static const char *after(const char *prefix, const char *key)
{
    const size_t n = strlen(prefix);
    return !strncmp(key, prefix, n) && (!key[n] || key[n] == '.') ? key + n : NULL;
}

const char *hn_chat_template_key(const hn_meta *meta)
{
    for (size_t i = 0; i < meta->n; i++)
        if (after("hone.chat_template", meta->values[i].key))
            return "hone.chat_template"; /* where llama.cpp would take others: all are here */
    return "tokenizer.chat_template";
}

/* PREFIX is the default; PREFIX.NAME the others. */
static hn_status add_templates(hn_chat_format *chat, const hn_meta *meta)
{
    const char *prefix = hn_chat_template_key(meta);
    for (size_t i = 0; i < meta->n; i++) {
        const char *key = meta->values[i].key, *rest = after(prefix, key);
        if (!rest)
            continue;
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

hn_status hn_chat_format_add_tokens(hn_chat_format *chat, const hn_json *config)
{
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
