/* POST /api/chat and /api/generate: Ollama's form of asking for a chat, told in lines of JSON. */
#include "server/ollama.h"

#include "base/os/clock.h"
#include "server/apis.h"
#include "server/format.h"
#include "server/message_fields.h"
#include "server/openai.h"
#include "server/recipe.h"
#include "server/tools.h"

#include <stdio.h>
#include <string.h>

/* ---- saying ---- */

void hn_ollama_fail(const hn_failure *f, bool in_stream, hn_str *out)
{
    (void)in_stream;
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "error");
    hn_json_add_string(&w, f->message);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
}

void hn_ollama_time(hn_json_writer *w, const char *key, int64_t wall_ns)
{
    struct tm t;
    char text[64] = "1970-01-01T00:00:00Z";
    if (hn_clock_utc(wall_ns / 1000000000, &t))
        snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%09lldZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                 t.tm_min, t.tm_sec, (long long)(wall_ns % 1000000000));
    hn_json_key(w, key);
    hn_json_add_string(w, text);
}

static bool is_generate(const hn_answer *a) { return !strcmp(hn_http_request_of(a->call)->path, "/api/generate"); }

/* Whole calls from number `from` on: one that the answer's end cut off is none. */
static void add_calls(hn_json_writer *w, const hn_choice *c, int32_t from)
{
    bool has_begun = false;
    for (int32_t i = from; i < c->h.n_calls; i++) {
        const hn_heard_call *of = &c->h.calls[i];
        if (!hn_choice_call_is_whole(c, i))
            continue;
        if (!has_begun) {
            hn_json_key(w, "tool_calls");
            hn_json_begin_array(w);
        }
        has_begun = true;
        hn_json_begin_object(w);
        hn_json_key(w, "function");
        hn_json_begin_object(w);
        hn_json_put_bytes(w, "name", of->name.text, of->name.length);
        hn_json_key(w, "arguments");
        hn_json_add_json(w, of->arguments.text, of->arguments.length);
        hn_json_end_object(w);
        hn_json_end_object(w);
    }
    if (has_begun)
        hn_json_end_array(w);
}

/* What a line says of an answer. */
typedef struct said {
    const char *text, *thought;
    size_t bytes, thought_bytes;
    int32_t calls_from; /* -1: none */
} said;

static void add_said(hn_json_writer *w, const hn_answer *a, const said *what)
{
    if (is_generate(a)) {
        hn_json_put_bytes(w, "response", what->text, what->bytes);
        if (what->thought_bytes)
            hn_json_put_bytes(w, "thinking", what->thought, what->thought_bytes);
        return;
    }
    hn_json_key(w, "message");
    hn_json_begin_object(w);
    hn_json_key(w, "role");
    hn_json_add_string(w, "assistant");
    hn_json_put_bytes(w, "content", what->text, what->bytes);
    if (what->thought_bytes)
        hn_json_put_bytes(w, "thinking", what->thought, what->thought_bytes);
    if (what->calls_from >= 0)
        add_calls(w, &a->choices[0], what->calls_from);
    hn_json_end_object(w);
}

static void add_counts(hn_json_writer *w, const hn_answer *a)
{
    const hn_choice *c = &a->choices[0];
    const int64_t counts[] = { hn_clock_ns() - a->begun_ns, (int64_t)c->prompt->n, a->first_ns - a->begun_ns, c->n_drawn,
                               hn_clock_ns() - a->first_ns };
    static const char *const names[] = { "total_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration" };
    const char *reason = hn_choice_reason(c);
    hn_json_key(w, "done_reason");
    hn_json_add_string(w, !strcmp(reason, "tool_calls") ? "stop" : reason);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hn_json_key(w, names[i]);
        hn_json_add_int(w, counts[i]);
    }
}

static void add_line(hn_answer *a, const said *what, bool is_done, hn_str *out)
{
    hn_json_writer w = hn_json_write_to(out);
    hn_json_begin_object(&w);
    hn_json_key(&w, "model");
    hn_json_add_string(&w, hn_field_text(a->body, "model", a->model->name));
    hn_ollama_time(&w, "created_at", hn_clock_wall_ns());
    add_said(&w, a, what);
    hn_json_key(&w, "done");
    hn_json_add_bool(&w, is_done);
    if (is_done)
        add_counts(&w, a);
    if (is_done && a->tells_recipe)
        hn_recipe_add(&w, a);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
}

static void tell(hn_answer *a, hn_choice *c, const hn_piece *piece, hn_str *out)
{
    (void)c;
    if (piece->bytes)
        add_line(a, &(said){ .text = piece->text, .bytes = piece->bytes, .calls_from = -1 }, false, out);
}

static void think(hn_answer *a, hn_choice *c, const char *text, size_t bytes, hn_str *out)
{
    (void)c;
    if (bytes)
        add_line(a, &(said){ .text = "", .thought = text, .thought_bytes = bytes, .calls_from = -1 }, false, out);
}

/* Calls are told whole, all of them at the end. */
static void close_choice(hn_answer *a, hn_choice *c, hn_str *out)
{
    if (c->h.n_calls)
        add_line(a, &(said){ .text = "" }, false, out);
}

static void finish(hn_answer *a, hn_str *out) { add_line(a, &(said){ .text = "", .calls_from = -1 }, true, out); }

static void whole(hn_answer *a, hn_str *out)
{
    const hn_hearing *h = &a->choices[0].h;
    add_line(a, &(said){ h->text.text, h->thought.text, h->text.length, h->thought.length, 0 }, true, out);
}

/* ---- asking ---- */

static void add_text(hn_json_writer *w, const char *role, const char *text)
{
    hn_json_begin_object(w);
    hn_json_key(w, "role");
    hn_json_add_string(w, role);
    hn_json_key(w, "content");
    hn_json_add_string(w, text);
    hn_json_end_object(w);
}

/* Ollama's own defaults, and what the options say instead. */
static void add_options(hn_json_writer *w, const hn_json *o)
{
    static const struct {
        const char *name, *to;
        double otherwise;
    } numbers[] = { { "temperature", "temperature", 0.8 },          { "top_p", "top_p", 0.9 },
                    { "min_p", "min_p", 0 },                        { "repeat_penalty", "repetition_penalty", 1.1 },
                    { "presence_penalty", "presence_penalty", 0 }, { "frequency_penalty", "frequency_penalty", 0 } };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        hn_json_key(w, numbers[i].to);
        hn_json_add_double(w, hn_field_number(o, numbers[i].name, numbers[i].otherwise));
    }
    hn_json_key(w, "top_k");
    hn_json_add_int(w, hn_field_int(o, "top_k", 40));
    hn_json_key(w, "repeat_last_n");
    hn_json_add_int(w, hn_field_int(o, "repeat_last_n", 64));
    if (hn_field_int(o, "num_predict", -1) > 0) {
        hn_json_key(w, "max_tokens");
        hn_json_add_int(w, hn_field_int(o, "num_predict", -1));
    }
    if (hn_field_of(o, "seed")) {
        hn_json_key(w, "seed");
        hn_json_add_value(w, hn_field_of(o, "seed"));
    }
    if (hn_field_of(o, "stop")) {
        hn_json_key(w, "stop");
        hn_json_add_value(w, hn_field_of(o, "stop"));
    }
}

/* `thinking` is `reasoning_content` there, and `tool_name` a message's name. */
static void add_messages(hn_json_writer *w, const hn_json *messages)
{
    static const char *const others[][2] = { { "thinking", "reasoning_content" }, { "tool_name", "name" } };
    hn_json_begin_array(w);
    for (const hn_json *m = hn_json_first(messages); m; m = m->next) {
        hn_json_begin_object(w);
        for (const hn_json *v = hn_json_first(m); v; v = v->next) {
            const char *key = !strcmp(v->key, others[0][0]) ? others[0][1] : !strcmp(v->key, others[1][0]) ? others[1][1] : v->key;
            if (v->kind == HN_JSON_NULL)
                continue;
            hn_json_key(w, key);
            hn_json_add_value(w, v);
        }
        if (!hn_field_of(m, "content")) { /* their clients leave an empty one out */
            hn_json_key(w, "content");
            hn_json_add_string(w, "");
        }
        hn_json_end_object(w);
    }
    hn_json_end_array(w);
}

/* One that is only to load a model has none: an empty one stands there, by which what else is asked is tried. */
static void add_prompt(hn_json_writer *w, const hn_json *b, bool generates)
{
    const char *system = hn_field_text(b, "system", NULL);
    const bool is_raw = hn_field_bool(b, "raw", false);
    hn_json_key(w, is_raw ? "prompt" : "messages");
    if (is_raw) {
        hn_json_add_string(w, hn_field_text(b, "prompt", ""));
        return;
    }
    if (!generates && hn_json_count(hn_field_of(b, "messages"))) {
        add_messages(w, hn_field_of(b, "messages"));
        return;
    }
    hn_json_begin_array(w);
    if (system && *system) /* as the API has it: an empty one is none */
        add_text(w, "system", system);
    add_text(w, "user", hn_field_text(b, "prompt", ""));
    hn_json_end_array(w);
}

/* "json", or a schema; "" is none. */
static bool add_format(hn_json_writer *w, const hn_json *format, hn_failure *why)
{
    const bool is_word = format && format->kind == HN_JSON_STRING;
    if (!format || (is_word && !hn_json_bytes(format)))
        return true;
    if (is_word && strcmp(hn_json_string(format), "json") != 0)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "format", "format: expected \"json\" or a schema");
    hn_json_key(w, "response_format");
    hn_json_begin_object(w);
    hn_json_key(w, "type");
    hn_json_add_string(w, is_word ? "json_object" : "json_schema");
    if (!is_word) {
        hn_json_key(w, "json_schema");
        hn_json_begin_object(w);
        hn_json_key(w, "schema");
        hn_json_add_value(w, format);
        hn_json_end_object(w);
    }
    hn_json_end_object(w);
    return true;
}

static bool translate(hn_answer *a, const hn_json *options, hn_failure *why)
{
    const hn_json *b = a->body;
    hn_str out = hn_str_on(a->heap);
    hn_json_writer w = hn_json_write_to(&out);
    hn_json_begin_object(&w);
    if (hn_field_of(b, "model")) {
        hn_json_key(&w, "model");
        hn_json_add_value(&w, hn_field_of(b, "model"));
    }
    add_prompt(&w, b, is_generate(a));
    add_options(&w, options);
    hn_json_key(&w, "stream");
    hn_json_add_bool(&w, hn_field_bool(b, "stream", true));
    if (hn_field_of(b, "think")) {
        hn_json_key(&w, "enable_thinking");
        hn_json_add_value(&w, hn_field_of(b, "think"));
    }
    static const char *const same[] = { "tools", "recipe" };
    for (int i = 0; i < 2; i++)
        if (hn_field_of(b, same[i])) {
            hn_json_key(&w, same[i]);
            hn_json_add_value(&w, hn_field_of(b, same[i]));
        }
    bool is_well = add_format(&w, hn_field_of(b, "format"), why);
    hn_json_end_object(&w);
    is_well = is_well && hn_answer_translate(a, &out, why);
    hn_str_free(&out);
    return is_well;
}

bool hn_ollama_fits(const hn_answer *a, hn_failure *why)
{
    const int64_t has = a->model->batch ? hn_lm_batch_context(a->model->batch) : INT64_MAX; /* one that embeds has none of this kind */
    return a->context <= has || hn_refuse_as(why, HN_REFUSED_INVALID, "options.num_ctx", "options.num_ctx: the context of %s is %lld, found %lld",
                                             a->model->name, (long long)has, (long long)a->context);
}

static bool encode(hn_answer *a, hn_failure *why)
{
    const hn_json *raw = hn_field_of(a->body, "prompt");
    if (!raw)
        return hn_openai_prepare_chat(a, why);
    if (!a->model->batch)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "model", "%s embeds texts: it generates none", a->model->name);
    return hn_answer_encode(a, &a->prompts[0], hn_json_string(raw), hn_json_bytes(raw), HN_LM_PLAIN, why);
}

/* How large a context is is known when the model is there: without --context it is the model's own. */
static bool prepare(hn_answer *a, hn_failure *why)
{
    if (!hn_ollama_fits(a, why) || !encode(a, why))
        return false;
    const int64_t left = a->context - (int64_t)a->prompts[0].n; /* below 1: the prompt is refused */
    if (a->context && left > 0 && (!a->most || a->most > left))
        a->most = left;
    return true;
}

static const hn_voice voice = {
    .type = "application/x-ndjson", .prepare = prepare, .tell = tell, .think = think,
    .close = close_choice, .finish = finish, .whole = whole, .fail = hn_ollama_fail,
};

/* What the template would have written is not beside a text that it does not write. */
static bool check_raw(const hn_json *body, hn_failure *why)
{
    static const char *const written[] = { "system", "think" };
    for (int i = 0; i < 2 && hn_field_bool(body, "raw", false); i++) {
        const hn_json *v = hn_field_of(body, written[i]);
        const bool asks_nothing = v && ((v->kind == HN_JSON_BOOL && !hn_field_bool(body, written[i], false)) ||
                                        (v->kind == HN_JSON_STRING && !hn_json_bytes(v)));
        if (v && !asks_nothing)
            return hn_refuse_as(why, HN_REFUSED_INVALID, written[i], "%s: found raw too: no template writes it", written[i]);
    }
    return true;
}

static bool take(hn_answer *a, hn_failure *why)
{
    static const hn_json none = { .kind = HN_JSON_OBJECT };
    const hn_json *options = hn_field_of(a->body, "options"), *messages = hn_field_of(a->body, "messages");
    options = options ? options : &none;
    if (!hn_fields_check_within(&hn_fields_ollama_options, "options.", options, why))
        return false;
    const bool loads = hn_ollama_loads(a);
    a->context = hn_field_int(options, "num_ctx", 0);
    bool keeps_nothing;
    if (!hn_ollama_take_keep(a->body, &keeps_nothing, why) || !check_raw(a->body, why) || !hn_check_ollama_messages(messages, why) ||
        !translate(a, options, why))
        return false;
    a->leaves = loads && keeps_nothing;
    a->most = hn_field_int(a->body, "max_tokens", 0);
    a->is_chat = !hn_field_of(a->body, "prompt");
    if (!hn_openai_take(a, why) || !hn_tools_take(a, why))
        return false;
    return loads ? hn_ollama_take_load(a, why) : hn_answer_choices(a, 1, 1, why);
}

void hn_api_ollama_chat(hn_server *server, hn_http_call *call)
{
    hn_api_answer(server, call, &voice, &hn_fields_ollama_chat, take);
}

void hn_api_ollama_generate(hn_server *server, hn_http_call *call)
{
    hn_api_answer(server, call, &voice, &hn_fields_ollama_generate, take);
}
