/* POST /v1/completions. */
#include "base/utf8.h"
#include "server/apis.h"
#include "server/format.h"
#include "server/openai.h"

#include <string.h>

#define ID "cmpl-"

/* ---- saying ---- */

/* A token's text; of one that is no whole text, its bytes: "bytes:\\xe2\\x80". */
static void piece_text(const hn_answer *a, int32_t id, hn_str *out)
{
    const char *text = "";
    size_t bytes = 0, at = 0;
    if (hn_lm_piece(a->model->lm, id, &text, &bytes) != HN_OK)
        bytes = 0;
    for (size_t n; at < bytes && text[at] && (n = hn_utf8_length(text + at, bytes - at)); at += n)
        ;
    if (at == bytes) {
        hn_str_add_bytes(out, text, bytes);
        return;
    }
    hn_str_add(out, "bytes:");
    for (size_t i = 0; i < bytes; i++)
        hn_str_print(out, "\\x%02x", (unsigned char)text[i]);
}

static void add_piece(hn_json_writer *w, const hn_answer *a, int32_t id)
{
    hn_str text = hn_str_on(a->heap);
    piece_text(a, id, &text);
    hn_json_add_string(w, text.text);
    hn_str_free(&text);
}

static bool is_told(const hn_answer *a, const hn_told_token *t, int32_t n, const char *text)
{
    bool is_there = false;
    for (int32_t k = 0; k < n && !is_there; k++) {
        hn_str other = hn_str_on(a->heap);
        piece_text(a, t->likeliest[k].id, &other);
        is_there = !strcmp(other.text, text);
        hn_str_free(&other);
    }
    return is_there;
}

/* The likeliest and the token itself. A key stands once: of tokens with the same text the likeliest does. */
static void add_likeliest(hn_json_writer *w, const hn_answer *a, const hn_told_token *t)
{
    hn_json_begin_object(w);
    for (int32_t k = 0; k <= t->n_likeliest; k++) {
        const bool is_own = k == t->n_likeliest;
        hn_str text = hn_str_on(a->heap);
        piece_text(a, is_own ? t->id : t->likeliest[k].id, &text);
        if (!is_told(a, t, k, text.text)) {
            hn_json_key(w, text.text);
            hn_json_add_double(w, is_own ? t->log_probability : t->likeliest[k].log_probability);
        }
        hn_str_free(&text);
    }
    hn_json_end_object(w);
}

/* The old form: four arrays. */
static void add_logprobs(hn_json_writer *w, const hn_choice *c, size_t first, size_t n)
{
    const hn_answer *a = c->answer;
    hn_json_key(w, "logprobs");
    if (!a->scores) {
        hn_json_add_null(w);
        return;
    }
    hn_json_begin_object(w);
    hn_json_key(w, "tokens");
    hn_json_begin_array(w);
    for (size_t i = first; i < first + n; i++)
        add_piece(w, a, hn_choice_token(c, i)->id);
    hn_json_end_array(w);
    hn_json_key(w, "token_logprobs");
    hn_json_begin_array(w);
    for (size_t i = first; i < first + n; i++)
        hn_json_add_double(w, hn_choice_token(c, i)->log_probability);
    hn_json_end_array(w);
    hn_json_key(w, "top_logprobs");
    if (!a->likeliest)
        hn_json_add_null(w);
    else {
        hn_json_begin_array(w);
        for (size_t i = first; i < first + n; i++)
            add_likeliest(w, a, hn_choice_token(c, i));
        hn_json_end_array(w);
    }
    hn_json_key(w, "text_offset");
    hn_json_begin_array(w);
    for (size_t i = first; i < first + n; i++)
        hn_json_add_int(w, (int64_t)hn_choice_token(c, i)->begin);
    hn_json_end_array(w);
    hn_json_end_object(w);
}

static void add_choice(hn_json_writer *w, const hn_choice *c, const hn_piece *piece, const char *reason)
{
    const hn_json text = { .kind = HN_JSON_STRING, .as.string = { piece->text, piece->bytes } };
    hn_json_begin_object(w);
    hn_json_key(w, "text");
    hn_json_add_scalar(w, &text);
    hn_json_key(w, "index");
    hn_json_add_int(w, c->index);
    add_logprobs(w, c, piece->first_token, piece->n_tokens);
    hn_json_key(w, "finish_reason");
    reason ? hn_json_add_string(w, reason) : hn_json_add_null(w);
    hn_json_end_object(w);
}

static void add_event(hn_answer *a, hn_choice *c, const hn_piece *piece, const char *reason, hn_str *out)
{
    hn_json_writer w = hn_openai_event(out);
    hn_openai_begin(&w, a, ID, "text_completion");
    hn_json_key(&w, "choices");
    hn_json_begin_array(&w);
    add_choice(&w, c, piece, reason);
    hn_json_end_array(&w);
    if (a->tells_usage) {
        hn_json_key(&w, "usage");
        hn_json_add_null(&w);
    }
    hn_json_end_object(&w);
    hn_openai_event_end(&w);
}

static void tell(hn_answer *a, hn_choice *c, const hn_piece *piece, hn_str *out)
{
    add_event(a, c, piece, NULL, out);
}

static void close_choice(hn_answer *a, hn_choice *c, hn_str *out)
{
    const hn_piece nothing = { "", 0, 0, 0 };
    add_event(a, c, &nothing, hn_choice_reason(c), out);
}

static void finish(hn_answer *a, hn_str *out) { hn_openai_finish(a, ID, "text_completion", out); }

static void whole(hn_answer *a, hn_str *out)
{
    hn_json_writer w = hn_json_write_to(out);
    hn_openai_begin(&w, a, ID, "text_completion");
    hn_json_key(&w, "choices");
    hn_json_begin_array(&w);
    for (int32_t i = 0; i < a->n_choices; i++) {
        const hn_choice *c = &a->choices[i];
        const hn_piece all = { c->h.text.text, c->h.text.length, 0, c->tokens_told };
        add_choice(&w, c, &all, hn_choice_reason(c));
    }
    hn_json_end_array(&w);
    hn_openai_usage(&w, a);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
}

/* ---- asking ---- */

/* "text", [1, 2], ["text", "text"] or [[1, 2], [3]]. */
static bool is_ids(const hn_json *v)
{
    return v->kind == HN_JSON_ARRAY && v->as.children.n && v->as.children.first->kind == HN_JSON_INT;
}

static bool is_many(const hn_json *v) { return v->kind == HN_JSON_ARRAY && !is_ids(v); }

static bool take_prompt(hn_answer *a, hn_prompt *to, const hn_json *v, hn_failure *why)
{
    const bool is_special = hn_field_bool(a->body, "special", false);
    if (is_ids(v))
        return hn_answer_take_ids(a, to, v, "prompt", why);
    if (v->kind != HN_JSON_STRING)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "prompt", "prompt: expected texts or arrays of token ids");
    return hn_answer_encode(a, to, v->as.string.text, v->as.string.bytes, is_special ? HN_LM_MARKED : HN_LM_PLAIN, why);
}

static bool prepare(hn_answer *a, hn_failure *why)
{
    const hn_json *prompt = hn_field_of(a->body, "prompt");
    const hn_json *one = is_many(prompt) ? prompt->as.children.first : prompt;
    if (!a->model->batch)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "model", "%s embeds texts: it generates none", a->model->name);
    for (int32_t i = 0; i < a->n_prompts; i++, one = one->next)
        if (!take_prompt(a, &a->prompts[i], one, why))
            return false;
    return hn_answer_fits(a, "prompt", why) && hn_format_make(a, why);
}

static const hn_voice voice = {
    .type = "text/event-stream", .ping = ": ping\n\n", .prepare = prepare, .tell = tell, .close = close_choice, .finish = finish,
    .whole = whole, .fail = hn_openai_fail,
};

static bool take(hn_answer *a, hn_failure *why)
{
    enum { USUAL_LENGTH = 16 };
    const hn_json *b = a->body, *prompt = hn_field_of(b, "prompt"), *logprobs = hn_field_of(b, "logprobs");
    if (!prompt || (prompt->kind == HN_JSON_ARRAY && !prompt->as.children.n))
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "prompt", "prompt: expected a text or token ids, found none");
    if (prompt->kind == HN_JSON_ARRAY && prompt->as.children.n > HN_MOST_CHOICES && is_many(prompt))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "prompt", "prompt: expected at most %d, found %zu", HN_MOST_CHOICES,
                         prompt->as.children.n);
    a->scores = logprobs != NULL;
    a->likeliest = (int32_t)hn_field_int(b, "logprobs", 0);
    a->most = hn_field_int(b, "max_tokens", USUAL_LENGTH);
    return hn_openai_take(a, why) &&
           hn_answer_choices(a, is_many(prompt) ? (int32_t)prompt->as.children.n : 1, (int32_t)hn_field_int(b, "n", 1), why);
}

void hn_api_completions(hn_server *server, hn_http_call *call)
{
    hn_api_answer(server, call, &voice, &hn_fields_completions, take);
}
