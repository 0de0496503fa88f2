/* Whatever carries words is left out, or replaced by other words, and the conversation rendered
 * again: if the text is the same, the template does not write it. That a template reads a value would
 * not do: it may read one and write none of it. Only contents that stand in the text once, in their
 * order, and nowhere else in the conversation need no second rendering. */
#include "data/unread.h"

#include "data/keys.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct search {
    hn_example *example;
    const hn_example_rule *rule;
    const hn_record_part *part;
    const hn_str *text;
    size_t at; /* of the text: what came before holds earlier contents */
} search;

static hn_status name_it(search *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static hn_status name_it(search *s, const char *format, ...)
{
    va_list args;
    if (s->example->unread[0])
        return HN_OK;
    va_start(args, format);
    vsnprintf(s->example->unread, sizeof s->example->unread, format, args);
    va_end(args);
    return HN_OK;
}

/* Whether a conversation is written as this one was. One that the template refuses is not. */
static hn_status is_same(search *s, const hn_json *messages, const hn_json *tools, bool *same)
{
    hn_example *e = s->example;
    const hn_chat_request request = { .messages = messages,
                                      .tools = tools,
                                      .no_generation_prompt = true,
                                      .template_name = s->rule->template_name,
                                      .vars = s->rule->vars,
                                      .n_vars = s->rule->n_vars,
                                      .options.clock = &hn_example_clock };
    HN_TRY(hn_tree_status(&e->record.tree));
    hn_str_clear(&e->rendered);
    const hn_status status = hn_chat_render(s->rule->chat, &request, &e->rendered, NULL, NULL);
    *same = status == HN_OK && e->rendered.length == s->text->length &&
            !memcmp(e->rendered.text, s->text->text, s->text->length);
    return hn_is_no_answer(status) ? status : HN_OK;
}

/* The messages with another in place of message i. */
static const hn_json *with_other(search *s, size_t i, const hn_json *other)
{
    hn_tree *tree = &s->example->record.tree;
    hn_tree_node list = hn_tree_new(tree, HN_JSON_ARRAY);
    size_t k = 0;
    for (const hn_json *m = hn_json_first(s->part->messages); m; m = m->next, k++)
        hn_tree_add(tree, &list, NULL, k == i ? other : m);
    return list.value;
}

/* The message with another value under this key; NULL: without it. */
static hn_tree_node with_value(search *s, const hn_json *message, const char *key,
                               const hn_json *value)
{
    hn_tree *tree = &s->example->record.tree;
    hn_tree_node made = hn_tree_new(tree, HN_JSON_OBJECT);
    for (const hn_json *v = hn_json_first(message); v; v = v->next)
        hn_tree_add(tree, &made, v->key, strcmp(v->key, key) ? v : value);
    return made;
}

static hn_status try_value(search *s, size_t i, const hn_json *message, const char *key,
                           const hn_json *value, bool *same)
{
    return is_same(s, with_other(s, i, with_value(s, message, key, value).value), s->part->tools,
                   same);
}

static const char *find(const char *text, size_t bytes, const char *words, size_t n)
{
    for (const char *at = text; n && (size_t)(text + bytes - at) >= n; at++) {
        at = memchr(at, words[0], bytes - (size_t)(at - text) - n + 1);
        if (!at)
            return NULL;
        if (!memcmp(at, words, n))
            return at;
    }
    return NULL;
}

enum { SHORT = 32 }; /* bytes that a template may have of its own */

static bool holds(const hn_json *value, const char *words, size_t n)
{
    if (value->kind == HN_JSON_STRING)
        return find(hn_json_string(value), hn_json_bytes(value), words, n) != NULL;
    if (value->kind != HN_JSON_ARRAY && value->kind != HN_JSON_OBJECT)
        return false;
    for (const hn_json *v = hn_json_first(value); v; v = v->next)
        if (holds(v, words, n))
            return true;
    return false;
}

/* Whether words that were found may have come there from another place than message i's content. */
static bool may_be_of_another(const search *s, const char *found, size_t i, const char *words, size_t n)
{
    const char *end = s->text->text + s->text->length;
    if (n < SHORT || find(s->text->text, (size_t)(found - s->text->text), words, n) ||
        find(found + 1, (size_t)(end - found - 1), words, n))
        return true;
    size_t k = 0;
    for (const hn_json *m = hn_json_first(s->part->messages); m; m = m->next, k++)
        for (const hn_json *v = hn_json_first(m); v; v = v->next)
            if ((k != i || strcmp(v->key, "content") != 0) && holds(v, words, n))
                return true;
    return s->part->tools && holds(s->part->tools, words, n);
}

static hn_json text_value(const char *text)
{
    return hn_json_of_string(text, strlen(text));
}

/* A thought within the content, which many templates cut off earlier turns. */
static hn_status check_thought(search *s, size_t i, const hn_json *message, const char *content)
{
    static const char end[] = "</think>";
    const char *at = strstr(content, end);
    bool same = false;
    if (!at || at == content)
        return HN_OK;
    hn_tree *tree = &s->example->record.tree;
    hn_str other = hn_str_on(s->example->heap);
    hn_str_add(&other, "<think>A");
    hn_str_add(&other, at);
    hn_tree_node held = hn_tree_new(tree, HN_JSON_OBJECT);
    hn_status status = hn_str_status(&other);
    if (status == HN_OK)
        hn_tree_copy_text(tree, &held, "content", other.text, other.length);
    hn_str_free(&other);
    HN_TRY(status);
    HN_TRY(hn_tree_status(tree));
    HN_TRY(try_value(s, i, message, "content", hn_json_get(held.value, "content"), &same));
    return same ? name_it(s, "the thought in message %zu", i + 1) : HN_OK;
}

static hn_status check_content(search *s, size_t i, const hn_json *message)
{
    const hn_json *content = hn_json_get(message, "content");
    if (!content || content->kind != HN_JSON_STRING || !hn_json_has_words(content))
        return HN_OK;
    const char *text = hn_json_string(content);
    size_t n = hn_json_bytes(content);
    for (; strchr(" \t\r\n", *text) && n; n--)
        text++;
    while (n && strchr(" \t\r\n", text[n - 1]))
        n--;
    const char *found = find(s->text->text + s->at, s->text->length - s->at, text, n);
    if (found) {
        s->at = (size_t)(found - s->text->text) + n;
        if (!may_be_of_another(s, found, i, text, n))
            return HN_OK;
    }
    const hn_json other = text_value(*text == 'A' ? "B" : "A");
    bool same = false;
    HN_TRY(try_value(s, i, message, "content", &other, &same));
    if (same)
        return name_it(s, "the content of message %zu", i + 1);
    return found ? HN_OK : check_thought(s, i, message, hn_json_string(content));
}

static bool is_ignored(const search *s, const char *key)
{
    for (int i = 0; i < s->rule->n_ignored; i++)
        if (!strcmp(s->rule->ignored[i], key))
            return true;
    return false;
}

/* The calls with another in place of call k, whose function, if it has one apart, is this. */
static const hn_json *with_call(search *s, const hn_json *calls, size_t k, const hn_json *other, bool of_function)
{
    hn_tree *tree = &s->example->record.tree;
    hn_tree_node list = hn_tree_new(tree, HN_JSON_ARRAY);
    size_t j = 0;
    for (const hn_json *c = hn_json_first(calls); c; c = c->next, j++)
        hn_tree_add(tree, &list, NULL,
                    j != k ? c : of_function ? with_value(s, c, "function", other).value : other);
    return list.value;
}

/* Every key of a call, or of its function: arguments may be none, and of others nothing may be there. */
static hn_status check_call(search *s, size_t i, const hn_json *message, const hn_json *calls, size_t k,
                            const hn_json *of, bool of_function)
{
    static const char *const known[] = { "id", "type", "name", "index", "function" };
    const hn_json none = { .kind = HN_JSON_OBJECT }, none_as_text = text_value("{}");
    for (const hn_json *v = hn_json_first(of); v; v = v->next) {
        bool same = is_ignored(s, v->key) || hn_key_is_note(v->key) || !hn_json_has_words(v);
        for (size_t j = 0; j < sizeof known / sizeof *known; j++)
            same = same || !strcmp(v->key, known[j]);
        if (same)
            continue;
        const hn_json *other = strcmp(v->key, "arguments") ? NULL : v->kind == HN_JSON_STRING ? &none_as_text : &none;
        const hn_json *made = with_value(s, of, v->key, other).value;
        HN_TRY(hn_tree_status(&s->example->record.tree));
        HN_TRY(try_value(s, i, message, "tool_calls", with_call(s, calls, k, made, of_function), &same));
        if (same)
            HN_TRY(name_it(s, "'%.40s' of tool call %zu of message %zu", v->key, k + 1, i + 1));
    }
    return HN_OK;
}

static hn_status check_calls(search *s, size_t i, const hn_json *message, const hn_json *calls)
{
    hn_tree *tree = &s->example->record.tree;
    size_t k = 0;
    for (const hn_json *call = hn_json_first(calls); call; call = call->next, k++) {
        hn_tree_node some = hn_tree_new(tree, HN_JSON_ARRAY);
        bool same = false;
        for (const hn_json *c = hn_json_first(calls); c; c = c->next)
            if (c != call)
                hn_tree_add(tree, &some, NULL, c);
        HN_TRY(hn_tree_status(tree));
        HN_TRY(try_value(s, i, message, "tool_calls", k || call->next ? some.value : NULL, &same));
        if (same)
            return name_it(s, "tool call %zu of message %zu", k + 1, i + 1);
        const hn_json *function = hn_json_get(call, "function");
        HN_TRY(check_call(s, i, message, calls, k, call, false));
        if (function)
            HN_TRY(check_call(s, i, message, calls, k, function, true));
    }
    return HN_OK;
}

static bool is_reasoning(const char *key)
{
    return !strcmp(key, "reasoning_content") || !strcmp(key, "thinking") ||
           !strcmp(key, "reasoning");
}

/* Under whichever of its names. */
static hn_status check_reasoning(search *s, size_t i, const hn_json *message)
{
    hn_tree *tree = &s->example->record.tree;
    hn_tree_node made = hn_tree_new(tree, HN_JSON_OBJECT);
    bool same = false;
    for (const hn_json *v = hn_json_first(message); v; v = v->next)
        if (!is_reasoning(v->key))
            hn_tree_add(tree, &made, v->key, v);
    HN_TRY(is_same(s, with_other(s, i, made.value), s->part->tools, &same));
    return same ? name_it(s, "the reasoning of message %zu", i + 1) : HN_OK;
}

/* Keys that name things: who spoke, which call is answered. */
static bool is_known(const hn_json *message, const char *key)
{
    const hn_json *role = hn_json_get(message, "role");
    const bool is_tool = role && role->kind == HN_JSON_STRING &&
                         (!strcmp(hn_json_string(role), "tool") ||
                          !strcmp(hn_json_string(role), "function"));
    return !strcmp(key, "role") || !strcmp(key, "content") || !strcmp(key, "tool_call_id") ||
           (is_tool && !strcmp(key, "name")) || hn_key_is_note(key);
}

static hn_status check_message(search *s, size_t i, const hn_json *message)
{
    bool has_reasoning = false;
    HN_TRY(check_content(s, i, message));
    for (const hn_json *v = hn_json_first(message); v; v = v->next) {
        bool same = false;
        if (is_known(message, v->key) || is_ignored(s, v->key) || !hn_json_has_words(v))
            continue;
        if (is_reasoning(v->key)) {
            has_reasoning = true;
        } else if (!strcmp(v->key, "tool_calls") && v->kind == HN_JSON_ARRAY) {
            HN_TRY(check_calls(s, i, message, v));
        } else {
            HN_TRY(try_value(s, i, message, v->key, NULL, &same));
            if (same)
                HN_TRY(name_it(s, "'%.40s' of message %zu", v->key, i + 1));
        }
    }
    return has_reasoning ? check_reasoning(s, i, message) : HN_OK;
}

hn_status hn_unread_find(hn_example *example, const hn_example_rule *rule,
                         const hn_record_part *part, const hn_str *text)
{
    search s = { .example = example, .rule = rule, .part = part, .text = text };
    size_t i = 0;
    if (part->tools) {
        bool same = false;
        HN_TRY(is_same(&s, part->messages, NULL, &same));
        if (same)
            return name_it(&s, "the tools");
    }
    for (const hn_json *m = hn_json_first(part->messages); m && !example->unread[0];
         m = m->next)
        HN_TRY(check_message(&s, i++, m));
    return HN_OK;
}
