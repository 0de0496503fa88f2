/* An answer belongs to one thread at a time, and hands itself on: nothing of it is locked.
 *
 *     HTTP's thread    begin     the body is checked, a task is given to the clerk
 *     clerk            prepare   the model is there, ids are made; a task is given to the runner
 *     runner           run       each choice is asked of the scheduler; then on_token, on_end, in its steps
 *     runner           settle    when the scheduler has none of its choices any more: the reply, and all is freed
 *
 * A failure is kept and the choices are cancelled; it is told when the last has ended, for until then the
 * scheduler has pointers here. A client that is gone is such a failure. Before a stream says its end the model is
 * let go of, since who reads it may ask at once for another. */
#include "server/answer.h"

#include "base/os/clock.h"
#include "base/os/process.h"
#include "server/format.h"
#include "server/tools.h"

#include <stdio.h>
#include <string.h>

/* ---- making and freeing ---- */

/* In room of its own, for there may be no other: a sentence that is too long for it is its code. */
static hn_str say_failure(hn_fail_form *fail, const hn_failure *why, bool in_stream, char room[HN_FAILURE_ROOM])
{
    hn_failure shorter;
    hn_str out = hn_str_within(room, HN_FAILURE_ROOM);
    fail(why, in_stream, &out);
    if (out.status == HN_OK)
        return out;
    hn_refuse_as(&shorter, why->kind, NULL, "%s", hn_failure_code(why));
    out = hn_str_within(room, HN_FAILURE_ROOM);
    fail(&shorter, in_stream, &out);
    return out;
}

void hn_call_refuse(hn_http_call *call, hn_fail_form *fail, const hn_failure *why)
{
    char room[HN_FAILURE_ROOM];
    const hn_str out = say_failure(fail, why, false, room);
    if (hn_failure_http(why) == 401)
        hn_http_add_field(call, "WWW-Authenticate", "Bearer");
    if (why->kind == HN_REFUSED_LOADING || why->kind == HN_REFUSED_BUSY)
        hn_http_add_field(call, "Retry-After", "1");
    hn_http_reply(call, hn_failure_http(why), "application/json", out.text, out.length);
}

/* Not to be guessed, and never twice in a run: the number goes in too. */
static void make_id(char *to, size_t room)
{
    static _Atomic uint64_t number;
    uint64_t drawn = 0;
    if (!hn_os_random(&drawn))
        drawn = (uint64_t)hn_clock_ns();
    snprintf(to, room, "%016llx%06llx", (unsigned long long)drawn, (unsigned long long)(++number & 0xffffff));
}

hn_answer *hn_answer_new(hn_heap *heap, hn_http_call *call, const hn_voice *voice)
{
    hn_answer *a = hn_alloc(heap, HN_TAG_STATE, sizeof *a);
    if (!a) {
        hn_failure why;
        hn_refuse_by(&why, HN_ERR_MEMORY, NULL);
        hn_call_refuse(call, voice->fail, &why);
        return NULL;
    }
    a->heap = heap;
    a->call = call;
    a->voice = voice;
    a->grammar_text = hn_str_on(heap);
    a->tools = hn_str_on(heap);
    a->allowed = hn_str_on(heap);
    a->items = hn_str_on(heap);
    a->created = hn_clock_wall_ns() / 1000000000;
    a->begun_ns = a->first_ns = hn_clock_ns();
    make_id(a->id, sizeof a->id);
    return a;
}

bool hn_answer_choices(hn_answer *a, int32_t n_prompts, int32_t n_each, hn_failure *why)
{
    const int64_t n = (int64_t)n_prompts * n_each;
    if (n > HN_MOST_CHOICES)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "n", "expected at most %d choices in all, found %lld", HN_MOST_CHOICES, (long long)n);
    a->prompts = hn_alloc_array(a->heap, HN_TAG_TEXT, (size_t)n_prompts, sizeof *a->prompts);
    a->choices = hn_alloc_array(a->heap, HN_TAG_TEXT, (size_t)n, sizeof *a->choices);
    if (!a->prompts || !a->choices)
        return hn_refuse_by(why, HN_ERR_MEMORY, NULL);
    a->n_prompts = n_prompts;
    a->n_each = n_each;
    a->n_choices = (int32_t)n;
    for (int32_t i = 0; i < n_prompts; i++)
        a->prompts[i].text = hn_str_on(a->heap);
    for (int32_t i = 0; i < a->n_choices; i++)
        a->choices[i] = (hn_choice){ .answer = a, .prompt = &a->prompts[i / n_each], .index = i, .number = -1 };
    return true;
}

bool hn_answer_translate(hn_answer *a, const hn_str *body, hn_failure *why)
{
    hn_json_text *text = NULL;
    hn_status status = hn_str_status(body);
    if (status == HN_OK)
        status = hn_json_read(a->heap, "the body", body->text, body->length, &text);
    if (status != HN_OK)
        return hn_refuse_by(why, status, NULL);
    if (a->asked_text)
        hn_json_free(a->text);
    else {
        a->asked_text = a->text;
        a->asked = a->body;
    }
    a->text = text;
    a->body = hn_json_root(text);
    return true;
}

static void free_choice(hn_choice *c)
{
    hn_hearing_close(&c->h);
    hn_told_free(&c->tokens);
    hn_told_free(&c->scored);
}

static void free_answer(hn_answer *a)
{
    for (int32_t i = 0; i < a->n_prompts * a->n_each; i++)
        free_choice(&a->choices[i]);
    for (int32_t i = 0; i < a->n_prompts; i++) {
        hn_free(a->heap, a->prompts[i].ids);
        hn_free(a->heap, a->prompts[i].begins);
        hn_str_free(&a->prompts[i].text);
    }
    hn_lm_grammar_free(a->grammar);
    hn_str_free(&a->grammar_text);
    hn_str_free(&a->tools);
    hn_str_free(&a->allowed);
    hn_str_free(&a->items);
    hn_free(a->heap, a->choices);
    hn_free(a->heap, a->prompts);
    if (a->model) {
        hn_adapter_let_go(a->model, a->adapter);
        hn_served_let_go(a->model);
    }
    hn_json_free(a->text);
    hn_json_free(a->asked_text);
    hn_free(a->heap, a->bias);
    hn_free(a->heap, a);
}

/* Who is told the end may ask for another model at once: by then this one is not held any more. */
static void end_stream(hn_answer *a, const hn_str *last)
{
    hn_http_call *call = a->call;
    free_answer(a);
    hn_http_write(call, last->text, last->length);
    hn_http_end(call);
}

static void fail_stream(hn_answer *a)
{
    char room[HN_FAILURE_ROOM];
    const hn_failure failure = a->failure;
    hn_str out = hn_str_on(a->heap);
    if (a->voice->fail_stream)
        a->voice->fail_stream(a, &out);
    if (!a->voice->fail_stream || out.status != HN_OK) {
        hn_str_free(&out);
        out = say_failure(a->voice->fail, &failure, true, room);
    }
    end_stream(a, &out);
    hn_str_free(&out);
}

void hn_answer_fail(hn_answer *a)
{
    const hn_failure failure = a->failure;
    hn_fail_form *fail = a->voice->fail;
    hn_http_call *call = a->call;
    if (a->has_begun) {
        fail_stream(a);
        return;
    }
    free_answer(a);
    hn_call_refuse(call, fail, &failure);
}

void hn_answer_reply(hn_answer *a, const hn_str *json)
{
    hn_http_call *call = a->call;
    free_answer(a);
    hn_http_reply(call, 200, "application/json", json->text, json->length);
}

/* ---- text ---- */

const hn_told_token *hn_choice_token(const hn_choice *c, size_t i) { return hn_told_at(&c->tokens, i); }

const hn_told_token *hn_choice_score(const hn_choice *c, size_t i) { return i ? hn_told_at(&c->scored, i - 1) : NULL; }

static hn_status keep_token(hn_choice *c, const hn_lm_drawn *drawn, size_t begin)
{
    const hn_told_token t = { drawn->id, drawn->n_likeliest, drawn->log_probability, begin, c->h.uncut };
    return hn_told_add(&c->tokens, &t, drawn->likeliest);
}

static void cancel_choices(hn_answer *a)
{
    for (int32_t i = 0; i < a->n_choices; i++)
        if (a->choices[i].number >= 0 && !a->choices[i].has_ended)
            hn_lm_scheduler_cancel(a->model->scheduler, a->choices[i].number);
}

/* The next of a stream, whole; after one that is lost nothing comes but why. Frees it. */
static void say(hn_answer *a, hn_str *out)
{
    if (a->failure.kind == HN_REFUSED_NOT && hn_str_status(out) != HN_OK) {
        hn_refuse_by(&a->failure, HN_ERR_MEMORY, NULL);
        cancel_choices(a);
    } else if (a->failure.kind == HN_REFUSED_NOT)
        hn_http_write(a->call, out->text, out->length);
    hn_str_free(out);
}

/* Tells what is known of the text up to `to`, and the tokens that lie within. */
static void tell(hn_choice *c, size_t to, bool ends)
{
    hn_answer *a = c->answer;
    hn_piece piece = { c->h.text.text + c->h.told, to - c->h.told, c->tokens_told, 0 };
    size_t i = c->tokens_told;
    while (i < c->tokens.n && (hn_choice_token(c, i)->end <= to || (ends && hn_choice_token(c, i)->begin < to)))
        i++;
    piece.n_tokens = i - c->tokens_told;
    c->h.told = to;
    c->tokens_told = i;
    if (!a->streams || (!piece.bytes && !piece.n_tokens))
        return;
    hn_str out = hn_str_on(a->heap);
    a->voice->tell(a, c, &piece, &out);
    say(a, &out);
}

static void on_text(void *context, size_t to) { tell(context, to, false); }

static void on_thought(void *context, const char *text, size_t bytes)
{
    hn_choice *c = context;
    hn_answer *a = c->answer;
    if (!a->streams || !a->voice->think)
        return;
    hn_str out = hn_str_on(a->heap);
    a->voice->think(a, c, text, bytes, &out);
    say(a, &out);
}

static void on_call(void *context, const hn_lm_call *call)
{
    hn_choice *c = context;
    hn_answer *a = c->answer;
    if (!a->streams || !a->voice->call)
        return;
    hn_str out = hn_str_on(a->heap);
    a->voice->call(a, c, call, &out);
    say(a, &out);
}

static hn_status begin_hearing(hn_choice *c)
{
    hn_answer *a = c->answer;
    const hn_hearer hearer = { on_text, on_thought, on_call, c };
    if (!a->is_chat)
        return hn_hearing_open_text(&c->h, a->heap, a->model->lm, &a->stops, &hearer);
    const hn_heard_chat chat = { c->prompt->ids, c->prompt->n, a->tools.length ? a->tools.text : NULL, a->model->o.calls };
    return hn_hearing_open_chat(&c->h, a->heap, a->model->lm, &a->stops, &hearer, &chat);
}

/* Who reads scores counts tokens: the one by which the model ends is one. */
static bool says_end(const hn_answer *a) { return a->echoes && a->scores && !a->grammar; }

static hn_status hear(hn_choice *c, const hn_lm_drawn *drawn)
{
    const size_t begin = c->h.text.length;
    size_t to;
    if (says_end(c->answer) && !c->answer->goes_on && hn_lm_ends(c->answer->model->lm, drawn->id)) {
        c->has_said_end = true;
        return keep_token(c, drawn, begin);
    }
    HN_TRY(hn_hearing_add(&c->h, drawn->id, &to));
    if (c->answer->scores)
        HN_TRY(keep_token(c, drawn, begin));
    c->n_drawn++;
    tell(c, to, c->h.stopped_by != NULL);
    return HN_OK;
}

/* ---- running ---- */

static void leave(hn_answer *a)
{
    if (a->before)
        a->before->next = a->next;
    else if (a->model->running == a)
        a->model->running = a->next;
    if (a->next)
        a->next->before = a->before;
    a->next = a->before = NULL;
}

static void finish(hn_answer *a)
{
    hn_str out = hn_str_on(a->heap);
    (a->streams ? a->voice->finish : a->voice->whole)(a, &out);
    if (hn_str_status(&out) != HN_OK) {
        hn_refuse_by(&a->failure, HN_ERR_MEMORY, NULL);
        hn_str_free(&out);
        hn_answer_fail(a);
        return;
    }
    if (a->streams)
        end_stream(a, &out);
    else
        hn_answer_reply(a, &out);
    hn_str_free(&out);
}

/* All that the scheduler had of it has ended. */
static void settle(hn_answer *a)
{
    leave(a);
    if (a->failure.kind != HN_REFUSED_NOT)
        hn_answer_fail(a);
    else if (a->is_gone) {
        hn_refuse_as(&a->failure, HN_REFUSED_INTERNAL, NULL, "the client has left");
        hn_answer_fail(a);
    } else
        finish(a);
}

/* Whether its time is not over; from the request on, waiting and loading too. */
static bool is_in_time(hn_answer *a, int64_t now)
{
    const hn_served_options *o = &a->model->o;
    const int64_t ms = (now - a->begun_ns) / 1000000;
    if (o->answer_ms && ms >= o->answer_ms)
        return hn_refuse_as(&a->failure, HN_REFUSED_TOO_LATE, NULL, "the answer was not whole in %lld ms", (long long)o->answer_ms);
    return a->has_first || !o->first_ms || ms < o->first_ms ||
           hn_refuse_as(&a->failure, HN_REFUSED_TOO_LATE, NULL, "the answer did not begin in %lld ms", (long long)o->first_ms);
}

static void on_token(void *context, const hn_lm_drawn *drawn)
{
    hn_choice *c = context;
    hn_answer *a = c->answer;
    if (c->h.stopped_by || c->has_said_end || a->failure.kind != HN_REFUSED_NOT || a->is_gone)
        return;
    if (!drawn->number)
        a->first_ns = hn_clock_ns();
    if (!is_in_time(a, hn_clock_ns())) {
        cancel_choices(a);
        return;
    }
    a->has_first = true;
    const hn_status status = hear(c, drawn);
    if (status != HN_OK) {
        hn_refuse_by(&a->failure, status, NULL);
        cancel_choices(a);
    } else if (c->h.stopped_by || c->has_said_end)
        hn_lm_scheduler_cancel(a->model->scheduler, c->number);
}

static void on_scored(void *context, const hn_lm_drawn *id)
{
    hn_choice *c = context;
    c->answer->has_first = true;
    const hn_told_token t = { .id = id->id, .n_likeliest = id->n_likeliest, .log_probability = id->log_probability };
    hn_told_add(&c->scored, &t, id->likeliest); /* there is room */
}

/* What was held back is told, and how it ended. */
static hn_status close_choice(hn_choice *c)
{
    hn_answer *a = c->answer;
    if (!c->h.stopped_by) {
        HN_TRY(hn_hearing_finish(&c->h));
        tell(c, c->h.text.length, true);
    }
    if (a->streams && a->voice->close) {
        hn_str out = hn_str_on(a->heap);
        a->voice->close(a, c, &out);
        say(a, &out);
    }
    return HN_OK;
}

static void on_end(void *context, const hn_lm_ended *ended)
{
    hn_choice *c = context;
    hn_answer *a = c->answer;
    c->has_ended = true;
    c->end = ended->end;
    c->n_reused = ended->n_reused;
    if (ended->status == HN_ERR_IO)
        hn_served_is_broken(a->model);
    if (ended->status != HN_OK && a->failure.kind == HN_REFUSED_NOT) {
        hn_refuse_by(&a->failure, ended->status, NULL);
        cancel_choices(a);
    } else if (a->failure.kind == HN_REFUSED_NOT && !a->is_gone) {
        const hn_status status = close_choice(c);
        if (status != HN_OK) {
            hn_refuse_by(&a->failure, status, NULL);
            cancel_choices(a);
        }
    }
    if (++a->n_ended == a->n_choices)
        settle(a);
}

static hn_status ask(hn_answer *a, hn_choice *c)
{
    hn_lm_sampling sampling = a->sampling;
    const bool is_scored = a->echoes && a->scores;
    c->tokens = c->scored = (hn_told_tokens){ .heap = a->heap, .likeliest = a->likeliest };
    if (is_scored && hn_told_reserve(&c->scored, c->prompt->n) != HN_OK)
        return HN_ERR_MEMORY;
    sampling.seed = hn_choice_seed(a->sampling.seed, c->index % a->n_each);
    sampling.bias = a->bias;
    HN_TRY(begin_hearing(c));
    if (a->adapter)
        HN_TRY(hn_adapter_ready(a->model, a->adapter));
    const hn_lm_request r = {
        .size = sizeof r, .ids = c->prompt->ids, .n = c->prompt->n, .sampling = &sampling,
        .adapter = a->adapter ? &a->adapter->number : NULL, .owner = a->owner, .asker = a->asker, .most = a->most,
        .goes_on = a->goes_on || says_end(a), .grammar = a->grammar, .scores = a->scores, .likeliest = a->likeliest,
        .scores_drawn = a->scores_drawn,
        .on_scored = is_scored ? on_scored : NULL, .draws_none = a->draws_none, .on_token = on_token, .on_end = on_end, .context = c,
    };
    return hn_lm_scheduler_ask(a->model->scheduler, &r, &c->number);
}

static void begin_stream(hn_answer *a)
{
    hn_str out = hn_str_on(a->heap);
    if (a->voice->begin)
        a->voice->begin(a, &out);
    if (hn_str_status(&out) == HN_OK) {
        hn_http_begin(a->call, 200, a->voice->type);
        a->has_begun = true;
        if (a->voice->ping)
            hn_http_ping_with(a->call, a->voice->ping, strlen(a->voice->ping), 15);
    }
    say(a, &out);
}

/* On the runner. A choice that cannot be asked ends those that were. */
static void run(hn_task *task)
{
    hn_answer *a = (hn_answer *)(void *)task;
    hn_served *m = a->model;
    hn_status status = HN_OK;
    int32_t i = 0;
    for (; i < a->n_choices && status == HN_OK; i++)
        status = ask(a, &a->choices[i]);
    if (status != HN_OK) {
        hn_refuse_by(&a->failure, status, strncmp(hn_error_message(), "the grammar ", 12) != 0 ? NULL : a->grammar_of);
        a->n_choices = i - 1; /* that were asked */
        cancel_choices(a);
        if (!a->n_choices) {
            hn_answer_fail(a);
            return;
        }
    } else if (a->streams)
        begin_stream(a);
    a->next = m->running;
    if (m->running)
        m->running->before = a;
    m->running = a;
}

/* To another thread, unless it has failed. */
static void give(hn_answer *a, hn_worker *to, void (*what)(hn_task *task))
{
    if (a->failure.kind != HN_REFUSED_NOT) {
        hn_answer_fail(a);
        return;
    }
    a->task.run = what;
    hn_worker_give(to, &a->task);
}

/* Whether somebody still waits for it; after each time that it waited itself. */
static bool is_wanted(hn_answer *a)
{
    if (hn_http_is_gone(a->call))
        return hn_refuse_as(&a->failure, HN_REFUSED_INTERNAL, NULL, "the client has left");
    return is_in_time(a, hn_clock_ns());
}

/* On the smith. */
static void make_rules(hn_task *task)
{
    hn_answer *a = (hn_answer *)(void *)task;
    if (is_wanted(a) && hn_tools_rule(a, &a->failure))
        hn_format_make(a, &a->failure);
    give(a, &a->model->runner, run);
}

/* Whether each prompt has ids, and leaves room for an answer. */
static bool fits(const hn_answer *a, hn_failure *why)
{
    const char *param = a->is_chat ? "messages" : "prompt";
    const int64_t has = hn_lm_batch_context(a->model->batch), context = a->context ? a->context : has;
    for (int32_t i = 0; i < a->n_prompts; i++) {
        if (!a->prompts[i].n)
            return hn_refuse_as(why, HN_REFUSED_INVALID, param, "%s: the prompt is empty", param);
        if ((int64_t)a->prompts[i].n >= context)
            return hn_refuse_as(why, HN_REFUSED_TOO_LONG, param,
                             "prompt is too long: %zu tokens, and %s maximum context length is %lld tokens, its answer too", a->prompts[i].n,
                             a->context ? "the request's" : "this model's", (long long)context);
    }
    return true;
}

/* On the clerk. */
static void prepare(hn_task *task)
{
    hn_answer *a = (hn_answer *)(void *)task;
    hn_served *m = a->model;
    if (is_wanted(a) && hn_served_load(m, &a->failure) && a->voice->prepare(a, &a->failure))
        fits(a, &a->failure);
    if (a->grammar_text.length || a->tools.length || a->most_thought)
        give(a, &m->smith, make_rules);
    else
        give(a, &m->runner, run);
}

void hn_answer_begin(hn_answer *a)
{
    a->task.run = prepare;
    hn_worker_give(&a->model->clerk, &a->task);
}

void hn_answers_look(hn_served *m)
{
    const int64_t now = hn_clock_ns();
    for (hn_answer *a = m->running; a; a = a->next) {
        const bool is_well = a->failure.kind == HN_REFUSED_NOT && !a->is_gone;
        if (is_well && hn_http_is_gone(a->call))
            a->is_gone = true;
        if (is_well && (a->is_gone || !is_in_time(a, now)))
            cancel_choices(a);
    }
}

void hn_answers_end(hn_served *m)
{
    for (hn_answer *a = m->running; a; a = a->next)
        if (a->failure.kind == HN_REFUSED_NOT) {
            hn_refuse_as(&a->failure, HN_REFUSED_ENDING, NULL, "the server is ending");
            cancel_choices(a);
        }
}
