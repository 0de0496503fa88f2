/* chat.h: how a model wants a conversation written: its templates and its special tokens.
 *
 * hn_chat_render gives what Transformers' apply_chat_template(messages, tools=..., ...,
 * tokenize=False) gives. Read once, rendered from any thread. */
#ifndef HN_TEXT_TEMPLATE_CHAT_H
#define HN_TEXT_TEMPLATE_CHAT_H

#include "base/meta.h"
#include "text/template/template.h"

typedef struct hn_chat_format hn_chat_format;

/* `name` begins messages: the model's file. Without a template, rendering fails and says so. */
hn_status hn_chat_format_new(hn_heap *heap, const char *name, hn_chat_format **out);
void hn_chat_format_free(hn_chat_format *chat); /* takes NULL */

/* Adds a template, or replaces the one of this name: "default", "tool_use", "rag". One that
 * cannot be read fails when it is used. */
hn_status hn_chat_format_add(hn_chat_format *chat, const char *name, const char *source,
                             size_t bytes);
/* bos_token, eos_token, ... */
hn_status hn_chat_format_set_token(hn_chat_format *chat, const char *name, const char *text,
                                   size_t bytes);
bool hn_chat_format_has(const hn_chat_format *chat, const char *name);
/* Whether the template of this name reads this variable; NULL: whether the default one or tool_use does. */
bool hn_chat_format_mentions(const hn_chat_format *chat, const char *name_or_null, const char *variable);
/* SHA-256 of a template's text and the special tokens, in hexadecimal digits; NULL: the default
 * one's. False and "" if there is none. */
bool hn_chat_format_digest(const hn_chat_format *chat, const char *name_or_null, char text[65]);
/* Which of them renders: the one of this name, or if NULL tool_use where there are tools and it is there, else the default one. */
const char *hn_chat_format_which(const hn_chat_format *chat, const char *name_or_null, bool has_tools);
/* A template's text; NULL: the default one's. False if there is none. */
bool hn_chat_format_source(const hn_chat_format *chat, const char *name_or_null, hn_span *out);
/* NULL if it is not set. */
const char *hn_chat_format_token(const hn_chat_format *chat, const char *name);

/* What a GGUF file says: hone.chat_template[.NAME], or if it has none of these
 * tokenizer.chat_template[.NAME], and the tokens at their ids. */
hn_status hn_chat_format_add_meta(hn_chat_format *chat, const hn_meta *meta);
/* The one of these two that counts; with ".NAME" it is another template than the default. */
const char *hn_chat_template_key(const hn_meta *meta);
/* The special tokens of tokenizer_config.json or special_tokens_map.json; takes NULL. What is
 * there already stays. */
hn_status hn_chat_format_add_tokens(hn_chat_format *chat, const hn_json *config);

typedef struct hn_chat_request {
    const hn_json *messages; /* an array, or an object with `messages` and perhaps `tools` */
    const hn_json *tools, *documents; /* NULL: none, or those of the object */
    bool no_generation_prompt;
    const char *template_name;   /* NULL: tool_use where there are tools, else default */
    const hn_template_var *vars; /* enable_thinking and the like */
    size_t n_vars;
    hn_template_options options;
} hn_chat_request;

/* Adds to *out, with the places of generation blocks and whose each byte is. */
hn_status hn_chat_render(const hn_chat_format *chat, const hn_chat_request *request, hn_str *out,
                         hn_template_spans *generated_or_null, hn_template_origins *origins_or_null);

#endif
