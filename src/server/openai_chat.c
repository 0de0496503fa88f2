/* POST /v1/chat/completions. */
#include "server/apis.h"
#include "server/format.h"
#include "server/openai.h"
#include "server/recipe.h"

#include <string.h>

/* ---- saying ---- */

static void begin_chunk(hn_json_writer *w, const hn_answer *a, const char *object)
{
    char id[64] = "chatcmpl-";
    strncat(id, a->id, sizeof id - 10);
    hn_json_begin_object(w);
    hn_json_key(w, "id");
    hn_json_add_string(w, id);
    hn_json_key(w, "object");
    hn_json_add_string(w, object);
    hn_json_key(w, "created");
    hn_json_add_int(w, a->created);
    hn_json_key(w, "model");
    hn_json_add_string(w, hn_field_text(a->body, "model", a->model->name));
    hn_json_key(w, "seed");
    hn_json_add_int(w, (int64_t)a->sampling.seed);
}

static void add_log_probability(hn_json_writer *w, const hn_answer *a, int32_t id, double value)
{
    hn_openai_token(w, a, id);
    hn_json_key(w, "logprob");
    hn_json_add_double(w, value);
}

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
    for (size_t i = first; i < first + n; i++) {
        const hn_told_token *t = hn_choice_token(c, i);
        hn_json_begin_object(w);
        add_log_probability(w, a, t->id, t->log_probability);
        hn_json_key(w, "top_logprobs");
        hn_json_begin_array(w);
        for (int32_t k = 0; k < t->n_likeliest; k++) {
            hn_json_begin_object(w);
            add_log_probability(w, a, t->likeliest[k].id, t->likeliest[k].log_probability);
            hn_json_end_object(w);
        }
        hn_json_end_array(w);
        hn_json_end_object(w);
    }
    hn_json_end_array(w);
    hn_json_key(w, "refusal");
    hn_json_add_null(w);
    hn_json_end_object(w);
}

/* One choice's part of a stream: what `role`, `text` and `reason` are not NULL. */
static void add_event(hn_answer *a, hn_choice *c, const char *role, const hn_piece *piece, const char *reason, hn_str *out)
{
    hn_json_writer w = hn_openai_event(out);
    begin_chunk(&w, a, "chat.completion.chunk");
    hn_json_key(&w, "choices");
    hn_json_begin_array(&w);
    hn_json_begin_object(&w);
    hn_json_key(&w, "index");
    hn_json_add_int(&w, c->index);
    hn_json_key(&w, "delta");
    hn_json_begin_object(&w);
    if (role) {
        hn_json_key(&w, "role");
        hn_json_add_string(&w, role);
    }
    if (role || piece) {
        const hn_json text = { .kind = HN_JSON_STRING, .as.string = { piece ? piece->text : "", piece ? piece->bytes : 0 } };
        hn_json_key(&w, "content");
        hn_json_add_scalar(&w, &text);
    }
    hn_json_end_object(&w);
    add_logprobs(&w, c, piece ? piece->first_token : 0, piece ? piece->n_tokens : 0);
    hn_json_key(&w, "finish_reason");
    reason ? hn_json_add_string(&w, reason) : hn_json_add_null(&w);
    hn_json_end_object(&w);
    hn_json_end_array(&w);
    if (a->tells_usage) {
        hn_json_key(&w, "usage");
        hn_json_add_null(&w);
    }
    hn_json_end_object(&w);
    hn_openai_event_end(&w);
}

static void begin(hn_answer *a, hn_str *out)
{
    for (int32_t i = 0; i < a->n_choices; i++)
        add_event(a, &a->choices[i], "assistant", NULL, NULL, out);
}

static void tell(hn_answer *a, hn_choice *c, const hn_piece *piece, hn_str *out)
{
    add_event(a, c, NULL, piece, NULL, out);
}

static void close_choice(hn_answer *a, hn_choice *c, hn_str *out)
{
    add_event(a, c, NULL, NULL, hn_choice_reason(c), out);
}

static void finish(hn_answer *a, hn_str *out)
{
    if (a->tells_usage || a->tells_recipe) {
        hn_json_writer w = hn_openai_event(out);
        begin_chunk(&w, a, "chat.completion.chunk");
        hn_json_key(&w, "choices");
        hn_json_begin_array(&w);
        hn_json_end_array(&w);
        hn_openai_usage(&w, a);
        if (a->tells_recipe)
            hn_recipe_add(&w, a);
        hn_json_end_object(&w);
        hn_openai_event_end(&w);
    }
    hn_str_add(out, "data: [DONE]\n\n");
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
    hn_json_key(w, "content");
    hn_json_add_string(w, c->text.text);
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
    begin_chunk(&w, a, "chat.completion");
    hn_json_key(&w, "choices");
    hn_json_begin_array(&w);
    for (int32_t i = 0; i < a->n_choices; i++)
        add_choice(&w, &a->choices[i]);
    hn_json_end_array(&w);
    hn_openai_usage(&w, a);
    if (a->tells_recipe)
        hn_recipe_add(&w, a);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
}

/* ---- asking ---- */

bool hn_openai_prepare_chat(hn_answer *a, hn_failure *why)
{
    if (!a->model->batch)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "model", "%s embeds texts: it generates none", a->model->name);
    return hn_render_ids(a, &a->prompts[0], why) && hn_answer_fits(a, "messages", why) && hn_format_make(a, why);
}

static const hn_voice voice = {
    .type = "text/event-stream", .ping = ": ping\n\n", .prepare = hn_openai_prepare_chat, .begin = begin, .tell = tell, .close = close_choice,
    .finish = finish, .whole = whole, .fail = hn_openai_fail,
};

bool hn_openai_take_chat(hn_answer *a, hn_failure *why)
{
    const hn_json *b = a->body;
    a->scores = hn_field_bool(b, "logprobs", false);
    a->likeliest = (int32_t)hn_field_int(b, "top_logprobs", 0);
    a->most = hn_field_int(b, "max_completion_tokens", hn_field_int(b, "max_tokens", 0));
    if (!hn_field_of(b, "messages") || !hn_field_of(b, "messages")->as.children.n)
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "messages", "messages: expected at least one");
    if (hn_field_of(b, "max_completion_tokens") && hn_field_of(b, "max_tokens"))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "max_tokens", "max_tokens is the old name of max_completion_tokens: found both");
    if (a->likeliest && !a->scores)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "top_logprobs", "top_logprobs: takes logprobs true");
    return hn_openai_take(a, why) && hn_answer_choices(a, 1, (int32_t)hn_field_int(b, "n", 1), why);
}

void hn_api_chat(hn_server *server, hn_http_call *call)
{
    hn_api_answer(server, call, &voice, &hn_fields_chat, hn_openai_take_chat);
}
