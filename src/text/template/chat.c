/* Transformers prepares messages before a template sees them: keys without a value are dropped,
 * and reasoning, which has three names, is given under the two that templates read. */
#include "text/template/chat.h"

#include "base/sha256.h"

#include <string.h>

enum { MOST_TEMPLATES = 32, MOST_TOKENS = 16, MOST_VARS = 64 };

typedef struct named_template {
    char *name;
    hn_template *template; /* NULL: it could not be read, for this reason: */
    char *failure;
    hn_status status;
    char *source;
    size_t bytes;
    uint8_t digest[32]; /* of its text */
} named_template;

typedef struct named_token {
    char *name, *text;
} named_token;

struct hn_chat_format {
    hn_heap *heap;
    char *name;
    named_template templates[MOST_TEMPLATES];
    int n_templates;
    named_token tokens[MOST_TOKENS];
    int n_tokens;
};

hn_status hn_chat_format_new(hn_heap *heap, const char *name, hn_chat_format **out)
{
    *out = NULL;
    hn_chat_format *chat = hn_alloc(heap, HN_TAG_TEXT, sizeof *chat);
    if (!chat)
        return HN_ERR_MEMORY;
    chat->heap = heap;
    chat->name = hn_strdup(heap, HN_TAG_TEXT, name);
    if (!chat->name) {
        hn_chat_format_free(chat);
        return HN_ERR_MEMORY;
    }
    *out = chat;
    return HN_OK;
}

static void clear(hn_heap *heap, named_template *t)
{
    hn_free(heap, t->name);
    hn_free(heap, t->failure);
    hn_free(heap, t->source);
    hn_template_free(t->template);
    *t = (named_template){ 0 };
}

void hn_chat_format_free(hn_chat_format *chat)
{
    if (!chat)
        return;
    for (int i = 0; i < chat->n_templates; i++)
        clear(chat->heap, &chat->templates[i]);
    for (int i = 0; i < chat->n_tokens; i++) {
        hn_free(chat->heap, chat->tokens[i].name);
        hn_free(chat->heap, chat->tokens[i].text);
    }
    hn_free(chat->heap, chat->name);
    hn_free(chat->heap, chat);
}

static int find_template(const hn_chat_format *chat, const char *name)
{
    for (int i = 0; i < chat->n_templates; i++)
        if (!strcmp(chat->templates[i].name, name))
            return i;
    return -1;
}

bool hn_chat_format_has(const hn_chat_format *chat, const char *name)
{
    return find_template(chat, name) >= 0;
}

bool hn_chat_format_mentions(const hn_chat_format *chat, const char *name_or_null, const char *variable)
{
    const char *const names[] = { name_or_null ? name_or_null : "default", name_or_null ? name_or_null : "tool_use" };
    for (int k = 0; k < 2; k++) {
        const int i = find_template(chat, names[k]);
        if (i >= 0 && chat->templates[i].template && hn_template_mentions(chat->templates[i].template, variable))
            return true;
    }
    return false;
}

const char *hn_chat_format_which(const hn_chat_format *chat, const char *name, bool has_tools)
{
    if (name)
        return name;
    return has_tools && find_template(chat, "tool_use") >= 0 ? "tool_use" : "default";
}

bool hn_chat_format_digest(const hn_chat_format *chat, const char *name, char text[65])
{
    const int i = find_template(chat, name ? name : "default");
    text[0] = 0;
    if (i < 0)
        return false;
    hn_sha256 sha;
    uint8_t digest[32];
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, chat->templates[i].digest, sizeof chat->templates[i].digest);
    for (int k = 0; k < chat->n_tokens; k++) {
        hn_sha256_add(&sha, chat->tokens[k].name, strlen(chat->tokens[k].name) + 1);
        hn_sha256_add(&sha, chat->tokens[k].text, strlen(chat->tokens[k].text) + 1);
    }
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
    return true;
}

bool hn_chat_format_source(const hn_chat_format *chat, const char *name, hn_span *out)
{
    const int i = find_template(chat, name ? name : "default");
    *out = i < 0 ? (hn_span){ 0 } : (hn_span){ chat->templates[i].source, chat->templates[i].bytes };
    return i >= 0;
}

hn_status hn_chat_format_add(hn_chat_format *chat, const char *name, const char *source,
                             size_t bytes)
{
    named_template made = { .name = hn_strdup(chat->heap, HN_TAG_TEXT, name), .bytes = bytes,
                            .source = hn_alloc(chat->heap, HN_TAG_TEXT, bytes + 1) };
    hn_str title = hn_str_on(chat->heap);
    if (!made.name || !made.source) {
        clear(chat->heap, &made);
        return HN_ERR_MEMORY;
    }
    memcpy(made.source, source, bytes);
    hn_str_print(&title, strcmp(name, "default") ? "%s: chat template %s" : "%s: chat template",
                 chat->name, name);
    made.status = hn_str_status(&title);
    if (made.status == HN_OK)
        made.status = hn_template_parse(chat->heap, title.text, source, bytes, &made.template);
    hn_str_free(&title);
    if (made.status == HN_ERR_MEMORY) {
        clear(chat->heap, &made);
        return HN_ERR_MEMORY;
    }
    hn_sha256 sha;
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, source, bytes);
    hn_sha256_end(&sha, made.digest);
    if (made.status != HN_OK)
        made.failure = hn_strdup(chat->heap, HN_TAG_TEXT, hn_error_message());
    const int old = find_template(chat, name);
    if (old < 0 && chat->n_templates == MOST_TEMPLATES) {
        clear(chat->heap, &made);
        return hn_fail(HN_ERR_FORMAT, "%s: more than %d chat templates", chat->name,
                       MOST_TEMPLATES);
    }
    if (old >= 0)
        clear(chat->heap, &chat->templates[old]);
    chat->templates[old >= 0 ? old : chat->n_templates++] = made;
    return HN_OK;
}

const char *hn_chat_format_token(const hn_chat_format *chat, const char *name)
{
    for (int i = 0; i < chat->n_tokens; i++)
        if (!strcmp(chat->tokens[i].name, name))
            return chat->tokens[i].text;
    return NULL;
}

hn_status hn_chat_format_set_token(hn_chat_format *chat, const char *name, const char *text,
                                   size_t bytes)
{
    int i = 0;
    while (i < chat->n_tokens && strcmp(chat->tokens[i].name, name))
        i++;
    HN_REQUIRE(i < MOST_TOKENS, HN_ERR_ARGUMENT, "%s: more than %d special tokens", chat->name,
               MOST_TOKENS);
    char *copy = hn_alloc(chat->heap, HN_TAG_TEXT, bytes + 1);
    if (!copy)
        return HN_ERR_MEMORY;
    memcpy(copy, text, bytes);
    if (i == chat->n_tokens) {
        chat->tokens[i].name = hn_strdup(chat->heap, HN_TAG_TEXT, name);
        if (!chat->tokens[i].name) {
            hn_free(chat->heap, copy);
            return HN_ERR_MEMORY;
        }
        chat->n_tokens++;
    }
    hn_free(chat->heap, chat->tokens[i].text);
    chat->tokens[i].text = copy;
    return HN_OK;
}

static hn_status choose(const hn_chat_format *chat, const char *name_or_null, bool has_tools,
                        const hn_template **out)
{
    HN_REQUIRE(chat->n_templates, HN_ERR_FORMAT, "%s has no chat template", chat->name);
    const int i = find_template(chat, hn_chat_format_which(chat, name_or_null, has_tools));
    HN_REQUIRE(i >= 0 || !name_or_null, HN_ERR_ARGUMENT, "%s has no chat template named '%s'", chat->name, name_or_null);
    HN_REQUIRE(i >= 0, HN_ERR_ARGUMENT, "%s has several chat templates and no default: name one, as '%s'", chat->name,
               chat->templates[0].name);
    const named_template *t = &chat->templates[i];
    HN_REQUIRE(t->template, t->status, "%s", t->failure ? t->failure : "a chat template");
    *out = t->template;
    return HN_OK;
}

static const hn_json *reasoning_of(const hn_json *message)
{
    static const char *const names[] = { "reasoning_content", "thinking", "reasoning" };
    for (int i = 0; i < 3; i++) {
        const hn_json *v = hn_json_get(message, names[i]);
        if (v && v->kind != HN_JSON_NULL)
            return v;
    }
    return NULL;
}

/* A list of values in a block that was measured before. */
typedef struct copier {
    hn_json *at;
} copier;

static hn_json *append(copier *c, hn_json *parent, hn_json **last, const hn_json *value)
{
    hn_json *copy = c->at++;
    *copy = *value;
    copy->next = NULL;
    if (*last)
        (*last)->next = copy;
    else
        parent->as.children.first = copy;
    *last = copy;
    parent->as.children.n++;
    return copy;
}

static void append_keyed(copier *c, hn_json *parent, hn_json **last, const char *key,
                         const hn_json *value)
{
    hn_json *copy = append(c, parent, last, value);
    copy->key = key;
    copy->key_bytes = (int32_t)strlen(key);
}

/* The message as the template sees it: {"thinking": r, ..., "reasoning_content": r}. */
static void copy_message(copier *c, hn_json *to, const hn_json *message)
{
    hn_json *last = NULL;
    const hn_json *reasoning = reasoning_of(message),
                  *thinking = hn_json_get(message, "thinking");
    bool has_content = false;
    to->as.children.first = NULL;
    to->as.children.n = 0;
    if (reasoning)
        append_keyed(c, to, &last, "thinking",
                     thinking && thinking->kind != HN_JSON_NULL ? thinking : reasoning);
    for (const hn_json *v = message->as.children.first; v; v = v->next) {
        if (v->kind == HN_JSON_NULL || (reasoning && !strcmp(v->key, "thinking")))
            continue;
        const bool is_content = reasoning && !strcmp(v->key, "reasoning_content");
        has_content |= is_content;
        if (is_content)
            append_keyed(c, to, &last, "reasoning_content", reasoning);
        else
            append(c, to, &last, v);
    }
    if (reasoning && !has_content)
        append_keyed(c, to, &last, "reasoning_content", reasoning);
}

static hn_status copy_messages(hn_heap *heap, const hn_json *messages, hn_json **out)
{
    size_t n = 1;
    HN_REQUIRE(messages && messages->kind == HN_JSON_ARRAY, HN_ERR_ARGUMENT,
               "messages: expected an array, found %s",
               messages ? hn_json_kind_text(messages->kind) : "nothing");
    HN_REQUIRE(messages->as.children.n, HN_ERR_ARGUMENT,
               "messages: an empty conversation: expected at least one message");
    for (const hn_json *m = messages->as.children.first; m; m = m->next) {
        HN_REQUIRE(m->kind == HN_JSON_OBJECT, HN_ERR_ARGUMENT,
                   "messages: expected objects with a role, found %s",
                   hn_json_kind_text(m->kind));
        n += m->as.children.n + 3;
    }
    *out = hn_alloc_array(heap, HN_TAG_TEXT, n, sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    copier c = { *out + 1 };
    hn_json *last = NULL;
    (*out)->kind = HN_JSON_ARRAY;
    for (const hn_json *m = messages->as.children.first; m; m = m->next)
        copy_message(&c, append(&c, *out, &last, m), m);
    return HN_OK;
}

static hn_status check_list(const char *what, const hn_json *list)
{
    if (!list || list->kind == HN_JSON_NULL)
        return HN_OK;
    HN_REQUIRE(list->kind == HN_JSON_ARRAY, HN_ERR_ARGUMENT, "%s: expected an array, found %s",
               what, hn_json_kind_text(list->kind));
    for (const hn_json *v = list->as.children.first; v; v = v->next)
        HN_REQUIRE(v->kind == HN_JSON_OBJECT, HN_ERR_ARGUMENT, "%s: expected objects, found %s",
                   what, hn_json_kind_text(v->kind));
    return HN_OK;
}

static const hn_json nothing = { .kind = HN_JSON_NULL };

typedef struct inputs {
    const hn_json *messages, *tools, *documents;
} inputs;

static hn_status read_inputs(const hn_chat_request *request, inputs *in)
{
    const hn_json *whole = request->messages;
    const bool is_object = whole && whole->kind == HN_JSON_OBJECT;
    in->messages = is_object ? hn_json_get(whole, "messages") : whole;
    in->tools = request->tools || !is_object ? request->tools : hn_json_get(whole, "tools");
    in->documents =
        request->documents || !is_object ? request->documents : hn_json_get(whole, "documents");
    HN_TRY(check_list("tools", in->tools));
    return check_list("documents", in->documents);
}

static hn_status render_with(const hn_chat_format *chat, const hn_chat_request *request,
                             const inputs *in, hn_str *out, hn_template_spans *spans, hn_template_origins *origins)
{
    static const char *const fixed[] = { "messages", "tools", "documents",
                                         "add_generation_prompt" };
    const hn_json prompt = { .kind = HN_JSON_BOOL,
                             .as.boolean = !request->no_generation_prompt };
    const hn_json *const values[] = { in->messages, in->tools ? in->tools : &nothing,
                                      in->documents ? in->documents : &nothing, &prompt };
    hn_template_var vars[MOST_TOKENS + MOST_VARS + 4];
    size_t n = 0;
    const hn_template *t = NULL;
    HN_TRY(
        choose(chat, request->template_name, in->tools && in->tools->kind != HN_JSON_NULL, &t));
    HN_REQUIRE(request->n_vars <= MOST_VARS, HN_ERR_ARGUMENT, "more than %d variables",
               MOST_VARS);
    for (int i = 0; i < chat->n_tokens; i++)
        vars[n++] = (hn_template_var){ .name = chat->tokens[i].name, .text = chat->tokens[i].text, .is_own = true };
    for (size_t i = 0; i < request->n_vars; i++) {
        for (int k = 0; k < 4; k++)
            HN_REQUIRE(strcmp(request->vars[i].name, fixed[k]) != 0, HN_ERR_ARGUMENT,
                       "the variable %s has its own argument", fixed[k]);
        vars[n] = request->vars[i];
        vars[n++].is_own = false; /* whoever asks gives data */
    }
    for (int i = 0; i < 4; i++)
        vars[n++] = (hn_template_var){ .name = fixed[i], .json = values[i], .has_roles = i == 0 };
    const hn_template_input input = { vars, n, request->options };
    return hn_template_render(t, &input, out, spans, origins);
}

hn_status hn_chat_render(const hn_chat_format *chat, const hn_chat_request *request, hn_str *out,
                         hn_template_spans *spans_or_null, hn_template_origins *origins_or_null)
{
    inputs in;
    hn_json *messages = NULL;
    HN_TRY(read_inputs(request, &in));
    HN_TRY(copy_messages(chat->heap, in.messages, &messages));
    in.messages = messages;
    const hn_status status = render_with(chat, request, &in, out, spans_or_null, origins_or_null);
    hn_free(chat->heap, messages);
    return status;
}
