/* POST /v1/messages and its count: Anthropic's form of asking for a chat. */
#include "server/anthropic.h"

#include "server/apis.h"
#include "server/openai.h"
#include "server/recipe.h"
#include "server/tools.h"

#include <string.h>

/* ---- saying ---- */

static const char *error_word(const hn_failure *f)
{
    switch (hn_failure_http(f)) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 429: return "rate_limit_error";
    case 504: return "timeout_error";
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

static void add_usage(hn_json_writer *w, const hn_answer *a, const hn_choice *c_or_null)
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
    hn_json_add_int(w, c_or_null ? c_or_null->n_drawn : 0);
    hn_json_key(w, "output_tokens_details");
    hn_json_begin_object(w);
    hn_json_key(w, "thinking_tokens");
    hn_json_add_int(w, c_or_null ? c_or_null->h.n_thought : 0);
    hn_json_end_object(w);
    hn_json_end_object(w);
}

static void add_reason(hn_json_writer *w, const hn_choice *c)
{
    const char *word = c->h.stopped_by ? "stop_sequence" : c->end != HN_LM_DONE ? "max_tokens" : c->h.n_calls ? "tool_use" : "end_turn";
    hn_json_key(w, "stop_reason");
    hn_json_add_string(w, word);
    hn_json_key(w, "stop_sequence");
    c->h.stopped_by ? hn_json_add_string(w, c->h.stopped_by) : hn_json_add_null(w);
}

/* ---- blocks ---- */

static void begin_block(hn_json_writer *w, const char *type)
{
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_string(w, type);
}

static void add_text_block(hn_json_writer *w, const char *text, size_t bytes)
{
    begin_block(w, "text");
    hn_json_put_bytes(w, "text", text, bytes);
    hn_json_end_object(w);
}

/* Nothing is signed: a thought that comes back is believed. */
static void add_thought_block(hn_json_writer *w, const char *text, size_t bytes)
{
    begin_block(w, "thinking");
    hn_json_put_bytes(w, "thinking", text, bytes);
    hn_json_put_bytes(w, "signature", "", 0);
    hn_json_end_object(w);
}

/* input: JSON. */
static void add_call_block(hn_json_writer *w, const hn_choice *c, int32_t index, const char *own, const char *name, const char *input, size_t bytes)
{
    char id[200];
    hn_choice_call_id(c, index, own, id, sizeof id);
    begin_block(w, "tool_use");
    hn_json_key(w, "id");
    hn_json_add_string(w, id);
    hn_json_key(w, "name");
    hn_json_add_string(w, name);
    hn_json_key(w, "input");
    hn_json_add_json(w, input, bytes);
    hn_json_end_object(w);
}

/* A call that the answer's end cut off is none. */
static void add_block(hn_json_writer *w, const hn_choice *c, const hn_heard_block *b)
{
    const hn_heard_call *call = b->kind == HN_CALL_BLOCK ? &c->h.calls[b->call] : NULL;
    if (b->kind == HN_TEXT_BLOCK)
        add_text_block(w, c->h.text.text + b->begin, b->end - b->begin);
    else if (b->kind == HN_THOUGHT_BLOCK)
        add_thought_block(w, c->h.thought.text + b->begin, b->end - b->begin);
    else if (hn_choice_call_is_whole(c, b->call))
        add_call_block(w, c, b->call, call->id.text, call->name.text, call->arguments.text, call->arguments.length);
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

/* ---- a stream ---- */

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
    add_usage(&w, a, NULL);
    hn_json_end_object(&w);
    end_event(&w);
}

/* An event of the block that is open, which has the last number. */
static hn_json_writer begin_block_event(const hn_choice *c, const char *type, hn_str *out)
{
    hn_json_writer w = begin_event(out, type);
    hn_json_key(&w, "index");
    hn_json_add_int(&w, c->n_opened - 1);
    return w;
}

static void close_block(hn_choice *c, hn_str *out)
{
    if (c->open == HN_NO_BLOCK)
        return;
    hn_json_writer w = begin_block_event(c, "content_block_stop", out);
    end_event(&w);
    c->open = HN_NO_BLOCK;
}

/* The one that is open ends, and another begins: {"index": ..., "content_block":, for the block itself. */
static hn_json_writer open_block(hn_choice *c, hn_block_kind kind, hn_str *out)
{
    close_block(c, out);
    c->open = kind;
    c->n_opened++;
    hn_json_writer w = begin_block_event(c, "content_block_start", out);
    hn_json_key(&w, "content_block");
    return w;
}

static void add_delta(const hn_choice *c, const char *type, const char *key, const char *text, size_t bytes, hn_str *out)
{
    if (!bytes)
        return;
    hn_json_writer w = begin_block_event(c, "content_block_delta", out);
    hn_json_key(&w, "delta");
    begin_block(&w, type);
    hn_json_put_bytes(&w, key, text, bytes);
    hn_json_end_object(&w);
    end_event(&w);
}

static void tell(hn_answer *a, hn_choice *c, const hn_piece *piece, hn_str *out)
{
    (void)a;
    if (c->open != HN_TEXT_BLOCK && piece->bytes) {
        hn_json_writer w = open_block(c, HN_TEXT_BLOCK, out);
        add_text_block(&w, "", 0);
        end_event(&w);
    }
    add_delta(c, "text_delta", "text", piece->text, piece->bytes, out);
}

static void think(hn_answer *a, hn_choice *c, const char *text, size_t bytes, hn_str *out)
{
    (void)a;
    if (c->open != HN_THOUGHT_BLOCK && bytes) {
        hn_json_writer w = open_block(c, HN_THOUGHT_BLOCK, out);
        add_thought_block(&w, "", 0);
        end_event(&w);
    }
    add_delta(c, "thinking_delta", "thinking", text, bytes, out);
}

static void call(hn_answer *a, hn_choice *c, const hn_lm_call *of, hn_str *out)
{
    (void)a;
    if (of->name) {
        hn_json_writer w = open_block(c, HN_CALL_BLOCK, out);
        add_call_block(&w, c, of->index, of->id ? of->id : "", of->name, "{}", 2);
        end_event(&w);
    }
    add_delta(c, "input_json_delta", "partial_json", of->arguments, of->bytes, out);
}

/* Every message has a block. */
static void close_choice(hn_answer *a, hn_choice *c, hn_str *out)
{
    if (!c->n_opened) {
        hn_json_writer w = open_block(c, HN_TEXT_BLOCK, out);
        add_text_block(&w, "", 0);
        end_event(&w);
    }
    close_block(c, out);
    hn_json_writer w = begin_event(out, "message_delta");
    hn_json_key(&w, "delta");
    hn_json_begin_object(&w);
    add_reason(&w, c);
    hn_json_end_object(&w);
    add_usage(&w, a, c);
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
    for (size_t i = 0; i < c->h.n_blocks; i++)
        add_block(&w, c, &c->h.blocks[i]);
    if (!c->h.n_blocks)
        add_text_block(&w, "", 0);
    hn_json_end_array(&w);
    add_reason(&w, c);
    add_usage(&w, a, c);
    if (a->tells_recipe)
        hn_recipe_add(&w, a);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
}

static const hn_voice voice = {
    .type = "text/event-stream", .ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n", .prepare = hn_openai_prepare_chat, .begin = begin,
    .tell = tell, .think = think, .call = call, .close = close_choice, .finish = finish, .whole = whole, .fail = hn_anthropic_fail,
};

/* ---- asking ---- */

static bool take(hn_answer *a, hn_failure *why)
{
    if (!hn_field_of(a->body, "max_tokens"))
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "max_tokens", "max_tokens: expected a number, found none");
    return hn_anthropic_translate(a, why) && hn_openai_take_chat(a, why);
}

void hn_api_messages(hn_server *server, hn_http_call *call_of) { hn_api_answer(server, call_of, &voice, &hn_fields_messages, take); }

/* ---- counting ---- */

static bool count(hn_answer *a, hn_str *out, hn_failure *why)
{
    hn_prompt ids = { NULL, 0 };
    if (!hn_anthropic_translate(a, why) || !hn_tools_take(a, why) || !hn_render_ids(a, &ids, why))
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
