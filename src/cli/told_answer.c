/* Every form becomes that of OpenAI's chats, so that whoever compares answers knows one. */
#include "cli/told_answer.h"

#include <string.h>

/* What it says, put together from blocks, items or a message. */
typedef struct told {
    hn_str text, thought, calls;
    hn_json_writer w; /* of calls */
    hn_str scores;    /* of a text's tokens, of responses */
    bool has_scores;
} told;

static const char *text_of(const hn_json *object, const char *key)
{
    const hn_json *v = hn_json_get(object, key);
    return hn_json_string(v);
}

/* All of it: a model may say NUL. */
static void add_text(hn_str *to, const hn_json *object, const char *key)
{
    const hn_json *v = hn_json_get(object, key);
    hn_str_add_bytes(to, hn_json_string(v), hn_json_bytes(v));
}

static void add_call(told *t, const hn_json *name, const hn_json *arguments)
{
    hn_json_begin_object(&t->w);
    hn_json_key(&t->w, "function");
    hn_json_begin_object(&t->w);
    hn_json_key(&t->w, "name");
    name ? hn_json_add_value(&t->w, name) : hn_json_add_null(&t->w);
    hn_json_key(&t->w, "arguments");
    arguments ? hn_json_add_value(&t->w, arguments) : hn_json_add_null(&t->w);
    hn_json_end_object(&t->w);
    hn_json_end_object(&t->w);
}

/* POST /v1/messages: blocks. */
static void add_block(told *t, const hn_json *block)
{
    add_text(&t->text, block, "text");
    add_text(&t->thought, block, "thinking");
    if (!strcmp(text_of(block, "type"), "tool_use"))
        add_call(t, hn_json_get(block, "name"), hn_json_get(block, "input"));
}

static void add_part(told *t, hn_str *to, const hn_json *part)
{
    const hn_json *scores = hn_json_get(part, "logprobs");
    add_text(to, part, "text");
    for (const hn_json *v = hn_json_at(scores, 0); v; v = v->next) {
        hn_str_add(&t->scores, t->scores.length ? "," : "");
        hn_json_writer w = hn_json_write_to(&t->scores);
        hn_json_add_value(&w, v);
    }
}

/* POST /v1/responses: items. */
static void add_item(told *t, const hn_json *item)
{
    const hn_json *content = hn_json_get(item, "content");
    const bool is_thought = !strcmp(text_of(item, "type"), "reasoning");
    if (!strcmp(text_of(item, "type"), "function_call"))
        add_call(t, hn_json_get(item, "name"), hn_json_get(item, "arguments"));
    for (const hn_json *part = hn_json_at(content, 0); part; part = part->next)
        add_part(t, is_thought ? &t->thought : &t->text, part);
}

/* POST /api/chat and /api/generate. */
static void add_message(told *t, const hn_json *message, const char *text)
{
    const hn_json *calls = hn_json_get(message, "tool_calls");
    add_text(&t->text, message, text);
    add_text(&t->thought, message, "thinking");
    for (const hn_json *c = hn_json_at(calls, 0); c; c = c->next)
        add_call(t, hn_json_get(hn_json_get(c, "function"), "name"), hn_json_get(hn_json_get(c, "function"), "arguments"));
}

static void add_all(told *t, const hn_json *list, void (*add)(told *, const hn_json *))
{
    for (const hn_json *v = hn_json_first(list); v; v = v->next)
        add(t, v);
}

static hn_status add_answer(told *t, const hn_json *answer, bool *is_text)
{
    const hn_json *content = hn_json_get(answer, "content"), *output = hn_json_get(answer, "output"), *message = hn_json_get(answer, "message");
    *is_text = hn_json_get(answer, "response") != NULL && !hn_json_is_true(hn_json_get(hn_json_get(answer, "recipe"), "is_chat"));
    if (content && content->kind == HN_JSON_ARRAY)
        add_all(t, content, add_block);
    else if (output && output->kind == HN_JSON_ARRAY) {
        add_all(t, output, add_item);
        t->has_scores = hn_json_is_true(hn_json_get(hn_json_get(answer, "recipe"), "scores"));
    }
    else if (message)
        add_message(t, message, "content");
    else if (hn_json_get(answer, "response"))
        add_message(t, answer, "response");
    else
        return hn_fail(HN_ERR_FORMAT, "expected an answer of `hone serve`: choices, content, output, message or response; found none");
    return HN_OK;
}

static void put_text(hn_json_writer *w, const hn_str *text)
{
    const hn_json all = hn_json_of_string(text->text, text->length);
    hn_json_add_scalar(w, &all);
}

static void add_scores(hn_json_writer *w, told *t)
{
    if (!t->has_scores)
        return;
    hn_str list = hn_str_on(t->scores.heap);
    hn_str_print(&list, "[%s]", t->scores.text);
    hn_json_key(w, "logprobs");
    hn_json_begin_object(w);
    hn_json_key(w, "output");
    hn_json_add_json(w, list.text, list.length);
    hn_json_end_object(w);
    hn_str_end(&list, w->to);
}

static hn_status write_choices(told *t, bool is_text, hn_str *out)
{
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_array(&w);
    hn_json_begin_object(&w);
    hn_json_key(&w, is_text ? "text" : "message");
    if (is_text)
        put_text(&w, &t->text);
    else {
        hn_json_begin_object(&w);
        hn_json_key(&w, "content");
        put_text(&w, &t->text);
        hn_json_key(&w, "reasoning_content");
        put_text(&w, &t->thought);
        hn_json_key(&w, "tool_calls");
        hn_json_add_json(&w, t->calls.text, t->calls.length);
        hn_json_end_object(&w);
        add_scores(&w, t);
    }
    hn_json_end_object(&w);
    hn_json_end_array(&w);
    HN_TRY(hn_str_status(&t->text));
    HN_TRY(hn_str_status(&t->scores));
    HN_TRY(hn_str_status(&t->thought));
    HN_TRY(hn_str_status(&t->calls));
    return hn_str_status(out);
}

hn_status hn_told_choices(hn_heap *heap, const hn_json *answer, hn_json_text **made, const hn_json **out)
{
    told t = { .text = hn_str_on(heap), .thought = hn_str_on(heap), .calls = hn_str_on(heap), .scores = hn_str_on(heap) };
    hn_str all = hn_str_on(heap);
    bool is_text = false;
    *made = NULL;
    *out = hn_json_get(answer, "choices");
    if (*out)
        return HN_OK;
    t.w = hn_json_write_to(&t.calls);
    hn_json_begin_array(&t.w);
    hn_status status = add_answer(&t, answer, &is_text);
    hn_json_end_array(&t.w);
    if (status == HN_OK)
        status = write_choices(&t, is_text, &all);
    if (status == HN_OK)
        status = hn_json_read(heap, "the answer", all.text, all.length, made);
    if (status == HN_OK)
        *out = hn_json_root(*made);
    hn_str_free(&t.text);
    hn_str_free(&t.thought);
    hn_str_free(&t.calls);
    hn_str_free(&t.scores);
    hn_str_free(&all);
    return status;
}
