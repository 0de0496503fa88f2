/* hone serve: models over HTTP, until a signal asks for an end. */
#include "base/os/program.h"
#include "base/os/threads.h"
#include "cli/cache_folder.h"
#include "cli/ignore_option.h"
#include "cli/interrupt.h"
#include "cli/machine_options.h"
#include "cli/session_options.h"
#include "cli/template_options.h"
#include "hone/draft.h"
#include "server/served_adapters.h"
#include "server/server.h"

#include <errno.h>
#include <string.h>

#define LIMIT_FIELD(field, otherwise, name, what) int64_t field;
#define LIMIT_OPTION(field, otherwise, name, what)                                                                     \
    HN_INT(serve_args, limits.field, name, "N", 1, INT64_MAX, what "; default " #otherwise),
#define KEPT_OPTION(field, otherwise, name, what)                                                                      \
    HN_INT(serve_args, kept.field, name, "N", 1, INT64_MAX, what "; default " #otherwise),
#define KEPT_TAKE(field, otherwise, name, what)  o.field = a->kept.field;
#define RESPONSES_OPTION(field, otherwise, name, what)                                                                 \
    HN_INT(serve_args, responses.field, name, "N", 1, INT32_MAX, what "; default " #otherwise),
#define RESPONSES_TAKE(field, otherwise, name, what) o.responses.field = a->responses.field;
#define LIMIT_TAKE(field, otherwise, name, what) o.http.field = a->limits.field;

typedef struct serve_args {
    const char *host, *draft_numerics, *cache, *calls, *keys, *log, *jobs, *train_memory, *disk;
    bool shares_beginnings, logs_texts;
    hn_list hosts, origins;
    struct {
        HN_HTTP_LIMITS(LIMIT_FIELD)
    } limits;
    struct {
        HN_JOB_LIMITS(LIMIT_FIELD)
    } kept;
    struct {
        HN_RESPONSES_LIMITS(LIMIT_FIELD)
    } responses;
    int64_t train_threads, disk_most;
    int64_t port, context, parallel, waiting, piece, blocks, most_loaded, most_adapters, drain, draft_ngram, draft_most, first_ms, answer_ms;
    bool force, mapped;
    hn_list lora, drafts, folders, aliases, poolings, ignore;
    hn_template_args template;
    hn_machine_args machine;
} serve_args;

static const hn_option options[] = {
    HN_TEXT(serve_args, host, "host", "ADDRESS", "to listen at; default 127.0.0.1"),
    HN_INT(serve_args, port, "port", "N", 0, 65535, "0: one that is free"),
    HN_INT(serve_args, drain, "drain", "SECONDS", 0, 86400, "for those who are answered, after a signal"),
    HN_GROUP("who may ask"),
    HN_TEXT(serve_args, keys, "api-keys", "FILE", "of lines NAME SECRET [admin]; without it whoever reaches the address"),
    HN_FLAG(serve_args, shares_beginnings, "share-cache",
            "beginnings among keys: how soon one is answered tells what others asked"),
    HN_LIST(serve_args, hosts, "allow-host", "NAME", "without keys: another name that the Host may have"),
    HN_LIST(serve_args, origins, "allow-origin", "ORIGIN", "pages of it may ask, as https://app.example"),
    HN_TEXT(serve_args, log, "log", "FORM", "of requests, on stderr: none (the default), lines or json"),
    HN_FLAG(serve_args, logs_texts, "log-texts", "with --log json, what was asked and said too; else they are never told"),
    HN_GROUP("the models"),
    HN_LIST(serve_args, lora, "lora", "NAME=FILE[:SCALE]",
            "an adapter for requests of `model:NAME`; of a model that is not the first, MODEL:NAME=FILE"),
    HN_LIST(serve_args, folders, "adapters", "[MODEL:]FOLDER",
            "each NAME.gguf of it is an adapter; on SIGHUP those that came, changed or went are taken, replaced or dropped"),
    HN_INT(serve_args, most_adapters, "adapters-max", "N", 1, 256,
           "that a model runs at a time; one that is asked for takes the place of one not asked. Default: those given and 2 more"),
    HN_LIST(serve_args, aliases, "alias", "NAME=MODEL", "another name of a model that is served; its file is loaded once"),
    HN_LIST(serve_args, poolings, "pooling", "[MODEL=]KIND",
            "how embeddings of the first model, or of MODEL, are pooled, as `hone embed --pooling`; default: as the model says"),
    HN_FLAG(serve_args, force, "force", "take adapters of another base, tokenizer or template"),
    HN_INT(serve_args, most_loaded, "models-max", "N", 1, 64,
           "that are loaded at a time; one that is asked for takes the place of the one longest not asked. Default: all"),
    HN_TEMPLATE_OPTIONS(serve_args, template, "this chat template", ""),
    HN_TEXT(serve_args, calls, "calls", "FAMILY",
            "how models write calls of tools, by its name in docs/speech.md; json is of any. Default: as the template has them"),
    HN_IGNORE_OPTION(serve_args),
    HN_GROUP("who is served when"),
    HN_INT(serve_args, parallel, "parallel", "N", 1, 256, "requests of a model that run at a time"),
    HN_INT(serve_args, waiting, "waiting", "N", 1, 1000000, "of a key, beside them; default 1024"),
    HN_INT(serve_args, context, "context", "N", 1, INT32_MAX, "of a request, prompt and answer; default: the model's, at most 4096"),
    HN_INT(serve_args, blocks, "blocks", "N", 1, INT32_MAX,
           "of 64 keys, of all requests together; default: what they take at their longest"),
    HN_INT(serve_args, piece, "piece", "N", 1, 65536, "tokens of prompts a step while others generate; default: so many that it takes about twice "
           "as long as one without"),
    HN_INT(serve_args, first_ms, "first-token-ms", "N", 1, INT64_MAX,
           "from a request to its first token, waiting and loading too; then it ends with an error. Default 600000"),
    HN_INT(serve_args, answer_ms, "answer-ms", "N", 1, INT64_MAX, "to its last; default 3600000"),
    HN_CACHE_OPTION(serve_args, cache),
    HN_TEXT(serve_args, disk, "cache-disk", "FOLDER", "where beginnings go that leave memory, and are found again; default: nowhere"),
    HN_INT(serve_args, disk_most, "cache-disk-max", "N", 1, INT64_MAX, "bytes of its files; the oldest go. Default 1073741824"),
    HN_LIST(serve_args, drafts, "draft", "[MODEL=]FILE",
            "a smaller model with the same tokens guesses ahead for the first model, or for MODEL: the same text, sooner if it is often right"),
    HN_TEXT(serve_args, draft_numerics, "draft-numerics", "MODE", "of the models that guess; default: those of the others"),
    HN_INT(serve_args, draft_most, "draft-max", "N", 1, 64, "guesses at a time; default 8"),
    HN_INT(serve_args, draft_ngram, "draft-ngram", "N", 1, 64,
           "guess what followed the last tokens, up to N, where they were said before; default: no guesses"),
    HN_GROUP("files and training"),
    HN_TEXT(serve_args, jobs, "jobs", "DIR", "where they are kept; without it there are none"),
    HN_INT(serve_args, train_threads, "train-threads", "N", 1, 256, "of a run, which is on the processors whatever --device says; default: half of them"),
    HN_TEXT(serve_args, train_memory, "train-memory", "SIZE", "of a run at most, as 8G; default: what is free"),
    HN_JOB_LIMITS(KEPT_OPTION)
    HN_GROUP("limits of HTTP"),
    HN_HTTP_LIMITS(LIMIT_OPTION)
    HN_GROUP("what is kept of responses (POST /v1/responses)"),
    HN_RESPONSES_LIMITS(RESPONSES_OPTION)
    HN_GROUP("what computes it, and how"),
    HN_FLAG(serve_args, mapped, "mapped", "read weights where the file is mapped: starts sooner, generates slower"),
    HN_MACHINE_OPTIONS(serve_args, HN_NUMERICS_OF_RUNS),
    HN_OPTION_END,
};

#define KEPT_RULE(field, otherwise, name, what) { name, HN_ONLY_WITH, "jobs", NULL },
static const hn_option_rule rules[] = {
    { "train-threads|train-memory", HN_ONLY_WITH, "jobs", NULL },
    HN_JOB_LIMITS(KEPT_RULE)
    { "share-cache", HN_ONLY_WITH, "api-keys", "whoever asks shares beginnings where there are no keys" },
    { "log-texts", HN_ONLY_WITH, "log=json", NULL },
    { "draft-max", HN_ONLY_WITH, "draft|draft-ngram", NULL },
    { "draft-numerics", HN_ONLY_WITH, "draft", NULL },
    { "cache-disk-max", HN_ONLY_WITH, "cache-disk", NULL },
    { NULL, 0, NULL, NULL },
};

static const serve_args defaults = { .port = 8080, .parallel = 8, .drain = 30, .first_ms = 600000, .answer_ms = 3600000 };

typedef struct serving {
    const serve_args *args;
    hn_heap heap;
    hn_engine *engine;
    hn_shelf shelf;
    bool has_shelf;
    hn_keys *keys;
    hn_jobs *jobs;
    hn_lm_disk *disk;
    hn_server *server;
    hn_lm_draft_options draft;
} serving;

/* "NAME=PATH": a name has no slash, so a path with '=' in it is told apart. */
static hn_status add_model(serving *s, const char *word, const hn_served_options *common)
{
    const char *equals = strchr(word, '='), *slash = strchr(word, '/');
    const bool has_name = equals && equals > word && (!slash || slash > equals);
    char name[128] = "";
    hn_served *added;
    hn_served_options o = *common;
    HN_REQUIRE(!has_name || (size_t)(equals - word) < sizeof name, HN_ERR_ARGUMENT, "%.60s: a name has at most %zu bytes", word,
               sizeof name - 1);
    if (has_name)
        memcpy(name, word, (size_t)(equals - word));
    o.path = has_name ? equals + 1 : word;
    return hn_shelf_add(&s->shelf, has_name ? name : NULL, &o, &added);
}

/* "FILE" guesses for the first model, "MODEL=FILE" for that one. */
static hn_status take_drafts(serving *s, const hn_served_options *common)
{
    const serve_args *a = s->args;
    hn_lm_options o = { .size = sizeof o, .numerics = common->model.numerics };
    if (a->draft_numerics)
        HN_TRY(hn_lm_numerics_named(a->draft_numerics, &o.numerics));
    for (int i = 0; i < a->drafts.n; i++) {
        const char *word = a->drafts.at[i], *equals = strchr(word, '='), *slash = strchr(word, '/');
        const bool has_name = equals && equals > word && (!slash || slash > equals);
        hn_served *m = has_name ? hn_shelf_model(&s->shelf, word, (size_t)(equals - word)) : s->shelf.models[0];
        HN_REQUIRE(m, HN_ERR_ARGUMENT, "--draft %.100s: there is no such model", word);
        HN_REQUIRE(!m->o.draft, HN_ERR_ARGUMENT, "--draft %.100s: %s has one", word, m->name);
        m->o.draft = has_name ? equals + 1 : word;
        m->o.draft_model = o;
        m->o.scheduler.draft = &s->draft;
    }
    return HN_OK;
}

/* "KIND" is of the first model, "MODEL=KIND" of that one. */
static hn_status take_poolings(serving *s)
{
    const serve_args *a = s->args;
    for (int i = 0; i < a->poolings.n; i++) {
        const char *word = a->poolings.at[i], *equals = strrchr(word, '=');
        hn_served *m = equals ? hn_shelf_model(&s->shelf, word, (size_t)(equals - word)) : s->shelf.models[0];
        hn_lm_pooling kind;
        HN_REQUIRE(m, HN_ERR_ARGUMENT, "--pooling %.100s: there is no such model", word);
        HN_REQUIRE(!m->o.pooling, HN_ERR_ARGUMENT, "--pooling %.100s: %s has one", word, m->name);
        m->o.pooling = equals ? equals + 1 : word;
        if (hn_lm_pooling_named(m->o.pooling, &kind) != HN_OK)
            return hn_fail_within(HN_ERR_ARGUMENT, "--pooling: ");
    }
    return HN_OK;
}

static hn_status fill_shelf(serving *s, int n, char **words)
{
    const serve_args *a = s->args;
    s->draft = (hn_lm_draft_options){ .size = sizeof s->draft, .ngram = a->draft_ngram, .most = a->draft_most };
    hn_served_options o = {
        .model = { .size = sizeof o.model, .ignored_keys = a->ignore.at, .n_ignored_keys = a->ignore.n,
                   .template_file = a->template.file, .template_name = a->template.name },
        .batch = { .size = sizeof o.batch, .sequences = 2 * a->parallel, .context = a->context, .blocks = a->blocks, .rows = 4 * a->parallel,
                   .cache = a->cache, .mapped = a->mapped },
        .scheduler = { .size = sizeof o.scheduler, .running = a->parallel, .waiting = a->waiting, .piece = a->piece,
                       .draft = a->draft_ngram ? &s->draft : NULL, .disk = s->disk },
        .calls = a->calls, .forces_adapters = a->force, .takes_adapters = a->jobs != NULL, .adapters = a->most_adapters, .digests = hn_cache_folder(),
        .first_ms = a->first_ms, .answer_ms = a->answer_ms,
    };
    HN_TRY(hn_machine_numerics(&a->machine, &o.model.numerics));
    for (int i = 0; i < n; i++)
        HN_TRY(add_model(s, words[i], &o));
    HN_TRY(take_drafts(s, &o));
    for (int i = 0; i < a->aliases.n; i++)
        HN_TRY(hn_shelf_add_alias(&s->shelf, a->aliases.at[i]));
    HN_TRY(take_poolings(s));
    for (int i = 0; i < a->lora.n; i++)
        HN_TRY(hn_shelf_add_adapter(&s->shelf, a->lora.at[i]));
    for (int i = 0; i < a->folders.n; i++)
        HN_TRY(hn_shelf_add_folder(&s->shelf, a->folders.at[i]));
    return HN_OK;
}

/* Texts are told to nobody who did not ask for them, and stand in JSON alone, where no text can pass for another line. */
static hn_status take_log(const char *form, hn_log *out)
{
    const bool is_json = form && !strcmp(form, "json"), is_lines = form && !strcmp(form, "lines");
    HN_REQUIRE(!form || is_json || is_lines || !strcmp(form, "none"), HN_ERR_ARGUMENT, "--log %.40s: expected none, lines or json", form);
    *out = (hn_log){ is_json || is_lines ? stderr : NULL, is_json };
    return HN_OK;
}

static hn_status open_jobs(serving *s)
{
    static char program[4096];
    const serve_args *a = s->args;
    if (!a->jobs)
        return HN_OK;
    HN_REQUIRE(hn_os_program_path(program, sizeof program), HN_ERR_IO, "--jobs: this program's own file: %s", strerror(errno));
    hn_jobs_options o = { .folder = a->jobs, .program = program, .memory = a->train_memory, .digests = hn_cache_folder(),
                          .threads = a->train_threads, .isa = a->machine.isa };
    HN_JOB_LIMITS(KEPT_TAKE)
    return hn_jobs_open(&s->jobs, &s->shelf, s->keys, &o);
}

static void tell_refused(void *context, const char *sentence) { fprintf(context, "%s\n", sentence); }

static hn_status open_disk(serving *s)
{
    const serve_args *a = s->args;
    const hn_lm_disk_options o = { .size = sizeof o, .most = a->disk_most, .on_refused = tell_refused, .context = stderr };
    return a->disk ? hn_lm_disk_open(&s->disk, s->engine, a->disk, &o) : HN_OK;
}

static hn_status open_serving(serving *s, int n, char **words)
{
    static char builtin[64];
    char *only = builtin;
    const serve_args *a = s->args;
    snprintf(builtin, sizeof builtin, "%s", hn_lm_builtin());
    size_t memory;
    HN_TRY(hn_machine_memory(&a->machine, &memory));
    HN_TRY(hn_machine_engine(&a->machine, &s->engine));
    HN_TRY(open_disk(s));
    hn_interrupt_engine(NULL); /* a signal ends the server, not what it is at */
    hn_shelf_open(&s->shelf, &s->heap, s->engine, a->most_loaded);
    s->shelf.memory = memory;
    s->has_shelf = true;
    HN_TRY(fill_shelf(s, n ? n : 1, n ? words : &only));
    if (a->keys)
        HN_TRY(hn_keys_read(&s->keys, &s->heap, a->keys));
    HN_TRY(open_jobs(s));
    hn_server_options o = {
        .http = { .host = a->host, .port = (int)a->port }, .keys = s->keys, .shares_beginnings = a->shares_beginnings,
        .guard = { .hosts = a->hosts.at, .n_hosts = (size_t)a->hosts.n, .origins = a->origins.at, .n_origins = (size_t)a->origins.n },
    };
    HN_HTTP_LIMITS(LIMIT_TAKE)
    o.jobs = s->jobs;
    o.disk = s->disk;
    HN_RESPONSES_LIMITS(RESPONSES_TAKE)
    HN_TRY(take_log(a->log, &o.log));
    o.http.keeps_texts = a->logs_texts;
    return hn_server_open(&s->server, &s->shelf, &o);
}

/* Until all are loaded: a model that cannot be is the end. */
static hn_status wait_for_models(serving *s)
{
    enum { LOOK_MS = 20 };
    bool is_done = false;
    while (!is_done && !hn_interrupt_is_asked()) {
        HN_TRY(hn_server_loading(s->server, &is_done));
        if (!is_done)
            hn_os_thread_rest(LOOK_MS);
    }
    return HN_OK;
}

static void tell_reload(void *context, const char *sentence) { fprintf(context, "%s\n", sentence); }

static void wait_for_end(serving *s)
{
    enum { LOOK_MS = 50 };
    while (!hn_interrupt_is_asked()) {
        if (hn_interrupt_take_hangup())
            hn_shelf_reload(&s->shelf, tell_reload, stderr);
        hn_os_thread_rest(LOOK_MS);
    }
    hn_server_drain(s->server);
    for (int64_t left = s->args->drain * 1000; left > 0 && !hn_server_is_idle(s->server); left -= LOOK_MS)
        hn_os_thread_rest(LOOK_MS);
}

static hn_status serve(serving *s, int n, char **words, FILE *out)
{
    const char *host = s->args->host ? s->args->host : "127.0.0.1";
    HN_TRY(open_serving(s, n, words));
    HN_TRY(wait_for_models(s));
    if (hn_interrupt_is_asked())
        return HN_OK;
    fprintf(out, strchr(host, ':') ? "http://[%s]:%d\n" : "http://%s:%d\n", host, hn_server_port(s->server));
    fflush(out);
    for (int32_t i = 0; i < s->shelf.n; i++)
        fprintf(stderr, "%s, %s\n", s->shelf.models[i]->name, hn_lm_numerics_name(s->shelf.models[i]->o.model.numerics));
    if (s->jobs)
        hn_jobs_begin(s->jobs);
    wait_for_end(s);
    return HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    serving s = { .args = parsed };
    hn_heap_init(&s.heap, NULL);
    hn_interrupt_begin(true);
    hn_interrupt_hear_hangups(true);
    if (!n_operands)
        fputs("no MODEL was given: this is the one that is built in, which tells stories\n", stderr);
    const hn_status status = serve(&s, n_operands, operands, out);
    hn_server_close(s.server);
    hn_jobs_close(s.jobs);
    if (s.has_shelf)
        hn_shelf_close(&s.shelf);
    hn_keys_free(s.keys);
    hn_lm_disk_close(s.disk);
    hn_machine_engine_free(s.engine);
    hn_interrupt_hear_hangups(false);
    hn_interrupt_end();
    return status;
}

const hn_command hn_cmd_serve = {
    .name = "serve",
    .operands = "[MODEL|NAME=MODEL ...]",
    .summary = "answer requests over HTTP, as OpenAI's clients make them",
    .details = "MODEL is a GGUF file or a Hugging Face directory; without one it is the model that is built in.\n"
               "The first is answered with where no model is named. What a request gets has the bits that it has\n"
               "alone, whoever else is served. docs/http.md has every path and field.\n",
    .example = "serve model.gguf --port 8080",
    .options = options,
    .rules = rules,
    .defaults = &defaults,
    .args_size = sizeof(serve_args),
    .max_operands = HN_MAX_OPERANDS,
    .run = run,
};
