/* One session for each way of guessing, which say all prompts of a kind in turn: round after round, the way without guesses first.
 * What is timed is what comes after a prompt was read. */
#include "cli/bench_drafts.h"

#include "base/file.h"
#include "base/os/clock.h"
#include "hone/draft.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PROMPTS = 64, MOST_KINDS = 16, MOST_IDS = 4096, MOST_REPEATS = 99, MOST_BYTES = 1 << 24 };
enum { PLAIN, BY_NGRAM, BY_MODEL, BY_BOTH, N_WAYS };
enum { N_HEATS = 2 };

static const double heats[N_HEATS] = { 0, 0.8 };
static const char *const ways[N_WAYS] = { "none", "n-grams", "model", "both" };

typedef struct prompt {
    char kind[32];
    int32_t *ids;
    size_t n;
    int32_t *said[N_HEATS]; /* without guesses; NULL: not said yet */
    int64_t n_said[N_HEATS];
} prompt;

typedef struct bench {
    hn_heap *heap;
    const hn_bench_model_args *args;
    const hn_draft_args *draft;
    hn_opened opened;
    hn_lm *model; /* that guesses; NULL: none */
    hn_lm_session *sessions[N_HEATS][N_WAYS]; /* NULL: not a way here */
    prompt prompts[MOST_PROMPTS];
    int n_prompts;
    int32_t *said; /* [generate] */
    double seconds[MOST_REPEATS];
} bench;

/* What came of a kind's prompts, said one way. */
typedef struct result {
    int64_t tokens, accepted, rejected;
    double seconds; /* the median of rounds */
} result;

/* ---- prompts ---- */

static hn_status encode_chat(bench *b, const hn_json *messages, prompt *p)
{
    hn_str json = hn_str_on(b->heap);
    hn_json_writer w = hn_json_write_to(&json);
    hn_status status = HN_OK;
    hn_json_begin_array(&w);
    for (const hn_json *m = hn_json_first(messages); m && status == HN_OK; m = m->next) {
        const char *role, *content;
        status = hn_json_want_string(hn_json_get(m, "role"), "role", &role);
        if (status == HN_OK)
            status = hn_json_want_string(hn_json_get(m, "content"), "content", &content);
        if (status != HN_OK)
            break;
        hn_json_begin_object(&w);
        hn_json_key(&w, "role");
        hn_json_add_string(&w, role);
        hn_json_key(&w, "content");
        hn_json_add_string(&w, content);
        hn_json_end_object(&w);
    }
    hn_json_end_array(&w);
    if (status == HN_OK)
        status = hn_str_status(&json);
    if (status == HN_OK)
        status = hn_lm_render_ids(b->opened.lm, json.text, NULL, p->ids, MOST_IDS, &p->n);
    hn_str_free(&json);
    return status;
}

static hn_status add_prompt(bench *b, const hn_json *line)
{
    const char *kind, *plain;
    const hn_json *messages = hn_json_get(line, "messages");
    HN_REQUIRE(b->n_prompts < MOST_PROMPTS, HN_ERR_FORMAT, "more than %d prompts", MOST_PROMPTS);
    prompt *p = &b->prompts[b->n_prompts++];
    HN_TRY(hn_json_want_string(hn_json_get(line, "kind"), "kind", &kind));
    HN_REQUIRE(*kind && strlen(kind) < sizeof p->kind, HN_ERR_FORMAT, "kind: expected 1 to %zu bytes, found '%s'",
               sizeof p->kind - 1, kind);
    memcpy(p->kind, kind, strlen(kind) + 1);
    p->ids = hn_alloc_array(b->heap, HN_TAG_TEXT, MOST_IDS, sizeof *p->ids);
    if (!p->ids)
        return HN_ERR_MEMORY;
    if (messages && messages->kind == HN_JSON_ARRAY) {
        HN_TRY(encode_chat(b, messages, p));
    } else {
        HN_TRY(hn_json_want_string(hn_json_get(line, "prompt"), "prompt", &plain));
        HN_TRY(hn_lm_encode(b->opened.lm, plain, strlen(plain), HN_LM_PLAIN, p->ids, MOST_IDS, &p->n));
    }
    HN_REQUIRE(p->n, HN_ERR_FORMAT, "a prompt without tokens");
    return HN_OK;
}

static hn_status add_line(bench *b, const char *path, const char *line, size_t bytes)
{
    hn_json_text *json;
    HN_TRY(hn_json_read(b->heap, path, line, bytes, &json));
    const hn_status status = add_prompt(b, hn_json_root(json));
    hn_json_free(json);
    return status;
}

static hn_status read_prompts(bench *b, const char *path)
{
    void *text;
    size_t bytes;
    hn_status status = HN_OK;
    HN_TRY(hn_file_read(b->heap, path, MOST_BYTES, &text, &bytes));
    for (const char *at = text, *end = at + bytes; at < end && status == HN_OK;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((stop ? stop : end) - at);
        if (n)
            status = add_line(b, path, at, n);
        at += n + 1;
    }
    hn_free(b->heap, text);
    if (status == HN_OK && !b->n_prompts)
        status = hn_fail(HN_ERR_FORMAT, "no prompts");
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", path);
}

/* ---- sessions ---- */

static hn_lm_sampling sampling_at(int heat)
{
    hn_lm_sampling s = { .size = sizeof s };
    if (heats[heat] > 0 && hn_lm_sampling_default(&s, sizeof s) == HN_OK)
        s.temperature = (float)heats[heat];
    return s;
}

static bool is_way(const bench *b, int way)
{
    const bool has_ngrams = b->draft->ngram || !b->draft->model;
    return way == PLAIN || (way == BY_NGRAM && has_ngrams) || (way == BY_MODEL && b->model) ||
           (way == BY_BOTH && b->model && has_ngrams);
}

static hn_status open_session(bench *b, int heat, int way)
{
    const hn_lm_sampling sampling = sampling_at(heat);
    const hn_lm_session_options o = { .size = sizeof o, .cache = b->args->cache, .mapped = b->args->mapped };
    const bool by_model = way == BY_MODEL || way == BY_BOTH;
    const hn_lm_draft_options draft = { .size = sizeof draft, .most = b->draft->most,
                                        .ngram = way == BY_MODEL ? 0 : b->draft->ngram ? b->draft->ngram : 4,
                                        .model = by_model ? b->model : NULL, .sampling = by_model ? &sampling : NULL };
    hn_lm_session **session = &b->sessions[heat][way];
    if (!is_way(b, way))
        return HN_OK;
    return way == PLAIN ? hn_lm_session_new(session, b->opened.lm, &o)
                        : hn_lm_session_new_drafting(session, b->opened.lm, &o, &draft);
}

/* ---- saying ---- */

/* On one thread what that was on a processor: a neighbour's work is not counted. */
static int64_t now(const bench *b)
{
    return b->args->machine.threads == 1 ? hn_clock_thread_ns() : hn_clock_ns();
}

static hn_status go_on(bench *b, const prompt *p, hn_lm_session *session, hn_lm_sampler *sampler, int64_t *n, double *seconds)
{
    const int64_t room = hn_lm_session_context(session) - (int64_t)p->n;
    const int64_t most = room < b->args->generate ? room : b->args->generate;
    int32_t id;
    HN_TRY(hn_lm_session_trim(session, 0));
    HN_TRY(hn_lm_session_feed(session, p->ids, p->n));
    const int64_t since = now(b);
    for (*n = 0; *n < most;) {
        HN_TRY(hn_lm_sampler_draw(sampler, session, &id));
        if (hn_lm_ends(b->opened.lm, id))
            break;
        b->said[(*n)++] = id;
        if (*n < most)
            HN_TRY(hn_lm_session_feed(session, &id, 1));
    }
    *seconds += (double)(now(b) - since) * 1e-9;
    return HN_OK;
}

/* What was said first is what has to be said. */
static hn_status compare(bench *b, prompt *p, int heat, int way, int64_t n)
{
    if (!p->said[heat]) {
        p->said[heat] = hn_alloc_array(b->heap, HN_TAG_TEXT, (size_t)n + 1, sizeof *b->said);
        if (!p->said[heat])
            return HN_ERR_MEMORY;
        memcpy(p->said[heat], b->said, (size_t)n * sizeof *b->said);
        p->n_said[heat] = n;
    }
    HN_REQUIRE(n == p->n_said[heat] && !memcmp(b->said, p->said[heat], (size_t)n * sizeof *b->said), HN_ERR_NUMERIC,
               "prompt %lld, %s: expected the text without guesses, found another", (long long)(p - b->prompts), ways[way]);
    return HN_OK;
}

static hn_status say(bench *b, prompt *p, int heat, int way, result *sum, double *seconds)
{
    hn_lm_sampler *sampler;
    int64_t n = 0;
    const hn_lm_sampling sampling = sampling_at(heat);
    HN_TRY(hn_lm_sampler_new(&sampler, b->opened.lm, &sampling));
    hn_status status = go_on(b, p, b->sessions[heat][way], sampler, &n, seconds);
    hn_lm_sampler_free(sampler);
    if (status == HN_OK)
        status = compare(b, p, heat, way, n);
    sum->tokens += n;
    return status;
}

static hn_status say_kind(bench *b, const char *kind, int heat, int way, result *sum, double *seconds)
{
    int64_t before[2], after[2];
    HN_TRY(hn_lm_session_drafted(b->sessions[heat][way], &before[0], &before[1]));
    *seconds = 0;
    for (int i = 0; i < b->n_prompts; i++)
        if (!strcmp(b->prompts[i].kind, kind))
            HN_TRY(say(b, &b->prompts[i], heat, way, sum, seconds));
    HN_TRY(hn_lm_session_drafted(b->sessions[heat][way], &after[0], &after[1]));
    sum->accepted += after[0] - before[0];
    sum->rejected += after[1] - before[1];
    return HN_OK;
}

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *kind, int heat, int way, const result *r, const result *plain, int64_t rounds, hn_json_writer *json,
                  FILE *out)
{
    const int64_t guessed = r->accepted + r->rejected;
    const double rate = r->seconds > 0 ? (double)r->tokens / (double)rounds / r->seconds : 0;
    const double times = r->seconds > 0 ? plain->seconds / r->seconds : 0;
    const double share = guessed ? (double)r->accepted / (double)guessed : 0;
    fprintf(out, "%-12s %11.1f  %-8s %9lld %8.0f %% %12.1f %8.2f\n", kind, heats[heat], ways[way], (long long)(guessed / rounds),
            100 * share, rate, times);
    if (!json)
        return;
    hn_json_begin_object(json);
    hn_json_key(json, "kind");
    hn_json_add_string(json, kind);
    hn_json_key(json, "temperature");
    hn_json_add_double(json, heats[heat]);
    hn_json_key(json, "guesses");
    hn_json_add_string(json, ways[way]);
    hn_json_key(json, "accepted");
    hn_json_add_int(json, r->accepted);
    hn_json_key(json, "rejected");
    hn_json_add_int(json, r->rejected);
    hn_json_key(json, "tokens_per_second");
    hn_json_add_double(json, rate);
    hn_json_key(json, "times_plain");
    hn_json_add_double(json, times);
    hn_json_end_object(json);
}

/* Rounds of all ways in turn; one before them brings the weights into memory. */
static hn_status measure(bench *b, const char *kind, int heat, hn_json_writer *json, FILE *out)
{
    const int64_t rounds = b->args->repeat;
    result results[N_WAYS] = { { 0 } }, unused = { 0 };
    static double seconds[N_WAYS][MOST_REPEATS];
    for (int64_t i = -1; i < rounds; i++)
        for (int way = 0; way < N_WAYS; way++)
            if (b->sessions[heat][way])
                HN_TRY(say_kind(b, kind, heat, way, i < 0 ? &unused : &results[way], &seconds[way][i < 0 ? 0 : i]));
    for (int way = 0; way < N_WAYS; way++) {
        qsort(seconds[way], (size_t)rounds, sizeof **seconds, compare_reals);
        results[way].seconds = (seconds[way][rounds / 2] + seconds[way][(rounds - 1) / 2]) / 2;
    }
    for (int way = 0; way < N_WAYS; way++)
        if (b->sessions[heat][way])
            print(kind, heat, way, &results[way], &results[PLAIN], rounds, json, out);
    return HN_OK;
}

static hn_status measure_kinds(bench *b, hn_json_writer *json, FILE *out)
{
    fprintf(out, "%-12s %11s  %-8s %9s %10s %12s %8s   %s\n", "kind", "temperature", "guesses", "guessed", "right", "tokens/s",
            "times", b->args->machine.numerics ? b->args->machine.numerics : "f32");
    for (int i = 0; i < b->n_prompts; i++) {
        int first = 0;
        while (strcmp(b->prompts[first].kind, b->prompts[i].kind))
            first++;
        for (int heat = 0; heat < N_HEATS && first == i; heat++)
            HN_TRY(measure(b, b->prompts[i].kind, heat, json, out));
    }
    return HN_OK;
}

static hn_status run(bench *b, const char *prompts, hn_json_writer *json, FILE *out)
{
    hn_lm_draft_options unused;
    const hn_draft_args model = { .model = b->draft->model, .numerics = b->draft->numerics };
    bool uses;
    HN_TRY(hn_draft_open(&model, &b->opened, &b->args->machine, NULL, &b->model, &unused, &uses));
    HN_TRY(read_prompts(b, prompts));
    b->said = hn_alloc_array(b->heap, HN_TAG_TEXT, (size_t)b->args->generate, sizeof *b->said);
    if (!b->said)
        return HN_ERR_MEMORY;
    for (int heat = 0; heat < N_HEATS; heat++)
        for (int way = 0; way < N_WAYS; way++)
            HN_TRY(open_session(b, heat, way));
    return measure_kinds(b, json, out);
}

static void close_bench(bench *b)
{
    for (int heat = 0; heat < N_HEATS; heat++)
        for (int way = 0; way < N_WAYS; way++)
            hn_lm_session_free(b->sessions[heat][way]);
    for (int i = 0; i < b->n_prompts; i++) {
        hn_free(b->heap, b->prompts[i].ids);
        for (int heat = 0; heat < N_HEATS; heat++)
            hn_free(b->heap, b->prompts[i].said[heat]);
    }
    hn_lm_close(b->model);
    hn_opened_close(&b->opened);
    hn_free(b->heap, b->said);
    hn_free(b->heap, b);
}

hn_status hn_bench_drafts(hn_heap *heap, const char *model, const char *prompts, const hn_bench_model_args *args,
                          const hn_draft_args *draft, hn_json_writer *json, FILE *out)
{
    bench *b = hn_alloc(heap, HN_TAG_TEXT, sizeof *b);
    if (!b)
        return HN_ERR_MEMORY;
    *b = (bench){ .heap = heap, .args = args, .draft = draft };
    hn_status status = hn_opened_open(&b->opened, HN_OPEN_ALL, model, &args->machine, &args->ignore, NULL);
    if (status == HN_OK)
        status = run(b, prompts, json, out);
    close_bench(b);
    return status;
}
