/* POST /v1/messages and its count: Anthropic's form of asking for a chat. */
#include "server/anthropic.h"

#include "server/apis.h"
#include "server/openai.h"

#include <string.h>

/* ---- saying ---- */

static const char *error_word(const hn_failure *f)
{
    switch (hn_failure_http(f)) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 429: return "rate_limit_error";
    case 500: return "api_error";
    case 503: return "overloaded_error";
    default: return "invalid_request_error";
    }
}

static hn_json_writer begin_event(hn_str *out, const char *type)
{
    hn_str_print(out, "event: %s\ndata: ", type);
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "type");
    hn_json_add_string(&w, type);
    return w;
}

static void end_event(hn_json_writer *w)
{
    hn_json_end_object(w);
    hn_str_add(w->to, "\n\n");
}

void hn_anthropic_fail(const hn_failure *f, bool in_stream, hn_str *out)
{
    if (in_stream)
        hn_str_add(out, "event: error\ndata: ");
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "type");
    hn_json_add_string(&w, "error");
    hn_json_key(&w, "error");
    hn_json_begin_object(&w);
    hn_json_key(&w, "type");
    hn_json_add_string(&w, error_word(f));
    hn_json_key(&w, "message");
    hn_json_add_string(&w, f->message);
    hn_json_end_object(&w);
    hn_json_end_object(&w);
    hn_str_add(out, in_stream ? "\n\n" : "\n");
}

static void add_usage(hn_json_writer *w, const hn_answer *a, int64_t drawn)
{
    const int64_t known = a->choices[0].n_reused;
    hn_json_key(w, "usage");
    hn_json_begin_object(w);
    hn_json_key(w, "input_tokens"); /* those that were read from the cache are counted apart */
    hn_json_add_int(w, (int64_t)a->prompts[0].n - known);
    hn_json_key(w, "cache_creation_input_tokens");
    hn_json_add_int(w, 0);
    hn_json_key(w, "cache_read_input_tokens");
    hn_json_add_int(w, known);
    hn_json_key(w, "output_tokens");
    hn_json_add_int(w, drawn);
    hn_json_end_object(w);
}

static void add_reason(hn_json_writer *w, const hn_choice *c)
{
    const char *word = c->h.stopped_by ? "stop_sequence" : c->end == HN_LM_DONE ? "end_turn" : "max_tokens";
    hn_json_key(w, "stop_reason");
    hn_json_add_string(w, word);
    hn_json_key(w, "stop_sequence");
    c->h.stopped_by ? hn_json_add_string(w, c->h.stopped_by) : hn_json_add_null(w);
}

static void add_text_block(hn_json_writer *w, const char *text)
{
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_string(w, "text");
    hn_json_key(w, "text");
    hn_json_add_string(w, text);
    hn_json_end_object(w);
}

/* {"id": ..., up to its content. */
static void begin_message(hn_json_writer *w, const hn_answer *a)
{
    char id[64] = "msg_";
    strncat(id, a->id, sizeof id - 5);
    hn_json_begin_object(w);
    hn_json_key(w, "id");
    hn_json_add_string(w, id);
    hn_json_key(w, "type");
    hn_json_add_string(w, "message");
    hn_json_key(w, "role");
    hn_json_add_string(w, "assistant");
    hn_json_key(w, "model");
    hn_json_add_string(w, hn_field_text(a->body, "model", a->model->name));
    hn_json_key(w, "content");
    hn_json_begin_array(w);
}

static void begin(hn_answer *a, hn_str *out)
{
    hn_json_writer w = begin_event(out, "message_start");
    hn_json_key(&w, "message");
    begin_message(&w, a);
    hn_json_end_array(&w);
    hn_json_key(&w, "stop_reason");
    hn_json_add_null(&w);
    hn_json_key(&w, "stop_sequence");
    hn_json_add_null(&w);
    add_usage(&w, a, 0);
    hn_json_end_object(&w);
    end_event(&w);
    w = begin_event(out, "content_block_start");
    hn_json_key(&w, "index");
    hn_json_add_int(&w, 0);
    hn_json_key(&w, "content_block");
    add_text_block(&w, "");
    end_event(&w);
}

static void tell(hn_answer *a, hn_choice *c, const hn_piece *piece, hn_str *out)
{
    const hn_json text = { .kind = HN_JSON_STRING, .as.string = { piece->text, piece->bytes } };
    (void)a;
    (void)c;
    hn_json_writer w = begin_event(out, "content_block_delta");
    hn_json_key(&w, "index");
    hn_json_add_int(&w, 0);
    hn_json_key(&w, "delta");
    hn_json_begin_object(&w);
    hn_json_key(&w, "type");
    hn_json_add_string(&w, "text_delta");
    hn_json_key(&w, "text");
    hn_json_add_scalar(&w, &text);
    hn_json_end_object(&w);
    end_event(&w);
}

static void close_choice(hn_answer *a, hn_choice *c, hn_str *out)
{
    hn_json_writer w = begin_event(out, "content_block_stop");
    hn_json_key(&w, "index");
    hn_json_add_int(&w, 0);
    end_event(&w);
    w = begin_event(out, "message_delta");
    hn_json_key(&w, "delta");
    hn_json_begin_object(&w);
    add_reason(&w, c);
    hn_json_end_object(&w);
    add_usage(&w, a, c->n_drawn);
    end_event(&w);
}

static void finish(hn_answer *a, hn_str *out)
{
    (void)a;
    hn_json_writer w = begin_event(out, "message_stop");
    end_event(&w);
}

static void whole(hn_answer *a, hn_str *out)
{
    const hn_choice *c = &a->choices[0];
    hn_json_writer w = hn_json_write_to(out);
    begin_message(&w, a);
    add_text_block(&w, c->h.text.text);
    hn_json_end_array(&w);
    add_reason(&w, c);
    add_usage(&w, a, c->n_drawn);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
}

/* ---- asking ---- */

/* A text, or blocks of type text; what else a block may be is refused by its type. */
static bool check_content(const hn_json *content, const char *param, hn_failure *why)
{
    if (content && content->kind == HN_JSON_STRING)
        return true;
    if (!content || content->kind != HN_JSON_ARRAY)
        return hn_refuse_as(why, HN_REFUSED_INVALID, param, "%s: expected a text or blocks", param);
    for (const hn_json *b = content->as.children.first; b; b = b->next) {
        const hn_json *type = hn_json_get(b, "type"), *text = hn_json_get(b, "text");
        const char *word = type && type->kind == HN_JSON_STRING ? type->as.string.text : "";
        if (strcmp(word, "text") != 0 || !text || text->kind != HN_JSON_STRING)
            return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, param, "%s: a block of type \"%.40s\": expected text", param, word);
    }
    return true;
}

static bool check_messages(const hn_json *body, hn_failure *why)
{
    const hn_json *messages = hn_field_of(body, "messages"), *system = hn_field_of(body, "system");
    if (!messages || !messages->as.children.n)
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "messages", "messages: expected at least one");
    for (const hn_json *m = messages->as.children.first; m; m = m->next) {
        const hn_json *role = hn_json_get(m, "role");
        const char *word = role && role->kind == HN_JSON_STRING ? role->as.string.text : "";
        if (strcmp(word, "user") != 0 && strcmp(word, "assistant") != 0)
            return hn_refuse_as(why, HN_REFUSED_INVALID, "messages", "messages: a role of \"%.40s\": expected user or assistant", word);
        if (!check_content(hn_json_get(m, "content"), "messages", why))
            return false;
    }
    return !system || check_content(system, "system", why);
}

static void add_message(hn_json_writer *w, const char *role, const hn_json *content)
{
    hn_json_begin_object(w);
    hn_json_key(w, "role");
    hn_json_add_string(w, role);
    hn_json_key(w, "content");
    hn_json_add_value(w, content);
    hn_json_end_object(w);
}

/* A field under another name, or its own, if it is there. */
static void move(hn_json_writer *w, const hn_json *body, const char *name, const char *to)
{
    const hn_json *v = hn_field_of(body, name);
    if (!v)
        return;
    hn_json_key(w, to);
    hn_json_add_value(w, v);
}

static bool translate(hn_answer *a, hn_failure *why)
{
    const hn_json *b = a->body, *system = hn_field_of(b, "system");
    hn_str out = hn_str_on(a->heap);
    hn_json_writer w = hn_json_write_to(&out);
    if (!check_messages(b, why))
        return false;
    hn_json_begin_object(&w);
    hn_json_key(&w, "messages");
    hn_json_begin_array(&w);
    if (system)
        add_message(&w, "system", system);
    for (const hn_json *m = hn_field_of(b, "messages")->as.children.first; m; m = m->next)
        add_message(&w, hn_json_get(m, "role")->as.string.text, hn_json_get(m, "content"));
    hn_json_end_array(&w);
    static const char *const fields[][2] = { { "model", "model" },         { "max_tokens", "max_tokens" },
                                             { "temperature", "temperature" }, { "top_p", "top_p" },
                                             { "top_k", "top_k" },         { "stop_sequences", "stop" },
                                             { "stream", "stream" },       { "seed", "seed" } };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        move(&w, b, fields[i][0], fields[i][1]);
    hn_json_end_object(&w);
    const bool is_well = hn_answer_translate(a, &out, why);
    hn_str_free(&out);
    return is_well;
}

static const hn_voice voice = {
    .type = "text/event-stream", .ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n", .prepare = hn_openai_prepare_chat, .begin = begin,
    .tell = tell, .close = close_choice, .finish = finish, .whole = whole, .fail = hn_anthropic_fail,
};

static bool take(hn_answer *a, hn_failure *why)
{
    if (!hn_field_of(a->body, "max_tokens"))
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "max_tokens", "max_tokens: expected a number, found none");
    return translate(a, why) && hn_openai_take_chat(a, why);
}

void hn_api_messages(hn_server *server, hn_http_call *call) { hn_api_answer(server, call, &voice, &hn_fields_messages, take); }

/* ---- counting ---- */

static bool count(hn_answer *a, hn_str *out, hn_failure *why)
{
    hn_prompt ids = { NULL, 0 };
    if (!translate(a, why) || !hn_render_ids(a, &ids, why))
        return false;
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "input_tokens");
    hn_json_add_int(&w, (int64_t)ids.n);
    hn_json_end_object(&w);
    hn_free(a->heap, ids.ids);
    return true;
}

void hn_api_count_tokens(hn_server *server, hn_http_call *call)
{
    hn_api_ask(server, call, &hn_fields_count_tokens, &voice, count);
}
