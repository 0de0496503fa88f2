/* POST /v1/completions. */
#include "server/apis.h"
#include "server/format.h"
#include "server/openai.h"

#include <string.h>

#define ID "cmpl-"

/* ---- saying ---- */

/* What is told of a choice: the prompt, if it is said again here, and a piece of the answer. */
typedef struct part {
    const hn_choice *c;
    const hn_piece *piece;
    size_t n_prompt; /* ids of the prompt; 0: it is not told here */
} part;

static size_t tokens_of(const part *p) { return p->n_prompt + p->piece->n_tokens; }

/* NULL: the prompt's first. */
static const hn_told_token *told(const part *p, size_t i)
{
    return i < p->n_prompt ? hn_choice_score(p->c, i) : hn_choice_token(p->c, p->piece->first_token + i - p->n_prompt);
}

static void add_offset(hn_json_writer *w, const part *p, size_t i)
{
    const hn_prompt *prompt = p->c->prompt;
    const size_t before = p->c->answer->echoes ? prompt->text.length : 0;
    hn_json_add_int(w, (int64_t)(i < p->n_prompt ? prompt->begins[i] : before + told(p, i)->begin));
}

static void add_top(hn_json_writer *w, const part *p)
{
    const hn_answer *a = p->c->answer;
    hn_json_key(w, "top_logprobs");
    if (!a->likeliest) {
        hn_json_add_null(w);
        return;
    }
    hn_json_begin_array(w);
    for (size_t i = 0; i < tokens_of(p); i++)
        told(p, i) ? hn_score_add_likeliest(w, a->model->lm, told(p, i)) : hn_json_add_null(w);
    hn_json_end_array(w);
}

/* The old form: four arrays. */
static void add_logprobs(hn_json_writer *w, const part *p)
{
    const hn_answer *a = p->c->answer;
    hn_json_key(w, "logprobs");
    if (!hn_field_of(a->body, "logprobs")) {
        hn_json_add_null(w);
        return;
    }
    hn_json_begin_object(w);
    hn_json_key(w, "tokens");
    hn_json_begin_array(w);
    for (size_t i = 0; i < tokens_of(p); i++)
        hn_score_add_piece(w, a->model->lm, told(p, i) ? told(p, i)->id : p->c->prompt->ids[0]);
    hn_json_end_array(w);
    hn_json_key(w, "token_logprobs");
    hn_json_begin_array(w);
    for (size_t i = 0; i < tokens_of(p); i++)
        told(p, i) ? hn_json_add_double(w, told(p, i)->log_probability) : hn_json_add_null(w);
    hn_json_end_array(w);
    add_top(w, p);
    hn_json_key(w, "text_offset");
    hn_json_begin_array(w);
    for (size_t i = 0; i < tokens_of(p); i++)
        add_offset(w, p, i);
    hn_json_end_array(w);
    hn_json_end_object(w);
}

static void add_choice(hn_json_writer *w, const hn_choice *c, int32_t index, const hn_piece *piece, const char *reason, bool echoes)
{
    hn_str both = hn_str_on(c->answer->heap);
    const part p = { c, piece, echoes && c->answer->scores ? c->prompt->n : 0 };
    if (echoes)
        hn_str_add_bytes(&both, c->prompt->text.text, c->prompt->text.length);
    hn_str_add_bytes(&both, piece->text, piece->bytes);
    const hn_json text = hn_json_of_string(both.text, both.length);
    hn_json_begin_object(w);
    hn_json_key(w, "text");
    hn_json_add_scalar(w, &text);
    hn_json_key(w, "index");
    hn_json_add_int(w, index);
    add_logprobs(w, &p);
    hn_json_key(w, "finish_reason");
    reason ? hn_json_add_string(w, reason) : hn_json_add_null(w);
    hn_json_end_object(w);
    hn_str_end(&both, w->to);
}

static void add_event(hn_answer *a, hn_choice *c, const hn_piece *piece, const char *reason, bool echoes, hn_str *out)
{
    hn_json_writer w = hn_openai_event(out);
    hn_openai_begin(&w, a, ID, "text_completion");
    hn_json_key(&w, "choices");
    hn_json_begin_array(&w);
    add_choice(&w, c, c->index, piece, reason, echoes);
    hn_json_end_array(&w);
    if (a->tells_usage) {
        hn_json_key(&w, "usage");
        hn_json_add_null(&w);
    }
    hn_json_end_object(&w);
    hn_openai_event_end(&w);
}

static const hn_piece nothing = { "", 0, 0, 0 };

/* The prompt in an event of its own, before the first of the choice. */
static void tell_prompt(hn_answer *a, hn_choice *c, hn_str *out)
{
    if (a->echoes && !c->has_echoed)
        add_event(a, c, &nothing, NULL, true, out);
    c->has_echoed = true;
}

static void tell(hn_answer *a, hn_choice *c, const hn_piece *piece, hn_str *out)
{
    tell_prompt(a, c, out);
    add_event(a, c, piece, NULL, false, out);
}

static void close_choice(hn_answer *a, hn_choice *c, hn_str *out)
{
    tell_prompt(a, c, out);
    add_event(a, c, &nothing, hn_choice_reason(c), false, out);
}

static void finish(hn_answer *a, hn_str *out) { hn_openai_finish(a, ID, "text_completion", out); }

/* A prompt's choices, the best first where not all are told. */
static void rank(const hn_answer *a, const hn_choice *choices, int32_t order[HN_MOST_CHOICES])
{
    double merits[HN_MOST_CHOICES] = { 0 };
    for (int32_t k = 0; k < a->n_each && a->n_best; k++) {
        double sum = 0;
        for (size_t i = 0; i < choices[k].tokens_told; i++)
            sum += hn_choice_token(&choices[k], i)->log_probability;
        merits[k] = hn_choice_merit(sum, choices[k].tokens_told);
    }
    hn_choices_rank(merits, a->n_each, order);
}

static void whole(hn_answer *a, hn_str *out)
{
    const int32_t n = a->n_best ? a->n_best : a->n_each;
    int32_t order[HN_MOST_CHOICES] = { 0 };
    hn_json_writer w = hn_json_write_to(out);
    hn_openai_begin(&w, a, ID, "text_completion");
    hn_json_key(&w, "choices");
    hn_json_begin_array(&w);
    for (int32_t i = 0; i < a->n_prompts * n; i++) {
        const hn_choice *of = &a->choices[i / n * a->n_each];
        if (i % n == 0)
            rank(a, of, order);
        const hn_choice *c = &of[order[i % n]];
        const hn_piece all = { c->h.text.text, c->h.text.length, 0, c->tokens_told };
        add_choice(&w, c, i, &all, hn_choice_reason(c), a->echoes);
    }
    hn_json_end_array(&w);
    hn_openai_usage(&w, a);
    hn_json_end_object(&w);
    hn_str_add(out, "\n");
}

/* ---- asking ---- */

/* "text", [1, 2], ["text", "text"] or [[1, 2], [3]]. */
static bool is_many(const hn_json *v) { return v->kind == HN_JSON_ARRAY && !hn_is_ids(v); }

static bool take_prompt(hn_answer *a, hn_prompt *to, const hn_json *v, hn_failure *why)
{
    const bool is_special = hn_field_bool(a->body, "special", false);
    if (hn_is_ids(v))
        return hn_answer_take_ids(a, to, v, "prompt", why);
    if (v->kind != HN_JSON_STRING)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "prompt", "prompt: expected texts or arrays of token ids");
    return hn_answer_encode(a, to, hn_json_string(v), hn_json_bytes(v), is_special ? HN_LM_MARKED : HN_LM_PLAIN, why);
}

/* The text that is told of a prompt, and where each id's begins: of ids, what they say without special tokens. */
static hn_status say_prompt(hn_answer *a, hn_prompt *to, const hn_json *given)
{
    to->begins = hn_alloc_array(a->heap, HN_TAG_TEXT, to->n, sizeof *to->begins);
    hn_str said = hn_str_on(a->heap);
    const hn_status status = to->begins ? hn_score_say(a->model->lm, to->ids, to->n, &said, to->begins) : HN_ERR_MEMORY;
    if (given->kind == HN_JSON_STRING)
        hn_str_add_bytes(&to->text, hn_json_string(given), hn_json_bytes(given));
    else
        hn_str_add_bytes(&to->text, said.text, said.length);
    for (size_t i = 0; i < to->n && to->begins; i++) /* a tokenizer may have changed the text */
        to->begins[i] = to->begins[i] < to->text.length ? to->begins[i] : to->text.length;
    hn_str_free(&said);
    return status == HN_OK ? hn_str_status(&to->text) : status;
}

static bool prepare(hn_answer *a, hn_failure *why)
{
    const hn_json *prompt = hn_field_of(a->body, "prompt");
    const hn_json *one = is_many(prompt) ? hn_json_first(prompt) : prompt;
    if (!a->model->batch)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "model", "%s embeds texts: it generates none", a->model->name);
    for (int32_t i = 0; i < a->n_prompts; i++, one = one->next)
        if (!take_prompt(a, &a->prompts[i], one, why))
            return false;
    one = is_many(prompt) ? hn_json_first(prompt) : prompt;
    for (int32_t i = 0; i < a->n_prompts && a->echoes; i++, one = one->next) {
        const hn_status status = a->prompts[i].n ? say_prompt(a, &a->prompts[i], one) : HN_OK;
        if (status != HN_OK)
            return hn_refuse_by(why, status, "echo");
    }
    return true;
}

static const hn_voice voice = {
    .type = "text/event-stream", .ping = ": ping\n\n", .prepare = prepare, .tell = tell, .close = close_choice, .finish = finish,
    .whole = whole, .fail = hn_openai_fail,
};

static bool check_best(const hn_answer *a, int64_t n, int64_t best_of, hn_failure *why)
{
    if (best_of < n || (best_of > n && a->streams))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "best_of", "best_of is %lld: expected at least n, and no more of a stream",
                            (long long)best_of);
    return !a->scores_drawn || (!a->echoes && best_of == n) ||
           hn_refuse_as(why, HN_REFUSED_INVALID, "post_sampling_probs",
                        "post_sampling_probs: a prompt is not drawn, and the best are found by what the model says: no echo or best_of beside it");
}

static bool take(hn_answer *a, hn_failure *why)
{
    enum { USUAL_LENGTH = 16 };
    const hn_json *b = a->body, *prompt = hn_field_of(b, "prompt"), *logprobs = hn_field_of(b, "logprobs");
    if (!prompt || (prompt->kind == HN_JSON_ARRAY && !hn_json_count(prompt)))
        return hn_refuse_as(why, HN_REFUSED_MISSING_FIELD, "prompt", "prompt: expected a text or token ids, found none");
    if (prompt->kind == HN_JSON_ARRAY && hn_json_count(prompt) > HN_MOST_CHOICES && is_many(prompt))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "prompt", "prompt: expected at most %d, found %zu", HN_MOST_CHOICES,
                         hn_json_count(prompt));
    const int64_t n = hn_field_int(b, "n", 1), best_of = hn_field_int(b, "best_of", n);
    a->n_best = best_of > n ? (int32_t)n : 0;
    a->scores = logprobs || a->n_best;
    a->likeliest = (int32_t)hn_field_int(b, "logprobs", 0);
    a->most = hn_field_int(b, "max_tokens", USUAL_LENGTH);
    a->draws_none = hn_field_of(b, "max_tokens") && !a->most;
    a->echoes = hn_field_bool(b, "echo", false);
    return hn_openai_take(a, why) && check_best(a, n, best_of, why) &&
           hn_answer_choices(a, is_many(prompt) ? (int32_t)hn_json_count(prompt) : 1, (int32_t)best_of, why);
}

void hn_api_completions(hn_server *server, hn_http_call *call)
{
    hn_api_answer(server, call, &voice, &hn_fields_completions, take);
}
