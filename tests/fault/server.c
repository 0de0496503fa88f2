/* A server with models that is refused memory, at every allocation in turn, its own, its models' and that of who reads files: whoever
 * asked is told so in the form of what he asked, or is cut off where there is no room for a word; what was said to him before is right
 * as far as it went; nothing is left behind, and the next who asks the same gets the right bits. --quick: a part of the allocations. */
#include "base/json.h"
#include "hone/hone.h"
#include "server/jobs_state.h"
#include "server/served_adapters.h"
#include "server/server.h"
#include "tests/harness/check.h"
#include "tests/property/http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ALLOCATIONS = 20000, ANSWER_MS = 20000, ROOM = 1 << 16 };

static hn_heap heap;
static hn_engine *engine;
static hn_shelf shelf;
static hn_jobs *jobs;
static hn_server *server;
static int port;
static char dir[] = "/tmp/hone-fault-XXXXXX", adapters[100], kept[100], upload_id[HN_ITEM_ID];

/* ---- who is refused ---- */

/* The server's own; the models' engine; the engine of who reads files. */
enum { OWN, MODELS, READER, N_HEAPS };
static const char *const heap_names[N_HEAPS] = { "the server's", "the models'", "the reader's" };

static int64_t calls_of(int which)
{
    int64_t calls = 0;
    if (which == OWN)
        return atomic_load(&heap.n_calls);
    hn_engine_memory(which == MODELS ? engine : jobs->engine, NULL, NULL, &calls);
    return calls;
}

static void refuse(int which, int64_t nth)
{
    if (which == OWN)
        atomic_store(&heap.fail_at, nth ? atomic_load(&heap.n_calls) + nth : 0);
    else
        hn_engine_fail_allocation(which == MODELS ? engine : jobs->engine, nth);
}

typedef struct left_behind {
    int64_t blocks, bytes[2];
} left_behind;

/* Nobody is served any more: the last call's end follows its reply. */
static left_behind look(void)
{
    left_behind now = { 0 };
    while (!hn_server_is_idle(server))
        pause_ms(1);
    for (int i = 0; i < 2; i++)
        hn_engine_memory(i ? jobs->engine : engine, &now.bytes[i], NULL, NULL);
    now.blocks = atomic_load(&heap.live_blocks);
    return now;
}

static bool is_same(const left_behind *a, const left_behind *b)
{
    return a->blocks == b->blocks && a->bytes[0] == b->bytes[0] && a->bytes[1] == b->bytes[1];
}

/* A thread that has replied, and a connection that has ended, free what was theirs a little later. */
static left_behind look_for(const left_behind *wanted)
{
    enum { SOON_MS = 1000 };
    left_behind now = look();
    for (int ms = 0; ms < SOON_MS && !is_same(wanted, &now); ms++) {
        pause_ms(1);
        now = look();
    }
    return now;
}

/* ---- what is asked ---- */

typedef enum form { OPENAI, ANTHROPIC, OLLAMA } form;

#define CHAT "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],\"max_tokens\":6,\"seed\":1"
static const struct {
    const char *name, *path, *body;
    form form;
} kinds[] = {
    { "a chat", "/v1/chat/completions", "{\"model\":\"tiny\",\"logprobs\":true,\"top_logprobs\":2," CHAT "}", OPENAI },
    { "a stream", "/v1/chat/completions", "{\"model\":\"tiny\",\"stream\":true,\"logprobs\":true,\"top_logprobs\":1,"
      "\"stream_options\":{\"include_usage\":true}," CHAT "}", OPENAI },
    { "a chat by a schema", "/v1/chat/completions", "{\"model\":\"tiny\",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":"
      "{\"name\":\"a\",\"schema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\"],"
      "\"additionalProperties\":false}}}," CHAT "}", OPENAI },
    { "a chat with a tool", "/v1/chat/completions", "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
      "\"text\":\"Hi\"},{\"type\":\"text\",\"text\":\"you\"}]},{\"role\":\"assistant\",\"content\":\"A\",\"tool_calls\":[{\"id\":\"1\","
      "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}]},{\"role\":\"user\",\"content\":\"B\"}],"
      "\"max_tokens\":6,\"seed\":1,\"stop\":[\"zz\"],\"logit_bias\":{\"70\":1}}", OPENAI },
    { "an embedding", "/v1/embeddings", "{\"model\":\"bert\",\"input\":[\"a b\",\"c\"]}", OPENAI },
    { "an embedding in base64", "/v1/embeddings", "{\"model\":\"bert\",\"input\":\"a b\",\"encoding_format\":\"base64\"}", OPENAI },
    { "an embedding by one that generates", "/v1/embeddings", "{\"model\":\"llama\",\"input\":[[5,6],[7]]}", OPENAI },
    { "an embedding of ids", "/v1/embeddings", "{\"model\":\"bert\",\"input\":[[5,6],[7]]}", OPENAI },
    { "a completion by a grammar", "/v1/completions", "{\"model\":\"tiny\",\"prompt\":\"Gordon had\",\"max_tokens\":6,\"seed\":2,"
      "\"grammar\":\"root ::= [a-z ]+ \\\".\\\"\",\"recipe\":true}", OPENAI },
    { "a completion with its prompt", "/v1/completions", "{\"model\":\"tiny\",\"prompt\":\"Gordon had\",\"max_tokens\":4,\"seed\":2,"
      "\"echo\":true,\"logprobs\":2,\"best_of\":2,\"recipe\":true}", OPENAI },
    { "completions in a stream", "/v1/completions", "{\"model\":\"tiny\",\"prompt\":\"Gordon had\",\"max_tokens\":4,\"seed\":2,\"n\":2,"
      "\"stream\":true}", OPENAI },
    { "a response", "/v1/responses", "{\"model\":\"tiny\",\"input\":\"Hi\",\"max_output_tokens\":16,\"seed\":1}", OPENAI },
    { "a response in a stream", "/v1/responses", "{\"model\":\"tiny\",\"input\":\"Hi\",\"max_output_tokens\":16,\"seed\":1,"
      "\"store\":false,\"stream\":true}", OPENAI },
    { "messages", "/v1/messages", "{\"model\":\"tiny\"," CHAT "}", ANTHROPIC },
    { "messages in a stream", "/v1/messages", "{\"model\":\"tiny\",\"stream\":true," CHAT "}", ANTHROPIC },
    { "an Ollama chat", "/api/chat", "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}],"
      "\"options\":{\"seed\":1,\"num_predict\":6}}", OLLAMA },
    { "an Ollama text", "/api/generate", "{\"model\":\"tiny\",\"prompt\":\"Hi\",\"stream\":false,\"options\":{\"seed\":1,\"num_predict\":6}}",
      OLLAMA },
    { "an Ollama load", "/api/generate", "{\"model\":\"tiny\",\"format\":\"json\",\"options\":{\"num_ctx\":64}}", OLLAMA },
    { "Ollama's embeddings", "/api/embed", "{\"model\":\"bert\",\"input\":\"a b\"}", OLLAMA },
    { "tokens", "/tokenize", "{\"model\":\"tiny\",\"content\":\"a pleated pram\",\"with_pieces\":true}", OPENAI },
    { "a text", "/detokenize", "{\"model\":\"tiny\",\"tokens\":[70,71,72,73]}", OPENAI },
    { "a template", "/apply-template", "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}", OPENAI },
    { "an Ollama model", "/api/show", "{\"model\":\"tiny\"}", OLLAMA },
    { "the models", "/v1/models", NULL, OPENAI },
    { "Ollama's models", "/api/tags", NULL, OLLAMA },
    { "metrics", "/metrics", NULL, OPENAI },
    { "properties", "/props", NULL, OPENAI },
    { "properties of one", "/props?model=tiny", NULL, OPENAI },
    { "what runs", "/slots", NULL, OPENAI },
    { "the page", "/", NULL, OPENAI },
    { "an adapter", "/v1/load_lora_adapter", "{\"model\":\"llama\",\"lora_name\":\"a\"}", OPENAI },
    { "a file", "/v1/files", "", OPENAI },
    { "files", "/v1/files", NULL, OPENAI },
    { "a page of files", "/v1/files?limit=2&order=asc", NULL, OPENAI },
    { "a job", "/v1/fine_tuning/jobs", "", OPENAI },
    { "jobs", "/v1/fine_tuning/jobs", NULL, OPENAI },
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const char chats[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"a pram\"}]}\n"
                            "{\"messages\":[{\"role\":\"user\",\"content\":\"Ho\"},{\"role\":\"assistant\",\"content\":\"a plum\"}]}\n";

static size_t request_of(int kind, char *to, size_t room)
{
    static char posted[2000], job[500];
    const char *body = kinds[kind].body, *type = "application/json";
    if (body && !strcmp(kinds[kind].name, "a file")) {
        type = "multipart/form-data; boundary=xx";
        snprintf(posted, sizeof posted, "--xx\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nfine-tune\r\n--xx\r\n"
                 "Content-Disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\r\n%s\r\n--xx--\r\n", chats);
        body = posted;
    } else if (body && !strcmp(kinds[kind].name, "a job")) {
        snprintf(job, sizeof job, "{\"model\":\"tiny\",\"training_file\":\"%s\",\"settings\":[\"rank=2\",\"steps=2\"],\"metadata\":{\"a\":\"b\"}}",
                 upload_id);
        body = job;
    }
    return (size_t)(body ? snprintf(to, room, "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: %s\r\n"
                                    "Content-Length: %zu\r\n\r\n%s", kinds[kind].path, type, strlen(body), body)
                         : snprintf(to, room, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", kinds[kind].path));
}

/* What differs from one asking to the next: ids, clocks, what was known already. */
static void blank(char *text)
{
    static const char *const words[] = { "\"id\":\"", "\"item_id\":\"", "\"created\":", "\"created_at\":", "cached_tokens\":",
                                         "_duration\":", "\"created_at\":\"", "cache_read_input_tokens\":", "\"input_tokens\":",
                                         "hone_", "\"modified_at\":\"", "fine_tuned_model\":\"", "\"estimated_finish\":",
                                         "completed_at\":", "fine_tuning_job_id\":\"", "\"digest\":\"", "\"store\":" }; /* store: whether it was kept */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (char *at = text; (at = strstr(at, words[i]));) {
            at += strlen(words[i]);
            const bool is_value = at[-1] == ':';
            const size_t n = strcspn(at, is_value ? ",}\n" : at[-1] == '_' ? "\n" : "\"");
            if (is_value && n)
                *at++ = '0';
            memmove(at, at + n - (is_value && n), strlen(at + n - (is_value && n)) + 1);
        }
}

/* ---- what is said ---- */

static int n_told, n_cut, n_said_late;

static bool is_error(const char *text, form as)
{
    hn_heap own;
    hn_json_text *read;
    hn_heap_init(&own, NULL);
    if (hn_json_read(&own, "an error", text, strlen(text), &read) != HN_OK)
        return false;
    const hn_json *root = hn_json_root(read), *failed = hn_json_get(root, "response"), *e = hn_json_get(failed ? failed : root, "error"),
                  *message = as == OLLAMA ? e : hn_json_get(e, "message"),
                  *kind = hn_json_get(as == ANTHROPIC || failed ? root : e, "type");
    const bool is_one = message && message->kind == HN_JSON_STRING && message->as.string.bytes &&
                        (as == OLLAMA || (kind && kind->kind == HN_JSON_STRING)) &&
                        (as != ANTHROPIC || !strcmp(kind->as.string.text, "error"));
    hn_json_free(read);
    return is_one;
}

static bool is_stream(int kind)
{
    return kinds[kind].body && (strstr(kinds[kind].body, "\"stream\":true") || !strcmp(kinds[kind].path, "/api/chat"));
}

/* A stream that breaks off says what it would have said as far as it goes, in whole events; then why, unless that cannot be said. */
static void judge_stream(int kind, char *got, const char *wanted, bool is_whole)
{
    size_t n = 0;
    blank(got);
    while (got[n] && got[n] == wanted[n])
        n++;
    while (n && got[n - 1] != '\n')
        n--;
    if (!got[n]) {
        CHECK_THAT(!is_whole, "%s: it ended as if it were whole after: %s", kinds[kind].name, got);
        n_cut++;
        return;
    }
    char *at = strstr(got + n, kinds[kind].form == OLLAMA ? "{" : "data: ");
    char *end = at ? strchr(at, '\n') : NULL;
    if (end)
        *end = 0;
    CHECK_THAT(at && is_error(at + (kinds[kind].form == OLLAMA ? 0 : 6), kinds[kind].form), "said: %s", got + n);
    n_said_late++;
}

static void judge(int kind, http_reply *r, const char *wanted, int64_t nth, const char *whose)
{
    check_group(kinds[kind].name);
    if (r->status == 200 && r->is_whole) {
        char *said = malloc(r->body_bytes + 1);
        memcpy(said, r->body, r->body_bytes + 1);
        blank(said);
        if (strcmp(said, wanted) != 0 && is_stream(kind))
            judge_stream(kind, r->body, wanted, true);
        else
            CHECK_THAT(!strcmp(said, wanted), "%s %lld refused: said\n%s\nfor\n%s", whose, (long long)nth, said, wanted);
        free(said);
    } else if (r->status == 200 && is_stream(kind)) {
        n_cut++; /* without its last chunk: nobody takes it for the whole */
    } else if (r->status == 0 || r->status == 200) {
        n_cut++;
    } else {
        n_told++;
        const bool is_early = strstr(r->body, "there is no memory for th"); /* perhaps before it was read what is asked */
        CHECK_THAT(r->is_whole && (r->status == 500 || r->status == 503) && (is_error(r->body, kinds[kind].form) || (is_early && is_error(r->body, OPENAI))),
                   "%s %lld refused: status %d: %s", whose, (long long)nth, r->status, r->body);
    }
}

/* ---- one after the other ---- */

/* What the request has made goes again. */
static void undo(int kind)
{
    hn_failure why;
    look();
    if (!strcmp(kinds[kind].name, "an adapter"))
        hn_shelf_drop_adapter(&shelf, "llama", "a", 0, &why);
    if (kinds[kind].body && !strcmp(kinds[kind].name, "a job"))
        while (jobs->n_jobs) {
            hn_job_hold(jobs, jobs->jobs[0], -1);
            hn_job_drop(jobs, jobs->jobs[0]);
        }
    if (kinds[kind].body && !strcmp(kinds[kind].name, "a file"))
        while (jobs->n_uploads > 1)
            if (!CHECK(hn_upload_remove(jobs, jobs->uploads[jobs->n_uploads - 1], &why)))
                return;
}

static void ask(int kind, http_reply *r)
{
    static char request[ROOM];
    http_client client;
    *r = (http_reply){ 0 };
    const size_t n = request_of(kind, request, sizeof request);
    if (CHECK(client_open(&client, port))) {
        client_say(&client, request, n);
        *r = client_reply(&client, false, ANSWER_MS);
        CHECK_THAT(r->is_whole || client.is_ended, "%s: no answer in %d s", kinds[kind].name, ANSWER_MS / 1000);
    }
    client_close(&client);
}

static char *wanted_of(int kind)
{
    http_reply r;
    ask(kind, &r);
    undo(kind);
    if (!CHECK_THAT(r.status == 200 && r.is_whole, "%s: %d: %s", kinds[kind].name, r.status, r.body))
        return NULL;
    blank(r.body);
    return r.body;
}

/* The models keep what they made of the latest rules. */
static bool keeps_rules(int kind) { return kinds[kind].body && (strstr(kinds[kind].body, "schema") || strstr(kinds[kind].body, "grammar")); }

static void warm_up(int kind)
{
    for (int i = 0; i < (keeps_rules(kind) ? 12 : 3); i++)
        free(wanted_of(kind));
}

static void check_left(int kind, const left_behind *before, int64_t nth, const char *whose)
{
    const left_behind after = look_for(before);
    CHECK_THAT(is_same(before, &after), "%s: %s %lld refused: %lld blocks and %lld, %lld bytes were, now %lld and %lld, %lld", kinds[kind].name,
               whose, (long long)nth, (long long)before->blocks, (long long)before->bytes[0], (long long)before->bytes[1],
               (long long)after.blocks, (long long)after.bytes[0], (long long)after.bytes[1]);
}

/* False: the request does not come to this one. */
static bool try_one(int kind, int which, int64_t nth, const char *wanted, const left_behind *before)
{
    http_reply r;
    const int64_t first = calls_of(which);
    refuse(which, nth);
    ask(kind, &r);
    while (!hn_server_is_idle(server))
        pause_ms(1);
    refuse(which, 0);
    const bool is_reached = calls_of(which) >= first + nth;
    judge(kind, &r, wanted, nth, heap_names[which]);
    if (kinds[kind].body && !strcmp(kinds[kind].name, "a job"))
        CHECK_THAT(jobs->n_jobs == (r.status == 200), "%lld refused: %zu jobs after status %d", (long long)nth, jobs->n_jobs, r.status);
    if (kinds[kind].body && !strcmp(kinds[kind].name, "a file"))
        CHECK_THAT(jobs->n_uploads == 1 + (size_t)(r.status == 200), "%lld refused: %zu files after status %d", (long long)nth,
                   jobs->n_uploads, r.status);
    reply_free(&r);
    undo(kind);
    ask(kind, &r);
    undo(kind);
    if (r.status == 200)
        blank(r.body);
    CHECK_THAT(r.status == 200 && r.is_whole && !strcmp(r.body, wanted), "after %s %lld was refused: %d: %s\nfor\n%s", heap_names[which],
               (long long)nth, r.status, r.body, wanted);
    reply_free(&r);
    if (!keeps_rules(kind))
        check_left(kind, before, nth, heap_names[which]);
    return is_reached;
}

static void try_kind(int kind)
{
    int64_t tried = 0;
    check_group(kinds[kind].name);
    warm_up(kind); /* what a first request makes */
    char *wanted = wanted_of(kind);
    pause_ms(50);
    const left_behind before = look();
    const char *from = check_option("--from"); /* by hand: of the server's own, with --only */
    for (int which = 0; which < N_HEAPS && wanted; which++) {
        const int64_t stride = !check_flag("--quick") ? 1 : which == OWN ? 7 : 47;
        int64_t nth = from ? strtoll(from, NULL, 10) : 1 + (kind + which) % stride;
        for (; nth < MOST_ALLOCATIONS && try_one(kind, which, nth, wanted, &before); nth += stride)
            tried++;
    }
    if (keeps_rules(kind)) {
        warm_up(kind);
        check_left(kind, &before, 0, "all");
    }
    CHECK_THAT(tried > 0, "%lld allocations", (long long)tried);
    if (check_flag("--tell"))
        printf("%s: %lld; %d told, %d cut, %d in a stream\n", kinds[kind].name, (long long)tried, n_told, n_cut, n_said_late);
    free(wanted);
}

/* ---- the server ---- */

static bool fill_shelf(void)
{
    static const struct {
        const char *name, *path;
    } models[] = { { "tiny", "hone:tiny" }, { "llama", HN_SOURCE_DIR "/tests/differential/models/llama" },
                   { "bert", HN_SOURCE_DIR "/tests/differential/models/bert" } };
    hn_shelf_open(&shelf, &heap, engine, 0);
    for (int i = 0; i < 3; i++) {
        hn_served *m;
        const hn_served_options o = { .path = models[i].path, .model = { .size = sizeof o.model },
                                      .batch = { .size = sizeof o.batch, .sequences = 4, .context = 128 },
                                      .scheduler = { .size = sizeof o.scheduler }, .takes_adapters = i == 1,
                                      .pooling = i == 1 ? "lasttoken" : NULL,
                                      .folder = i == 1 ? adapters : NULL };
        if (!CHECK_OK(hn_shelf_add(&shelf, models[i].name, &o, &m)))
            return false;
    }
    return true;
}

static bool serve(void)
{
    bool is_done = false;
    const hn_jobs_options j = { .folder = kept, .program = "/nowhere", .threads = 1 };
    if (!fill_shelf() || !CHECK_OK(hn_jobs_open(&jobs, &shelf, NULL, &j)))
        return false;
    const hn_server_options o = { .http = { .port = 0 }, .jobs = jobs, .responses = { .kept = 1 } };
    if (!CHECK_OK(hn_server_open(&server, &shelf, &o)))
        return false;
    while (!is_done && CHECK(!hn_server_loading(server, &is_done)))
        pause_ms(5);
    port = hn_server_port(server);
    return is_done;
}

static bool make_files(void)
{
    char path[200];
    snprintf(adapters, sizeof adapters, "%s/adapters", dir);
    snprintf(kept, sizeof kept, "%s/jobs", dir);
    snprintf(path, sizeof path, "%s/a.gguf", adapters);
    return CHECK_OK(hn_kept_folder(adapters)) &&
           CHECK_OK(hn_lm_import_adapter(engine, HN_SOURCE_DIR "/tests/differential/adapters/llama",
                                         HN_SOURCE_DIR "/tests/differential/models/llama", path, NULL));
}

static int kind_named(const char *name)
{
    int i = 0;
    while (i < N_KINDS && strcmp(kinds[i].name, name) != 0)
        i++;
    return i;
}

static void try_all(void)
{
    const char *only = check_option("--only");
    http_reply r;
    ask(kind_named("a file"), &r); /* what jobs are made of */
    if (CHECK(r.status == 200 && jobs->n_uploads == 1))
        memcpy(upload_id, jobs->uploads[0]->id, sizeof upload_id);
    reply_free(&r);
    for (int i = 0; i < N_KINDS; i++)
        if (!only || !strcmp(only, kinds[i].name))
            try_kind(i);
    check_group(NULL);
    if (!only)
        CHECK_THAT(n_told > 100 && n_said_late > 10 && n_cut < n_told, "%d were told, %d in a stream, %d cut off", n_told, n_said_late, n_cut);
}

int main(int argc, char **argv)
{
    const hn_engine_options one = { .size = sizeof one, .n_threads = 1 };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (!CHECK(mkdtemp(dir)) || !CHECK_OK(hn_engine_new(&engine, &one)))
        return check_close();
    if (make_files() && serve())
        try_all();
    hn_server_close(server);
    hn_jobs_close(jobs);
    hn_shelf_close(&shelf);
    hn_engine_free(engine);
    hn_kept_remove(dir);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
