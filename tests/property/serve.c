/* The same answer for everybody, over HTTP: what a request is told, whole or as a stream, is what a session of its own says, by text,
 * log-probabilities, likeliest and end: whoever else asks, in whatever pieces prompts enter, with adapters, experts, windows,
 * grammars and keys in q8_0, guessed ahead, put off for lack of room, beside clients that leave. Of some the prompt is told too, each
 * of its tokens given those before it. One adapter's place is taken by
 * another all the time: an answer is of the one that its recipe names, from the first token to the last. It fails unless mixed
 * steps, beginnings, requests that made room, guesses of both kinds and answers of both adapters were all counted. --quick: fewer
 * requests. */
#include "base/json.h"
#include "hone/hone.h"
#include "infer/log_sum.h"
#include "server/answer.h"
#include "server/served_adapters.h"
#include "server/server.h"
#include "tests/harness/check.h"
#include "tests/harness/http_client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_CLIENTS = 24, MOST_REQUESTS = 260, MOST_PROMPT = 150, MOST_TOKENS = 40, CONTEXT = 200, N_LIKELIEST = 2, MOST_CHOICES = 3,
       MOST_TEXT = 4096, MOST_TOLD = MOST_PROMPT + MOST_TOKENS + 1 };
#define MODELS   HN_SOURCE_DIR "/tests/differential/models/"
#define ADAPTERS HN_SOURCE_DIR "/tests/differential/adapters/"

typedef struct said {
    char text[MOST_TEXT];
    size_t bytes;
    double log_probability[MOST_TOLD], likeliest[MOST_TOLD][N_LIKELIEST + 1];
    int n_tokens, n_likeliest[MOST_TOLD], n_drawn;
    char reason[16];
} said;

typedef struct asked {
    int model, adapter; /* -1: none */
    int32_t prompt[MOST_PROMPT];
    int n, most, n_choices;
    hn_lm_sampling sampling;
    hn_lm_bias bias[2];
    const char *stop, *grammar;
    bool streams, goes_on, echoes;
    size_t leaves_after; /* bytes; 0: stays */
    http_reply reply;
} asked;

static const struct {
    const char *name, *path, *cache;
    int64_t piece;
    bool has_adapters, drafts;
    const char *draft; /* a model that guesses: another one with its tokens, or itself */
} kinds[] = {
    { "llama", MODELS "llama", NULL, 64, true, true, NULL },    { "mixtral", MODELS "mixtral", NULL, 1, false, false, MODELS "llama" },
    { "gemma2", MODELS "gemma2", NULL, 63, false, true, NULL }, { "tiny8", "hone:tiny", "q8_0", 65, false, true, NULL },
    { "qwen3", MODELS "qwen3", NULL, 512, false, false, MODELS "qwen3" },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, N_ADAPTERS = 3, SWAPPED = N_ADAPTERS }; /* SWAPPED: by turns the first and the last */
static const double scales[N_ADAPTERS] = { 1, 0.5, -1.5 };

enum { N_GRAMMARS = 4 };
static const char *const grammars[N_GRAMMARS] = { NULL, "root ::= ([a-z ]+ \"1\")+", "root ::= [A-Z] [a-z]* (\" \" [a-z]+)* \".\"",
                                                  "root ::= \"yes\" | \"no\" root" };

static hn_heap heap;
static hn_engine *engine;
static hn_shelf shelf;
static hn_server *server;
static asked *all;
static int n_requests, port;
static _Atomic int next_request;
static char adapter_file[300];
static int n_swapped[N_ADAPTERS], n_replaced_held;

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* ---- what is asked ---- */

/* Four beginnings that requests share, each goes its own way somewhere. */
static void make_request(asked *a, uint64_t *state)
{
    static const int lengths[] = { 1, 2, 17, 63, 64, 65, 100, 127, 128, 129, 150 };
    static const char *const stops[] = { NULL, NULL, "e", "the", "\n" };
    a->model = (int)draw(state, N_KINDS);
    a->adapter = kinds[a->model].has_adapters ? (int)draw(state, N_ADAPTERS + 5) - 1 : -1;
    a->adapter = a->adapter > SWAPPED ? SWAPPED : a->adapter;
    a->n = lengths[draw(state, sizeof lengths / sizeof *lengths)];
    const uint32_t text = draw(state, 4);
    const int own = draw(state, 3) ? a->n - (int)draw(state, a->n < 40 ? (uint32_t)a->n : 40) : a->n;
    for (int i = 0; i < a->n; i++)
        a->prompt[i] = (int32_t)((uint32_t)i % 29 * 7 + text * 31 + (i >= own ? draw(state, 50) : 0) + 10) % 250;
    a->most = 1 + (int)draw(state, MOST_TOKENS);
    a->n_choices = 1 + (draw(state, 4) ? 0 : (int)draw(state, MOST_CHOICES));
    a->stop = stops[draw(state, sizeof stops / sizeof *stops)];
    a->streams = draw(state, 2);
    a->goes_on = draw(state, 2);
    a->leaves_after = draw(state, 6) ? 0 : 1 + draw(state, 2000);
    a->grammar = !strcmp(kinds[a->model].path, "hone:tiny") ? grammars[draw(state, N_GRAMMARS)] : NULL;
    a->goes_on &= !a->grammar;
    a->echoes = a->adapter != SWAPPED && !draw(state, 4);
    a->most = draw(state, 8) ? a->most : 0;
    a->bias[0] = (hn_lm_bias){ sizeof *a->bias, (int32_t)draw(state, 250), 2.5f };
    a->sampling = (hn_lm_sampling){ .size = sizeof a->sampling, .seed = draw(state, 1000), .top_p = 1, .repetition = 1, .bias = a->bias,
                                    .n_bias = draw(state, 2) ? 1 : 0 };
    if (draw(state, 3)) {
        a->sampling.temperature = 0.5f + (float)draw(state, 3) * 0.5f;
        a->sampling.top_k = draw(state, 2) ? 20 : 0;
        a->sampling.top_p = draw(state, 2) ? 0.875f : 1;
    }
    if (!draw(state, 3))
        a->sampling.frequency = 0.25f;
}

static void add_number(hn_json_writer *w, const char *key, double value)
{
    hn_json_key(w, key);
    hn_json_add_double(w, value);
}

static void add_int(hn_json_writer *w, const char *key, int64_t value)
{
    hn_json_key(w, key);
    hn_json_add_int(w, value);
}

static void body_of(const asked *a, hn_str *out)
{
    hn_json_writer w = hn_json_write_to(out);
    char name[64];
    snprintf(name, sizeof name, a->adapter >= 0 ? "%s:a%d" : "%s", kinds[a->model].name, a->adapter);
    hn_json_begin_object(&w);
    hn_json_key(&w, "model");
    hn_json_add_string(&w, name);
    hn_json_key(&w, "prompt");
    hn_json_begin_array(&w);
    for (int i = 0; i < a->n; i++)
        hn_json_add_int(&w, a->prompt[i]);
    hn_json_end_array(&w);
    add_int(&w, "max_tokens", a->most);
    add_int(&w, "n", a->n_choices);
    add_int(&w, "seed", (int64_t)a->sampling.seed);
    add_int(&w, "logprobs", N_LIKELIEST);
    add_int(&w, "top_k", a->sampling.top_k);
    add_number(&w, "temperature", (double)a->sampling.temperature);
    add_number(&w, "top_p", (double)a->sampling.top_p);
    add_number(&w, "frequency_penalty", (double)a->sampling.frequency);
    if (a->sampling.n_bias) {
        char id[16];
        snprintf(id, sizeof id, "%d", a->bias[0].id);
        hn_json_key(&w, "logit_bias");
        hn_json_begin_object(&w);
        add_number(&w, id, (double)a->bias[0].bias);
        hn_json_end_object(&w);
    }
    if (a->stop) {
        hn_json_key(&w, "stop");
        hn_json_add_string(&w, a->stop);
    }
    if (a->grammar) {
        hn_json_key(&w, "grammar");
        hn_json_add_string(&w, a->grammar);
    }
    hn_json_key(&w, "recipe");
    hn_json_add_bool(&w, a->adapter == SWAPPED);
    hn_json_key(&w, "echo");
    hn_json_add_bool(&w, a->echoes);
    hn_json_key(&w, "stream");
    hn_json_add_bool(&w, a->streams);
    hn_json_key(&w, "ignore_eos");
    hn_json_add_bool(&w, a->goes_on);
    hn_json_end_object(&w);
}

static void *client(void *unused)
{
    for (int i; (i = next_request++) < n_requests;) {
        asked *a = &all[i];
        hn_str body = hn_str_on(&heap);
        body_of(a, &body);
        if (a->leaves_after)
            http_leave_after(port, "/v1/completions", body.text, a->leaves_after);
        else
            a->reply = http_ask(port, "POST", "/v1/completions", "", body.text);
        hn_str_free(&body);
    }
    return unused;
}

/* ---- what is told ---- */

static double number_of(const hn_json *v) { return v->kind == HN_JSON_INT ? (double)v->as.integer : v->as.number; }

static void hear(said *s, const hn_json *choice)
{
    const hn_json *text = hn_json_get(choice, "text"), *reason = hn_json_get(choice, "finish_reason"),
                  *logprobs = hn_json_get(choice, "logprobs");
    if (!CHECK(text && reason && logprobs) || !CHECK(s->bytes + text->as.string.bytes < MOST_TEXT))
        return;
    memcpy(s->text + s->bytes, text->as.string.text, text->as.string.bytes);
    s->bytes += text->as.string.bytes;
    if (reason->kind == HN_JSON_STRING)
        snprintf(s->reason, sizeof s->reason, "%s", reason->as.string.text);
    const hn_json *values = hn_json_get(logprobs, "token_logprobs"), *tops = hn_json_get(logprobs, "top_logprobs");
    for (size_t i = 0; i < values->as.children.n && CHECK(s->n_tokens < MOST_TOLD); i++, s->n_tokens++) {
        const hn_json *top = hn_json_at(tops, i);
        if (!s->n_tokens && top->kind == HN_JSON_NULL) { /* of the prompt's first */
            CHECK(hn_json_at(values, i)->kind == HN_JSON_NULL);
            continue;
        }
        s->log_probability[s->n_tokens] = number_of(hn_json_at(values, i));
        for (const hn_json *v = top->as.children.first; v && s->n_likeliest[s->n_tokens] < N_LIKELIEST + 1; v = v->next)
            s->likeliest[s->n_tokens][s->n_likeliest[s->n_tokens]++] = number_of(v);
    }
}

/* *scale: of the adapter that its recipe names, if it has one. */
static void hear_json(said *to, const char *text, size_t bytes, double *scale)
{
    hn_json_text *json = NULL;
    if (!CHECK_OK(hn_json_read(&heap, "reply", text, bytes, &json)))
        return;
    const hn_json *recipe = hn_json_get(hn_json_root(json), "recipe");
    if (recipe)
        *scale = number_of(hn_json_get(recipe, "adapter_scale"));
    const hn_json *choices = hn_json_get(hn_json_root(json), "choices");
    for (const hn_json *c = choices ? choices->as.children.first : NULL; c; c = c->next) {
        const hn_json *index = hn_json_get(c, "index");
        if (CHECK(index && index->kind == HN_JSON_INT && index->as.integer >= 0 && index->as.integer < MOST_CHOICES))
            hear(&to[index->as.integer], c);
    }
    hn_json_free(json);
}

static void hear_reply(asked *a, said *to, double *scale)
{
    char *at = a->reply.body, *event, *last = NULL;
    if (!a->streams) {
        hear_json(to, a->reply.body, a->reply.body_bytes, scale);
        return;
    }
    while (http_next_event(&at, &event)) {
        last = event;
        if (strcmp(event, "[DONE]") != 0)
            hear_json(to, event, strlen(event), scale);
    }
    CHECK(last && !strcmp(last, "[DONE]"));
}

/* ---- what it is alone ---- */

static void score(const hn_lm *lm, const float *logits, said *s, int32_t id)
{
    const int64_t vocab = hn_lm_vocabulary(lm);
    int64_t best, taken[N_LIKELIEST] = { -1, -1 };
    const double sum = hn_log_sum(logits, vocab, &best);
    double *to = s->likeliest[s->n_tokens];
    bool has_own = false;
    int n = 0;
    s->log_probability[s->n_tokens] = (double)logits[id] - sum;
    for (; n < N_LIKELIEST; n++) {
        int64_t at = -1;
        for (int64_t v = 0; v < vocab; v++)
            if (v != taken[0] && (at < 0 || logits[v] > logits[at]))
                at = v;
        taken[n] = at;
        to[n] = (double)logits[at] - sum;
        has_own |= at == id;
    }
    if (!has_own)
        to[n++] = s->log_probability[s->n_tokens];
    s->n_likeliest[s->n_tokens] = n;
}

/* Where each token's text begins and ends: of those that a stop cuts off none is told. None is looked for before `from`. */
static void cut_at_stop(const asked *a, said *s, size_t from, const size_t *begins, const size_t *ends, bool *has_stopped)
{
    const size_t n = a->stop ? strlen(a->stop) : 0;
    size_t at = from;
    while (n && at + n <= s->bytes && memcmp(s->text + at, a->stop, n) != 0) /* a text may hold NULs */
        at++;
    if (!n || at + n > s->bytes)
        return;
    s->bytes = at;
    while (s->n_tokens && begins[s->n_tokens - 1] >= s->bytes && ends[s->n_tokens - 1] > s->bytes)
        s->n_tokens--;
    *has_stopped = true;
}

/* As JSON has it: what is no UTF-8 stands as U+FFFD. */
static void as_json(said *s)
{
    const hn_json raw = { .kind = HN_JSON_STRING, .as.string = { s->text, s->bytes } };
    hn_str written = hn_str_on(&heap);
    hn_json_text *read = NULL;
    hn_json_writer w = hn_json_write_to(&written);
    hn_json_add_scalar(&w, &raw);
    if (CHECK_OK(hn_json_read(&heap, "text", written.text, written.length, &read))) {
        const hn_json *text = hn_json_root(read);
        s->bytes = text->as.string.bytes;
        memcpy(s->text, text->as.string.text, s->bytes + 1);
    }
    hn_json_free(read);
    hn_str_free(&written);
}

/* The prompt's text; a stream tells it by itself. */
static void say_prompt(hn_lm *lm, const asked *a, said *s)
{
    CHECK_OK(hn_lm_decode(lm, a->prompt, (size_t)a->n, 0, s->text, MOST_TEXT, &s->bytes));
    if (a->streams)
        as_json(s);
}

static void feed(hn_lm *lm, hn_lm_session *session, const asked *a, said *s)
{
    if (!a->echoes) {
        CHECK_OK(hn_lm_session_feed(session, a->prompt, (size_t)a->n));
        return;
    }
    for (int i = 0; i < a->n; i++, s->n_tokens++) {
        if (i)
            score(lm, hn_lm_session_logits(session), s, a->prompt[i]);
        CHECK_OK(hn_lm_session_feed(session, &a->prompt[i], 1));
    }
}

static void run_alone(hn_lm *lm, const asked *a, int choice, said *s)
{
    hn_lm_session *session = NULL;
    hn_lm_sampler *sampler = NULL;
    hn_lm_decoder *decoder = NULL;
    size_t begins[MOST_TOLD] = { 0 }, ends[MOST_TOLD] = { 0 };
    bool has_stopped = false, is_done = false;
    const char *text;
    size_t bytes;
    hn_lm_sampling sampling = a->sampling;
    hn_lm_grammar *grammar = NULL;
    sampling.seed = hn_choice_seed(a->sampling.seed, choice);
    if (a->grammar)
        CHECK_OK(hn_lm_grammar_new(&grammar, engine, HN_LM_GBNF, a->grammar, strlen(a->grammar), NULL));
    sampling.grammar = grammar;
    const hn_lm_session_options o = { .size = sizeof o, .context = CONTEXT, .cache = kinds[a->model].cache };
    if (!CHECK_OK(hn_lm_session_new(&session, lm, &o)) || !CHECK_OK(hn_lm_sampler_new(&sampler, lm, &sampling)) ||
        !CHECK_OK(hn_lm_decoder_new(&decoder, lm, 0)))
        return;
    if (a->echoes)
        say_prompt(lm, a, s);
    const size_t from = s->bytes;
    feed(lm, session, a, s);
    for (int i = 0; i < a->most && !has_stopped; i++) {
        int32_t id;
        CHECK_OK(hn_lm_sampler_draw(sampler, session, &id));
        begins[s->n_tokens] = ends[s->n_tokens] = s->bytes;
        if (!a->goes_on && hn_lm_ends(lm, id)) {
            is_done = true;
            if (a->echoes && !a->grammar) { /* the token by which it ends is told */
                score(lm, hn_lm_session_logits(session), s, id);
                s->n_tokens++;
            }
            break;
        }
        score(lm, hn_lm_session_logits(session), s, id);
        s->n_tokens++;
        CHECK_OK(hn_lm_decoder_add(decoder, id, &text, &bytes));
        memcpy(s->text + s->bytes, text, bytes + 1);
        s->bytes += bytes;
        ends[s->n_tokens - 1] = s->bytes;
        cut_at_stop(a, s, from, begins, ends, &has_stopped);
        if (!has_stopped && i + 1 < a->most)
            CHECK_OK(hn_lm_session_feed(session, &id, 1));
    }
    if (!has_stopped && CHECK_OK(hn_lm_decoder_finish(decoder, &text, &bytes))) {
        memcpy(s->text + s->bytes, text, bytes + 1);
        s->bytes += bytes;
        cut_at_stop(a, s, from, begins, ends, &has_stopped);
    }
    as_json(s);
    snprintf(s->reason, sizeof s->reason, is_done || has_stopped ? "stop" : "length");
    hn_lm_decoder_free(decoder);
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
    hn_lm_grammar_free(grammar);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Two tokens of one text are one key of an object: the likelier stands there. */
static bool same_likeliest(double *got, int n_got, double *want, int n_want)
{
    int at = 0;
    qsort(got, (size_t)n_got, sizeof *got, by_value);
    qsort(want, (size_t)n_want, sizeof *want, by_value);
    for (int i = 0; i < n_got; i++) {
        while (at < n_want && want[at] != got[i])
            at++;
        if (at++ >= n_want)
            return false;
    }
    return n_got > 0;
}

static void compare(int request, int choice, said *got, said *want)
{
    CHECK_THAT(got->bytes == want->bytes && !memcmp(got->text, want->text, want->bytes), "request %d, choice %d: \"%.*s\", alone \"%.*s\"",
               request, choice, (int)got->bytes, got->text, (int)want->bytes, want->text);
    CHECK_TEXT(want->reason, got->reason);
    if (!CHECK_THAT(got->n_tokens == want->n_tokens, "request %d, choice %d: %d tokens, alone %d", request, choice, got->n_tokens,
                    want->n_tokens))
        return;
    for (int i = 0; i < want->n_tokens; i++) {
        if (!want->n_likeliest[i]) {
            CHECK(!i && !got->n_likeliest[i]);
            continue;
        }
        CHECK_THAT(got->log_probability[i] == want->log_probability[i], "request %d, choice %d: token %d has %.17g, alone %.17g", request,
                   choice, i, got->log_probability[i], want->log_probability[i]);
        CHECK_THAT(same_likeliest(got->likeliest[i], got->n_likeliest[i], want->likeliest[i], want->n_likeliest[i]),
                   "request %d, choice %d: the likeliest of token %d", request, choice, i);
    }
}

/* ---- all of it ---- */

static bool serve(void)
{
    static hn_lm_draft_options draft = { .size = sizeof draft, .ngram = 2, .most = 3 };
    hn_shelf_open(&shelf, &heap, engine, 0);
    for (int i = 0; i < N_KINDS; i++) {
        hn_served *m;
        const hn_served_options o = {
            .path = kinds[i].path, .model = { .size = sizeof o.model },
            .batch = { .size = sizeof o.batch, .sequences = 8, .context = CONTEXT, .tokens = 160, .rows = 16, .blocks = 6,
                       .cache = kinds[i].cache },
            .scheduler = { .size = sizeof o.scheduler, .running = 6, .piece = kinds[i].piece, .draft = kinds[i].drafts ? &draft : NULL },
            .draft = kinds[i].draft, .draft_model = { .size = sizeof o.draft_model },
            .adapters = kinds[i].has_adapters ? N_ADAPTERS + 3 : 0, /* the swapped one, one that is replaced, and one that comes */
        };
        if (!CHECK_OK(hn_shelf_add(&shelf, kinds[i].name, &o, &m)))
            return false;
        for (int k = 0; k <= SWAPPED && kinds[i].has_adapters; k++) {
            char word[400];
            snprintf(word, sizeof word, "%s:a%d=%s:%g", kinds[i].name, k, adapter_file, scales[k % N_ADAPTERS]);
            CHECK_OK(hn_shelf_add_adapter(&shelf, word));
        }
    }
    const hn_server_options o = { .http = { .port = 0 } };
    if (!CHECK_OK(hn_server_open(&server, &shelf, &o)))
        return false;
    port = hn_server_port(server);
    bool is_done = false;
    hn_status status = HN_OK;
    while (!is_done && (status = hn_server_loading(server, &is_done)) == HN_OK)
        hn_os_thread_rest(10);
    return CHECK_OK(status);
}

/* Somebody has one that is replaced. */
static bool is_held(void)
{
    bool is_one = false;
    hn_os_mutex_lock(&shelf.lock);
    for (const hn_served_adapter *a = shelf.models[0]->adapters; a; a = a->next)
        is_one |= !a->is_listed;
    hn_os_mutex_unlock(&shelf.lock);
    return is_one;
}

/* As long as somebody asks: when nobody has any more the one before the last, the last is replaced. */
static void swap_adapters(void)
{
    char name[8];
    snprintf(name, sizeof name, "a%d", SWAPPED);
    for (int n = 1; next_request < n_requests; n++) {
        const hn_adapter_order o = { .model = kinds[0].name, .name = name, .path = adapter_file, .scale = scales[n % 2 ? N_ADAPTERS - 1 : 0] };
        hn_failure why = { .kind = HN_REFUSED_NOT };
        if (is_held())
            n--;
        else if (CHECK_THAT(hn_shelf_take_adapter(&shelf, &o, &why), "%s", why.message))
            n_replaced_held += is_held();
        hn_os_thread_rest(2);
    }
}

static void ask_all(void)
{
    pthread_t threads[N_CLIENTS];
    for (int i = 0; i < N_CLIENTS; i++)
        pthread_create(&threads[i], NULL, client, NULL);
    swap_adapters();
    for (int i = 0; i < N_CLIENTS; i++)
        pthread_join(threads[i], NULL);
}

/* Of its model, with its adapter: of the swapped one, that of its scale. */
static hn_lm *alone_for(hn_lm *lm[N_KINDS][N_ADAPTERS + 1], const asked *a, double scale)
{
    int adapter = a->adapter;
    if (adapter == SWAPPED) {
        adapter = scale == scales[0] ? 0 : N_ADAPTERS - 1;
        CHECK(scale == scales[adapter]);
        n_swapped[adapter]++;
    }
    hn_lm **of = &lm[a->model][adapter + 1];
    if (!*of && CHECK_OK(hn_lm_open(of, engine, kinds[a->model].path, NULL)) && adapter >= 0) {
        const hn_lm_adapter_options o = { .size = sizeof o, .scale = scales[adapter] };
        CHECK_OK(hn_lm_add_adapter(*of, adapter_file, &o));
    }
    return *of;
}

static void judge(void)
{
    static said got[MOST_CHOICES], want;
    hn_lm *lm[N_KINDS][N_ADAPTERS + 1] = { { NULL } };
    for (int i = 0; i < n_requests; i++) {
        asked *a = &all[i];
        if (a->leaves_after)
            continue;
        if (!CHECK_THAT(a->reply.status == 200 && a->reply.is_whole, "request %d: status %d, %s", i, a->reply.status,
                        a->reply.body ? a->reply.body : "no reply"))
            continue;
        double scale = 0;
        memset(got, 0, sizeof got);
        hear_reply(a, got, &scale);
        hn_lm *of = alone_for(lm, a, scale);
        for (int k = 0; k < a->n_choices; k++) {
            memset(&want, 0, sizeof want);
            run_alone(of, a, k, &want);
            compare(i, k, &got[k], &want);
        }
    }
    fprintf(stderr, "%d and %d answers of the adapters that were swapped, %d times while somebody had it\n", n_swapped[0],
            n_swapped[N_ADAPTERS - 1], n_replaced_held);
    CHECK(n_replaced_held > 0 && n_swapped[0] + n_swapped[N_ADAPTERS - 1] > 0 &&
          (check_flag("--quick") || (n_swapped[0] > 0 && n_swapped[N_ADAPTERS - 1] > 0)));
    for (int i = 0; i < N_KINDS; i++)
        for (int k = 0; k <= N_ADAPTERS; k++)
            hn_lm_close(lm[i][k]);
}

static void check_counts(void)
{
    hn_lm_scheduler_counts all_of = { 0 }, by_model = { 0 };
    for (int i = 0; i < N_KINDS; i++) {
        hn_lm_scheduler_counts c;
        hn_served_now(shelf.models[i], &c);
        CHECK_THAT(!kinds[i].draft || c.accepted + c.rejected > 0, "%s: its draft model guessed nothing", kinds[i].name);
        by_model.accepted += kinds[i].draft ? c.accepted : 0;
        by_model.rejected += kinds[i].draft ? c.rejected : 0;
        all_of.mixed += c.mixed;
        all_of.begun_known += c.begun_known;
        all_of.returned += c.returned;
        all_of.accepted += c.accepted;
        all_of.rejected += c.rejected;
    }
    fprintf(stderr, "%lld guesses of draft models right and %lld wrong\n", (long long)by_model.accepted, (long long)by_model.rejected);
    fprintf(stderr, "%lld mixed steps, %lld beginnings, %lld made room, %lld guesses right and %lld wrong\n", (long long)all_of.mixed,
            (long long)all_of.begun_known, (long long)all_of.returned, (long long)all_of.accepted, (long long)all_of.rejected);
    CHECK(by_model.accepted > 0 && by_model.rejected > 0 && all_of.mixed > 0 && all_of.begun_known > 0 && all_of.returned > 0);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/hone-serve-XXXXXX";
    check_open(argc, argv);
    uint64_t state = check_seed();
    n_requests = check_flag("--quick") ? 60 : MOST_REQUESTS;
    all = calloc((size_t)n_requests, sizeof *all);
    hn_heap_init(&heap, NULL);
    if (!CHECK(all && mkdtemp(dir)) || !CHECK_OK(hn_engine_new(&engine, NULL)))
        return check_close();
    snprintf(adapter_file, sizeof adapter_file, "%s/adapter.gguf", dir);
    CHECK_OK(hn_lm_import_adapter(engine, ADAPTERS "llama", MODELS "llama", adapter_file, NULL));
    for (int i = 0; i < n_requests; i++)
        make_request(&all[i], &state);
    if (serve()) {
        ask_all();
        check_counts();
        judge();
    }
    hn_server_close(server);
    hn_shelf_close(&shelf);
    hn_engine_free(engine);
    for (int i = 0; i < n_requests; i++)
        http_reply_free(&all[i].reply);
    free(all);
    unlink(adapter_file);
    rmdir(dir);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
