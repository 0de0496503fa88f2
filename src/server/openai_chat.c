/* POST /v1/chat/completions. */
#include "server/apis.h"
#include "server/format.h"
#include "server/openai.h"
#include "server/tools.h"

#include <stdio.h>
#include <string.h>

#define ID "chatcmpl-"

/* ---- saying ---- */

static void add_logprobs(hn_json_writer *w, const hn_choice *c, size_t first, size_t n)
{
    const hn_answer *a = c->answer;
    hn_json_key(w, "logprobs");
    if (!a->scores) {
        hn_json_add_null(w);
        return;
    }
    hn_json_begin_object(w);
    hn_json_key(w, "content");
    hn_json_begin_array(w);
    for (size_t i = first; i < first + n; i++)
        hn_score_add(w, a->model->lm, hn_choice_token(c, i));
    hn_json_end_array(w);
    hn_json_key(w, "refusal");
    hn_json_add_null(w);
    hn_json_end_object(w);
}

/* One choice's part of a stream: {..., "delta": {, then what is said, then the rest. */
static hn_json_writer begin_delta(const hn_answer *a, const hn_choice *c, hn_str *out)
{
    hn_json_writer w = hn_openai_event(out);
    hn_openai_begin(&w, a, ID, "chat.completion.chunk");
    hn_json_key(&w, "choices");
    hn_json_begin_array(&w);
    hn_json_begin_object(&w);
    hn_json_key(&w, "index");
    hn_json_add_int(&w, c->index);
    hn_json_key(&w, "delta");
    hn_json_begin_object(&w);
    return w;
}

static void end_delta(hn_json_writer *w, const hn_choice *c, const hn_piece *piece, const char *reason)
{
    hn_json_end_object(w);
    add_logprobs(w, c, piece ? piece->first_token : 0, piece ? piece->n_tokens : 0);
    hn_json_key(w, "finish_reason");
    reason ? hn_json_add_string(w, reason) : hn_json_add_null(w);
    hn_json_end_object(w);
    hn_json_end_array(w);
    if (c->answer->tells_usage) {
        hn_json_key(w, "usage");
        hn_json_add_null(w);
    }
    hn_json_end_object(w);
    hn_openai_event_end(w);
}

static void begin(hn_answer *a, hn_str *out)
{
    for (int32_t i = 0; i < a->n_choices; i++) {
        hn_json_writer w = begin_delta(a, &a->choices[i], out);
        hn_json_key(&w, "role");
        hn_json_add_string(&w, "assistant");
        hn_json_put_bytes(&w, "content", "", 0);
        end_delta(&w, &a->choices[i], NULL, NULL);
    }
}

static void tell(hn_answer *a, hn_choice *c, const hn_piece *piece, hn_str *out)
{
    hn_json_writer w = begin_delta(a, c, out);
    hn_json_put_bytes(&w, "content", piece->text, piece->bytes);
    end_delta(&w, c, piece, NULL);
}

static void think(hn_answer *a, hn_choice *c, const char *text, size_t bytes, hn_str *out)
{
    hn_json_writer w = begin_delta(a, c, out);
    hn_json_put_bytes(&w, "reasoning_content", text, bytes);
    end_delta(&w, c, NULL, NULL);
}

static void add_call_id(hn_json_writer *w, const hn_choice *c, int32_t index, const char *own)
{
    char id[200];
    hn_choice_call_id(c, index, own, id, sizeof id);
    hn_json_key(w, "id");
    hn_json_add_string(w, id);
    hn_json_key(w, "type");
    hn_json_add_string(w, "function");
}

static void call(hn_answer *a, hn_choice *c, const hn_lm_call *of, hn_str *out)
{
    hn_json_writer w = begin_delta(a, c, out);
    hn_json_key(&w, "tool_calls");
    hn_json_begin_array(&w);
    hn_json_begin_object(&w);
    hn_json_key(&w, "index");
    hn_json_add_int(&w, of->index);
    if (of->name)
        add_call_id(&w, c, of->index, of->id ? of->id : "");
    hn_json_key(&w, "function");
    hn_json_begin_object(&w);
    if (of->name) {
        hn_json_key(&w, "name");
        hn_json_add_string(&w, of->name);
    }
    hn_json_put_bytes(&w, "arguments", of->arguments, of->bytes);
    hn_json_end_object(&w);
    hn_json_end_object(&w);
    hn_json_end_array(&w);
    end_delta(&w, c, NULL, NULL);
}

static void close_choice(hn_answer *a, hn_choice *c, hn_str *out)
{
    hn_json_writer w = begin_delta(a, c, out);
    end_delta(&w, c, NULL, hn_choice_reason(c));
}

static void finish(hn_answer *a, hn_str *out) { hn_openai_finish(a, ID, "chat.completion.chunk", out); }

static void add_calls(hn_json_writer *w, const hn_choice *c)
{
    if (!c->h.n_calls)
        return;
    hn_json_key(w, "tool_calls");
    hn_json_begin_array(w);
    for (int32_t i = 0; i < c->h.n_calls; i++) {
        const hn_heard_call *of = &c->h.calls[i];
        hn_json_begin_object(w);
        add_call_id(w, c, i, of->id.text);
        hn_json_key(w, "function");
        hn_json_begin_object(w);
        hn_json_put_bytes(w, "name", of->name.text, of->name.length);
        hn_json_put_bytes(w, "arguments", of->arguments.text, of->arguments.length);
        hn_json_end_object(w);
        hn_json_end_object(w);
    }
    hn_json_end_array(w);
}

static void add_choice(hn_json_writer *w, const hn_choice *c)
{
    hn_json_begin_object(w);
    hn_json_key(w, "index");
    hn_json_add_int(w, c->index);
    hn_json_key(w, "message");
    hn_json_begin_object(w);
    hn_json_key(w, "role");
    hn_json_add_string(w, "assistant");
    if (c->h.n_calls && !c->h.text.length) {
        hn_json_key(w, "content");
        hn_json_add_null(w);
    } else {
        hn_json_put_bytes(w, "content", c->h.text.text, c->h.text.length);
    }
    if (c->h.thought.length)
        hn_json_put_bytes(w, "reasoning_content", c->h.thought.text, c->h.thought.length);
    add_calls(w, c);
    hn_json_key(w, "refusal");
    hn_json_add_null(w);
    hn_json_end_object(w);
    add_logprobs(w, c, 0, c->tokens_told);
    hn_json_key(w, "finish_reason");
    hn_json_add_string(w, hn_choice_reason(c));
    hn_json_end_object(w);
}

static void whole(hn_answer *a, hn_str *out)
{
    hn_json_writer w = hn_json_write_to(out);
    hn_openai_begin(&w, a, ID, "chat.completion");
    hn_json_key(&w, "choices");
    hn_json_begin_array(&w);
    for (int32_t i = 0; i < a->n_choices; i++)
        add_choice(&w, &a->choices[i]);
    hn_json_end_array(&w);
    hn_openai_usage(&w, a);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
}

/* ---- asking ---- */

bool hn_openai_prepare_chat(hn_answer *a, hn_failure *why)
{
    if (!a->model->batch)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "model", "%s embeds texts: it generates none", a->model->name);
    return hn_render_ids(a, &a->prompts[0], why);
}

static const hn_voice voice = {
    .type = "text/event-stream", .ping = ": ping\n\n", .prepare = hn_openai_prepare_chat, .begin = begin, .tell = tell, .think = think,
    .call = call, .close = close_choice,
    .finish = finish, .whole = whole, .fail = hn_openai_fail,
};

bool hn_openai_take_chat(hn_answer *a, hn_failure *why)
{
    const hn_json *b = a->body;
    a->scores = hn_field_bool(b, "logprobs", false);
    a->likeliest = (int32_t)hn_field_int(b, "top_logprobs", 0);
    a->most = hn_field_int(b, "max_completion_tokens", hn_field_int(b, "max_tokens", 0));
    if (!hn_field_of(b, "messages") || !hn_json_count(hn_field_of(b, "messages")))
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "messages", "messages: expected at least one");
    if (hn_field_of(b, "max_completion_tokens") && hn_field_of(b, "max_tokens"))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "max_tokens", "max_tokens is the old name of max_completion_tokens: found both");
    if (a->likeliest && !a->scores)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "top_logprobs", "top_logprobs: takes logprobs true");
    a->is_chat = true;
    return hn_openai_take(a, why) && hn_tools_take(a, why) && hn_answer_choices(a, 1, (int32_t)hn_field_int(b, "n", 1), why);
}

void hn_api_chat(hn_server *server, hn_http_call *call)
{
    hn_api_answer(server, call, &voice, &hn_fields_chat, hn_openai_take_chat);
}
