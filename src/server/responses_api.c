/* POST /v1/responses, and what is kept of them. A stream's events are numbered; an item begins, goes on and is done before the next. */
#include "server/apis.h"
#include "server/openai.h"
#include "server/responses_form.h"
#include "server/server_state.h"
#include "server/tools.h"

#include <stdio.h>
#include <string.h>

/* ---- keeping ---- */

static bool is_to_keep(const hn_answer *a) { return hn_field_bool(a->asked, "store", true); }

/* The whole response, kept if that is asked for and can be: "store" says whether it was. */
static void add_whole(hn_answer *a, const char *status, hn_str *to)
{
    const hn_choice *c = &a->choices[0];
    hn_str out = hn_str_on(a->heap), json = hn_str_on(a->heap);
    hn_json_writer w = hn_json_write_to(&json);
    char id[80];
    snprintf(id, sizeof id, "resp_%s", a->id);
    for (size_t i = 0; i < c->h.n_blocks; i++) {
        hn_json_writer item = hn_json_write_to(&out);
        hn_str_add(&out, i ? "," : "");
        hn_responses_item(&item, c, i);
    }
    hn_responses_object(&w, a, status, is_to_keep(a));
    bool is_kept = is_to_keep(a) && hn_str_status(&out) == HN_OK && hn_str_status(&json) == HN_OK;
    is_kept = is_kept && hn_responses_keep(&a->server->responses, a->asker, id, json.text, a->items.text, out.text);
    hn_str_free(&out);
    if (is_kept || !is_to_keep(a)) {
        hn_str_add_bytes(to, json.text, json.length);
        hn_str_end(&json, to);
        return;
    }
    hn_str_free(&json);
    w = hn_json_write_to(to);
    hn_responses_object(&w, a, status, false);
}

static const char *status_of(const hn_choice *c) { return c->h.stopped_by || c->end == HN_LM_DONE ? "completed" : "incomplete"; }

/* ---- a stream ---- */

/* {"type": ..., "sequence_number": ... */
static hn_json_writer begin_event(hn_choice *c, const char *type, hn_str *out)
{
    hn_str_print(out, "event: %s\ndata: ", type);
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "type");
    hn_json_add_string(&w, type);
    hn_json_key(&w, "sequence_number");
    hn_json_add_int(&w, c->n_events++);
    return w;
}

static void end_event(hn_json_writer *w)
{
    hn_json_end_object(w);
    hn_str_add(w->to, "\n\n");
}

/* The same of the item that is open: its number, id, and of its part. */
static hn_json_writer begin_item_event(hn_choice *c, const char *type, bool has_id, hn_str *out)
{
    char id[96];
    hn_json_writer w = begin_event(c, type, out);
    hn_json_key(&w, "output_index");
    hn_json_add_int(&w, c->n_opened - 1);
    if (!has_id)
        return w;
    hn_responses_item_id(c, (size_t)c->n_opened - 1, id, sizeof id);
    hn_json_key(&w, "item_id");
    hn_json_add_string(&w, id);
    if (c->open != HN_CALL_BLOCK) {
        hn_json_key(&w, "content_index");
        hn_json_add_int(&w, 0);
    }
    return w;
}

/* An item that has just begun, and its part. */
static void add_begun_item(hn_json_writer *w, const hn_choice *c, const hn_lm_call *call)
{
    const bool is_text = c->open == HN_TEXT_BLOCK;
    char id[200];
    hn_responses_item_id(c, (size_t)c->n_opened - 1, id, sizeof id);
    hn_json_begin_object(w);
    hn_json_put_bytes(w, "id", id, strlen(id));
    hn_json_key(w, "type");
    hn_json_add_string(w, call ? "function_call" : is_text ? "message" : "reasoning");
    hn_json_key(w, "status");
    hn_json_add_string(w, "in_progress");
    if (call) {
        hn_choice_call_id(c, call->index, call->id ? call->id : "", id, sizeof id);
        hn_json_put_bytes(w, "call_id", id, strlen(id));
        hn_json_put_bytes(w, "name", call->name, strlen(call->name));
        hn_json_put_bytes(w, "arguments", "", 0);
    } else {
        hn_json_key(w, is_text ? "content" : "summary");
        hn_json_begin_array(w);
        hn_json_end_array(w);
        if (is_text)
            hn_json_put_bytes(w, "role", "assistant", 9);
    }
    hn_json_end_object(w);
}

/* One that is done, or, NULL, has just begun. */
static void add_part(hn_json_writer *w, const hn_choice *c, bool is_text, const hn_heard_block *b)
{
    static const hn_heard_block none = { .kind = HN_TEXT_BLOCK };
    const char *text = (is_text ? c->h.text.text : c->h.thought.text) + (b ? b->begin : 0);
    hn_json_key(w, "part");
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_string(w, is_text ? "output_text" : "reasoning_text");
    hn_json_put_bytes(w, "text", text, b ? b->end - b->begin : 0);
    if (is_text) {
        hn_json_key(w, "annotations");
        hn_json_begin_array(w);
        hn_json_end_array(w);
        hn_responses_scores(w, c, b ? b : &none);
    }
    hn_json_end_object(w);
}

static void close_text(hn_choice *c, const hn_heard_block *b, hn_str *out)
{
    const bool is_text = b->kind == HN_TEXT_BLOCK;
    const char *text = (is_text ? c->h.text.text : c->h.thought.text) + b->begin;
    hn_json_writer w = begin_item_event(c, is_text ? "response.output_text.done" : "response.reasoning_text.done", true, out);
    hn_json_put_bytes(&w, "text", text, b->end - b->begin);
    if (is_text)
        hn_responses_scores(&w, c, b);
    end_event(&w);
    w = begin_item_event(c, "response.content_part.done", true, out);
    add_part(&w, c, is_text, b);
    end_event(&w);
}

static void close_call(hn_choice *c, const hn_heard_block *b, hn_str *out)
{
    const hn_heard_call *call = &c->h.calls[b->call];
    hn_json_writer w = begin_item_event(c, "response.function_call_arguments.done", true, out);
    hn_json_put_bytes(&w, "name", call->name.text, call->name.length);
    hn_json_put_bytes(&w, "arguments", call->arguments.text, call->arguments.length);
    end_event(&w);
}

/* The item that is open is done. */
static void close_item(hn_choice *c, hn_str *out)
{
    if (c->open == HN_NO_BLOCK)
        return;
    const size_t block = (size_t)c->n_opened - 1;
    const hn_heard_block *b = &c->h.blocks[block];
    if (b->kind == HN_CALL_BLOCK)
        close_call(c, b, out);
    else
        close_text(c, b, out);
    hn_json_writer w = begin_item_event(c, "response.output_item.done", false, out);
    hn_json_key(&w, "item");
    hn_responses_item(&w, c, block);
    end_event(&w);
    c->open = HN_NO_BLOCK;
}

static void open_item(hn_choice *c, hn_block_kind kind, const hn_lm_call *call, hn_str *out)
{
    close_item(c, out);
    c->open = kind;
    c->n_opened++;
    hn_json_writer w = begin_item_event(c, "response.output_item.added", false, out);
    hn_json_key(&w, "item");
    add_begun_item(&w, c, call);
    end_event(&w);
    if (call)
        return;
    w = begin_item_event(c, "response.content_part.added", true, out);
    add_part(&w, c, kind == HN_TEXT_BLOCK, NULL);
    end_event(&w);
}

static void begin(hn_answer *a, hn_str *out)
{
    static const char *const types[] = { "response.created", "response.in_progress" };
    for (int i = 0; i < 2; i++) {
        hn_json_writer w = begin_event(&a->choices[0], types[i], out);
        hn_json_key(&w, "response");
        hn_responses_object(&w, a, "in_progress", is_to_keep(a));
        end_event(&w);
    }
}

static void tell(hn_answer *a, hn_choice *c, const hn_piece *piece, hn_str *out)
{
    if (!piece->bytes)
        return;
    if (c->open != HN_TEXT_BLOCK)
        open_item(c, HN_TEXT_BLOCK, NULL, out);
    hn_json_writer w = begin_item_event(c, "response.output_text.delta", true, out);
    hn_json_put_bytes(&w, "delta", piece->text, piece->bytes);
    hn_json_key(&w, "logprobs");
    hn_json_begin_array(&w);
    for (size_t i = 0; a->scores && i < piece->n_tokens; i++)
        hn_score_add(&w, a->model->lm, hn_choice_token(c, piece->first_token + i));
    hn_json_end_array(&w);
    end_event(&w);
}

static void think(hn_answer *a, hn_choice *c, const char *text, size_t bytes, hn_str *out)
{
    (void)a;
    if (!bytes)
        return;
    if (c->open != HN_THOUGHT_BLOCK)
        open_item(c, HN_THOUGHT_BLOCK, NULL, out);
    hn_json_writer w = begin_item_event(c, "response.reasoning_text.delta", true, out);
    hn_json_put_bytes(&w, "delta", text, bytes);
    end_event(&w);
}

static void call(hn_answer *a, hn_choice *c, const hn_lm_call *of, hn_str *out)
{
    (void)a;
    if (of->name)
        open_item(c, HN_CALL_BLOCK, of, out);
    if (!of->bytes)
        return;
    hn_json_writer w = begin_item_event(c, "response.function_call_arguments.delta", true, out);
    hn_json_put_bytes(&w, "delta", of->arguments, of->bytes);
    end_event(&w);
}

static void close_choice(hn_answer *a, hn_choice *c, hn_str *out)
{
    (void)a;
    close_item(c, out);
}

static void finish(hn_answer *a, hn_str *out)
{
    hn_choice *c = &a->choices[0];
    const char *status = status_of(c);
    hn_json_writer w = begin_event(c, !strcmp(status, "completed") ? "response.completed" : "response.incomplete", out);
    hn_str whole = hn_str_on(a->heap);
    add_whole(a, status, &whole);
    hn_json_key(&w, "response");
    hn_json_add_json(&w, whole.text, whole.length);
    end_event(&w);
    hn_str_end(&whole, out);
}

static void whole(hn_answer *a, hn_str *out)
{
    add_whole(a, status_of(&a->choices[0]), out);
    hn_str_add(out, "\n");
}

static void fail_stream(hn_answer *a, hn_str *out)
{
    hn_json_writer w = begin_event(&a->choices[0], "response.failed", out);
    hn_json_key(&w, "response");
    hn_responses_object(&w, a, "failed", false);
    end_event(&w);
}

static const hn_voice voice = {
    .type = "text/event-stream", .ping = ": ping\n\n", .prepare = hn_openai_prepare_chat, .begin = begin, .tell = tell, .think = think,
    .call = call, .close = close_choice, .finish = finish, .whole = whole, .fail = hn_openai_fail, .fail_stream = fail_stream,
};

static bool take(hn_answer *a, hn_failure *why) { return hn_responses_translate(a, why) && hn_openai_take_chat(a, why); }

void hn_api_responses(hn_server *server, hn_http_call *call_of) { hn_api_answer(server, call_of, &voice, &hn_fields_responses, take); }

/* ---- those that are kept ---- */

static void refuse(hn_server *s, hn_http_call *call_of, hn_failure_kind kind, const char *what, const char *id)
{
    hn_failure why;
    hn_refuse_as(&why, kind, NULL, "%.100s: %s", id, what);
    hn_api_refuse(s, call_of, &why);
}

static const char *path_of(hn_http_call *call_of) { return hn_http_request_of(call_of)->path + strlen("/v1/responses/"); }

void hn_api_response_delete(hn_server *s, hn_http_call *call_of)
{
    const char *id = path_of(call_of);
    hn_str out = hn_str_on(s->heap);
    if (!hn_responses_drop(&s->responses, hn_server_asker(s, call_of), id)) {
        refuse(s, call_of, HN_REFUSED_NO_OBJECT, "there is no such response", id);
        return;
    }
    hn_json_writer w = hn_json_write_to(&out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "id");
    hn_json_add_string(&w, id);
    hn_json_key(&w, "object");
    hn_json_add_string(&w, "response");
    hn_json_key(&w, "deleted");
    hn_json_add_bool(&w, true);
    hn_json_end_object(&w);
    hn_http_reply(call_of, 200, "application/json", out.text, out.length);
    hn_str_free(&out);
}

/* ---- a page of items ---- */

typedef struct page_of_items {
    int64_t limit;
    bool is_ascending;
    const char *after; /* "": from the first on */
} page_of_items;

static const char *id_of(const hn_json *item)
{
    const hn_json *id = hn_json_get(item, "id");
    return hn_json_string(id);
}

/* False: `after` is none of them. */
static bool add_list(hn_json_writer *w, const hn_json *items, const page_of_items *page)
{
    const hn_json *first = NULL, *last = NULL;
    const size_t n = hn_json_count(items);
    int64_t told = 0;
    bool has_begun = !page->after[0], has_more = false;
    hn_json_begin_object(w);
    hn_json_key(w, "object");
    hn_json_add_string(w, "list");
    hn_json_key(w, "data");
    hn_json_begin_array(w);
    for (size_t i = 0; i < n && !has_more; i++) {
        const hn_json *v = hn_json_at(items, page->is_ascending ? i : n - 1 - i);
        if (has_begun && told == page->limit)
            has_more = true;
        else if (has_begun) {
            hn_json_add_value(w, v);
            first = first ? first : v;
            last = v;
            told++;
        } else
            has_begun = !strcmp(id_of(v), page->after);
    }
    hn_json_end_array(w);
    hn_json_key(w, "first_id");
    first ? hn_json_add_string(w, id_of(first)) : hn_json_add_null(w);
    hn_json_key(w, "last_id");
    last ? hn_json_add_string(w, id_of(last)) : hn_json_add_null(w);
    hn_json_key(w, "has_more");
    hn_json_add_bool(w, has_more);
    hn_json_end_object(w);
    return has_begun;
}

static void reply_items(hn_server *s, hn_http_call *call_of, const hn_str *in)
{
    hn_failure why = { .kind = HN_REFUSED_NOT };
    hn_json_text *items = NULL, *query = NULL;
    hn_str all = hn_str_on(s->heap), out = hn_str_on(s->heap);
    hn_str_print(&all, "[%s]", in->text);
    bool is_well = hn_server_query(s, call_of, &query, &why);
    const hn_json *asked = is_well ? hn_json_root(query) : NULL;
    const page_of_items page = { .limit = hn_field_int(asked, "limit", 20), .is_ascending = !strcmp(hn_field_text(asked, "order", "desc"), "asc"),
                                 .after = hn_field_text(asked, "after", "") };
    if (is_well && (hn_str_status(&all) != HN_OK || hn_json_read(s->heap, "items", all.text, all.length, &items) != HN_OK))
        is_well = hn_refuse_by(&why, HN_ERR_MEMORY, NULL);
    if (is_well) {
        hn_json_writer w = hn_json_write_to(&out);
        is_well = add_list(&w, hn_json_root(items), &page) ||
                  hn_refuse_as(&why, HN_REFUSED_INVALID, "after", "after: there is no item %.60s", page.after);
        is_well = is_well && (hn_str_status(&out) == HN_OK || hn_refuse_by(&why, HN_ERR_MEMORY, NULL));
    }
    if (is_well)
        hn_http_reply(call_of, 200, "application/json", out.text, out.length);
    else
        hn_api_refuse(s, call_of, &why);
    hn_json_free(items);
    hn_json_free(query);
    hn_str_free(&all);
    hn_str_free(&out);
}

/* /v1/responses/ID, and /v1/responses/ID/input_items. */
void hn_api_response_get(hn_server *s, hn_http_call *call_of)
{
    static const char items[] = "/input_items";
    const char *path = path_of(call_of);
    const size_t n = strcspn(path, "/");
    char id[100] = "";
    hn_str json = hn_str_on(s->heap), in = hn_str_on(s->heap);
    const bool wants_items = !strcmp(path + n, items);
    if (n < sizeof id && (!path[n] || wants_items))
        memcpy(id, path, n);
    if (!*id || !hn_responses_find(&s->responses, hn_server_asker(s, call_of), id, &json, &in, NULL))
        refuse(s, call_of, HN_REFUSED_NO_OBJECT, "there is no such response", path);
    else if (hn_str_status(&json) != HN_OK || hn_str_status(&in) != HN_OK)
        refuse(s, call_of, HN_REFUSED_NO_ROOM, "out of memory", path);
    else if (wants_items)
        reply_items(s, call_of, &in);
    else
        hn_http_reply(call_of, 200, "application/json", json.text, json.length);
    hn_str_free(&json);
    hn_str_free(&in);
}

/* cancel, compact and the like. */
void hn_api_response_other(hn_server *s, hn_http_call *call_of)
{
    refuse(s, call_of, HN_REFUSED_UNSUPPORTED, "not supported: no response goes on in the background, and none is compacted", path_of(call_of));
}
