/* Jobs in a server in memory, whose trainer is this program: a job that does not fit waits and says for what, one that does goes first,
 * and one that never can is refused; nobody trains where an old trainer still holds the folder; and what was trained is served as soon
 * as there is room for it. Where a record cannot be written, what was asked for is refused and has left nothing, and what came of
 * training is so, and written as soon as it can be; what a process left that ended between a record and its deed is done at start. */
#include "base/file.h"
#include "hone/hone.h"
#include "server/jobs_state.h"
#include "server/served_adapters.h"
#include "server/server.h"
#include "tests/harness/check.h"
#include "tests/property/http_client.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LLAMA HN_SOURCE_DIR "/tests/differential/models/llama"
enum { SOON_MS = 8000, STAYS_MS = 700 };

static hn_heap heap;
static hn_engine *engine;
static hn_shelf shelf;
static hn_jobs *jobs;
static hn_server *server;
static char dir[] = "/tmp/hone-jobs-XXXXXX", folder[100], adapter[200], file_id[HN_ITEM_ID];
static _Atomic size_t left;

static size_t left_now(void) { return left; }

/* ---- the trainer: `PROGRAM train MODEL ... --out FOLDER`; the adapter lies beside the jobs, and a file that holds it up. Its first
 * step takes two seconds, and its second, and last, four ---- */

static bool tell_steps(const char *out, int n)
{
    static const char lines[] = "{\"step\":1,\"loss\":3.5,\"seconds\":2}\n{\"step\":2,\"loss\":3,\"seconds\":4}\n";
    char path[400];
    snprintf(path, sizeof path, "%s/metrics.jsonl", out);
    const hn_span span = { lines, n == 2 ? sizeof lines - 1 : strcspn(lines, "\n") + 1 };
    return hn_kept_folder(out) == HN_OK && hn_file_write(hn_sink_own(path), &span, 1) == HN_OK;
}

static int train(int argc, char **argv)
{
    char path[400], from[400];
    void *data;
    size_t bytes;
    const char *out = NULL;
    for (int i = 0; i + 1 < argc; i++)
        out = !strcmp(argv[i], "--out") ? argv[i + 1] : out;
    if (!out)
        return 1;
    hn_heap_init(&heap, NULL);
    snprintf(from, sizeof from, "%s/../../../../a.gguf", out);
    hn_lock_file lock = { 0 };
    char held[400];
    snprintf(path, sizeof path, "%s/../../../../hold", out);
    if (!tell_steps(out, 1))
        return 1;
    while (!access(path, F_OK))
        pause_ms(5);
    snprintf(path, sizeof path, "%s/adapter.gguf", out);
    snprintf(held, sizeof held, "%s/lock", out);
    if (!tell_steps(out, 2) || hn_lock_file_take(&lock, held) != HN_OK ||
        hn_file_read(&heap, from, 1 << 20, &data, &bytes) != HN_OK)
        return 1;
    const hn_span span = { data, bytes };
    const hn_status written = hn_file_write(hn_sink_new(path), &span, 1);
    hn_free(&heap, data);
    hn_lock_file_release(&lock);
    return written == HN_OK ? 0 : 1;
}

/* ---- asking ---- */

static http_reply ask(const char *method, const char *path, const char *type, const char *body)
{
    static char request[4000];
    const int n = snprintf(request, sizeof request, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: %s\r\n"
                           "Content-Length: %zu\r\n\r\n%s", method, path, type, strlen(body), body);
    return client_ask(hn_server_port(server), request, (size_t)n);
}

/* The value of a field of an object, as it stands there. */
static void field(const char *json, const char *name, char *to, size_t room)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = json ? strstr(json, key) : NULL;
    at = at ? at + strlen(key) : "";
    const bool is_text = *at == '"';
    snprintf(to, room, "%.*s", (int)(is_text ? strcspn(at + 1, "\"") : strcspn(at, ",}")), at + is_text);
}

static int create(int rank, char id[HN_ITEM_ID], char bytes[32])
{
    char body[400];
    snprintf(body, sizeof body, "{\"model\":\"llama\",\"training_file\":\"%s\",\"settings\":[\"rank=%d\",\"steps=2\"]}", file_id, rank);
    http_reply r = ask("POST", "/v1/fine_tuning/jobs", "application/json", body);
    field(r.body, "id", id, HN_ITEM_ID);
    field(r.body, "memory_bytes", bytes, 32);
    const int status = r.status;
    CHECK_THAT(status == 200, "%d: %s", status, r.body);
    reply_free(&r);
    return status;
}

static void look(const char *id, const char *name, char *to, size_t room)
{
    char path[200];
    snprintf(path, sizeof path, "/v1/fine_tuning/jobs/%s", id);
    http_reply r = ask("GET", path, "application/json", "");
    field(r.body, name, to, room);
    reply_free(&r);
}

/* Whether the field comes to be so. */
static bool comes(const char *id, const char *name, const char *wanted)
{
    char is[400] = "";
    for (int ms = 0; ms < SOON_MS && strcmp(is, wanted) != 0; ms += 20) {
        look(id, name, is, sizeof is);
        pause_ms(20);
    }
    char why[400];
    look(id, "message", why, sizeof why); /* of its error */
    return CHECK_THAT(!strcmp(is, wanted), "%s: %s is %s: expected %s (%s)", id, name, is, wanted, why);
}

static void stays(const char *id, const char *wanted)
{
    char is[64];
    for (int ms = 0; ms < STAYS_MS; ms += 50) {
        look(id, "status", is, sizeof is);
        if (!CHECK_THAT(!strcmp(is, wanted), "%s is %s: expected %s", id, is, wanted))
            return;
        pause_ms(50);
    }
}

/* ---- what is tried ---- */

static void hold_trainers(bool holds)
{
    char path[200];
    snprintf(path, sizeof path, "%s/hold", dir);
    const hn_span nothing = { "", 0 };
    if (holds)
        CHECK_OK(hn_file_write(hn_sink_own(path), &nothing, 1));
    else
        CHECK(!remove(path));
}

/* What it would take; below 0: nobody knows. */
static double time_of(int rank, int steps, char by[HN_ITEM_ID])
{
    char body[400], seconds[40];
    snprintf(body, sizeof body, "{\"model\":\"llama\",\"training_file\":\"%s\",\"dry_run\":true,\"settings\":[\"rank=%d\",\"steps=%d\"]}", file_id,
             rank, steps);
    http_reply r = ask("POST", "/v1/fine_tuning/jobs", "application/json", body);
    CHECK_THAT(r.status == 200, "%d: %s", r.status, r.body);
    field(r.body, "estimated_seconds", seconds, sizeof seconds);
    field(r.body, "estimated_by", by, HN_ITEM_ID);
    reply_free(&r);
    return !strcmp(seconds, "null") ? -1 : strtod(seconds, NULL);
}

static void is_about(double wanted, double is) { CHECK_THAT(fabs(is - wanted) < 1e-6, "%.17g s: expected %g", is, wanted); }

static void nobody_knows(void)
{
    char by[HN_ITEM_ID];
    CHECK(time_of(4, 10, by) < 0 && !strcmp(by, "null"));
}

/* By steps of one's own runs of this model that were computed so, and in proportion to what is computed. */
static void check_time(void)
{
    char id[HN_ITEM_ID], by[HN_ITEM_ID], bytes[32];
    check_group("time");
    nobody_knows();
    hold_trainers(true);
    left = SIZE_MAX;
    if (create(4, id, bytes) == 200 && comes(id, "status", "running")) {
        comes(id, "estimated_seconds", "2.0"); /* one step is left */
        comes(id, "estimated_by", id);
        is_about(20, time_of(4, 10, by)); /* another's one step */
    }
    hold_trainers(false);
    comes(id, "status", "succeeded");
    comes(id, "estimated_seconds", "null");
    is_about(30, time_of(4, 10, by)); /* three seconds each */
    CHECK_TEXT(id, by);
    CHECK_THAT(time_of(256, 10, by) > 40, "%.17g s of rank 256", time_of(256, 10, by));
    hn_job *job = jobs->jobs[0];
    jobs->o.threads = 2;
    nobody_knows();
    jobs->o.threads = 1;
    job->work.threads = HN_MIXED_THREADS;
    nobody_knows();
    job->work.threads = 1;
    job->work.numerics[0] ^= 1;
    nobody_knows();
    job->work.numerics[0] ^= 1;
    job->owner[0] = 'x';
    nobody_knows();
    job->owner[0] = 0;
    job->model[0] = 'x';
    nobody_knows();
    job->model[0] = 'l';
    is_about(30, time_of(4, 10, by));
}

static void check_memory(void)
{
    char large[HN_ITEM_ID], small[HN_ITEM_ID], bytes[2][32], why[400], path[200];
    check_group("memory");
    left = 1;
    if (create(512, large, bytes[0]) != 200 || create(1, small, bytes[1]) != 200)
        return;
    stays(large, "queued");
    stays(small, "queued");
    look(large, "waits_for", why, sizeof why);
    CHECK_THAT(!strncmp(why, "memory: ", 8) && strstr(why, "GiB are needed"), "it waits for %s", why);
    snprintf(path, sizeof path, "/v1/fine_tuning/jobs/%s/events", large);
    http_reply r = ask("GET", path, "application/json", "");
    CHECK_THAT(r.body && strstr(r.body, "it waits for memory"), "%s", r.body);
    reply_free(&r);
    CHECK_THAT(strtoll(bytes[0], NULL, 10) > strtoll(bytes[1], NULL, 10), "%s and %s bytes", bytes[0], bytes[1]);
    left = (size_t)strtoll(bytes[1], NULL, 10); /* for the second alone */
    comes(small, "status", "succeeded");
    stays(large, "queued");
    left = (size_t)strtoll(bytes[0], NULL, 10);
    comes(large, "status", "succeeded");
    comes(large, "waits_for", "null");
}

static void check_lock(void)
{
    char id[HN_ITEM_ID], bytes[32], path[300];
    hn_lock_file lock = { 0 };
    check_group("an old trainer");
    left = 1;
    if (create(1, id, bytes) != 200)
        return;
    snprintf(path, sizeof path, "%s/jobs/%s/run", folder, id);
    CHECK_OK(hn_kept_folder(path));
    snprintf(path, sizeof path, "%s/jobs/%s/run/lock", folder, id);
    CHECK_OK(hn_lock_file_take(&lock, path));
    left = SIZE_MAX;
    stays(id, "queued");
    hn_lock_file_release(&lock);
    comes(id, "status", "succeeded");
}

static void check_place(void)
{
    char id[HN_ITEM_ID], bytes[32], served[200];
    hn_served *m;
    hn_served_adapter *held;
    hn_failure why;
    check_group("a place");
    const hn_adapter_order o = { .name = "held", .path = adapter };
    if (!CHECK_THAT(hn_shelf_take_adapter(&shelf, &o, &why), "%s", why.message) ||
        !CHECK(hn_shelf_find(&shelf, "llama:held", 0, &m, &held, &why) && held))
        return;
    if (create(1, id, bytes) == 200) {
        comes(id, "status", "succeeded");
        comes(id, "fine_tuned_model", "null");
        pause_ms(STAYS_MS);
        look(id, "fine_tuned_model", served, sizeof served);
        CHECK_TEXT("null", served);
    }
    hn_adapter_let_go(m, held);
    hn_served_let_go(m);
    snprintf(served, sizeof served, "llama:ft-%.8s", id + strlen("ftjob-"));
    comes(id, "fine_tuned_model", served);
}

/* ---- records that cannot be written: a folder has the record's name ---- */

static void name_record(const char *id, const char *what, char path[300]) { snprintf(path, 300, "%s/jobs/%s/job.json%s", folder, id, what); }

static void block(const char *id, bool is_blocked)
{
    char record[300], aside[300];
    name_record(id, "", record);
    name_record(id, ".aside", aside);
    if (is_blocked)
        CHECK(!rename(record, aside) && !mkdir(record, 0700));
    else
        CHECK(!rmdir(record) && !rename(aside, record));
}

static int events(const char *id)
{
    char path[200];
    int n = 0;
    snprintf(path, sizeof path, "/v1/fine_tuning/jobs/%s/events?limit=100", id);
    http_reply r = ask("GET", path, "application/json", "");
    for (const char *at = r.body; at && (at = strstr(at, "\"level\"")); at++)
        n++;
    reply_free(&r);
    return n;
}

static void refuses_change(const char *id, const char *what)
{
    char path[200], before[64], after[64];
    const int n = events(id);
    look(id, "status", before, sizeof before);
    snprintf(path, sizeof path, "/v1/fine_tuning/jobs/%s/%s", id, what);
    http_reply r = ask("POST", path, "application/json", "{}");
    CHECK_THAT(r.status >= 500, "%s: %d: %s", what, r.status, r.body);
    reply_free(&r);
    look(id, "status", after, sizeof after);
    CHECK_TEXT(before, after);
    CHECK_INT(n, events(id));
}

static bool changes(const char *id, const char *what)
{
    char path[200];
    snprintf(path, sizeof path, "/v1/fine_tuning/jobs/%s/%s", id, what);
    http_reply r = ask("POST", path, "application/json", "{}");
    const bool is_well = CHECK_THAT(r.status == 200, "%s: %d: %s", what, r.status, r.body);
    reply_free(&r);
    return is_well;
}

static bool record_says(const char *id, const char *words)
{
    char path[300];
    void *text = NULL;
    size_t bytes;
    bool holds = false;
    name_record(id, "", path);
    for (int ms = 0; ms < SOON_MS && !holds; ms += 50) {
        if (hn_file_read(&heap, path, 1 << 20, &text, &bytes) == HN_OK) {
            holds = strstr(text, words) != NULL;
            hn_free(&heap, text);
        }
        pause_ms(50);
    }
    return CHECK_THAT(holds, "%s: nothing of %s", path, words);
}

static void check_asked(void)
{
    char id[HN_ITEM_ID], bytes[32];
    check_group("what was asked for, and cannot be written");
    left = 1;
    if (create(1, id, bytes) != 200)
        return;
    stays(id, "queued");
    for (int ms = 0; ms < 60000 && events(id) < 2; ms += 50) /* until it has said what it waits for */
        pause_ms(50);
    block(id, true);
    refuses_change(id, "pause");
    refuses_change(id, "cancel");
    block(id, false);
    if (!changes(id, "pause"))
        return;
    block(id, true);
    refuses_change(id, "resume");
    refuses_change(id, "cancel");
    block(id, false);
    changes(id, "cancel");
    CHECK_INT(4, events(id)); /* it waits, for what, paused, cancelled */
}

static void check_begin(void)
{
    char id[HN_ITEM_ID], bytes[32], why[400];
    check_group("a beginning that cannot be written");
    left = 1;
    if (create(1, id, bytes) != 200)
        return;
    stays(id, "queued");
    block(id, true);
    left = SIZE_MAX;
    pause_ms(1500); /* it is looked at every second */
    stays(id, "queued");
    look(id, "waits_for", why, sizeof why);
    CHECK_THAT(!strncmp(why, "disk: ", 6) && !strstr(why, folder), "it waits for %s", why);
    block(id, false);
    comes(id, "status", "succeeded");
    record_says(id, "\"state\":3");
}

/* A run that goes on with another number of threads than it began with measures neither. */
static void check_mixed(void)
{
    char id[HN_ITEM_ID], bytes[32], path[300];
    check_group("other threads");
    left = 1;
    if (create(1, id, bytes) != 200)
        return;
    snprintf(path, sizeof path, "%s/jobs/%s/run", folder, id);
    CHECK_OK(hn_kept_folder(path));
    snprintf(path, sizeof path, "%s/jobs/%s/run/step-1", folder, id);
    CHECK_OK(hn_kept_folder(path));
    jobs->o.threads = 2;
    left = SIZE_MAX;
    comes(id, "status", "succeeded");
    jobs->o.threads = 1;
    record_says(id, "\"threads\":-1");
}

static void check_found(void)
{
    char id[HN_ITEM_ID], bytes[32];
    check_group("an end that cannot be written");
    left = SIZE_MAX;
    hold_trainers(true);
    if (create(1, id, bytes) == 200 && comes(id, "status", "running")) {
        block(id, true);
        hold_trainers(false);
        comes(id, "status", "succeeded");
        pause_ms(1500);
        stays(id, "succeeded");
        block(id, false);
        record_says(id, "\"state\":3");
    } else
        hold_trainers(false);
}

/* A record of a server that did not count it says nothing of work. */
static void forget_work(const char *id)
{
    char path[300];
    void *text = NULL;
    size_t bytes;
    name_record(id, "", path);
    if (!CHECK_OK(hn_file_read(&heap, path, 1 << 20, &text, &bytes)))
        return;
    char *from = strstr(text, "\"work\":{"), *to = from ? strstr(from, "},") : NULL;
    if (CHECK_THAT(to, "%s", (char *)text)) {
        memmove(from, to + 2, strlen(to + 2) + 1);
        const hn_span span = { text, strlen(text) };
        CHECK_OK(hn_file_write(hn_sink_own(path), &span, 1));
    }
    hn_free(&heap, text);
}

static void check_work(const char *forgotten)
{
    CHECK(jobs->n_jobs > 1);
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        const hn_job *job = jobs->jobs[i];
        const bool is_known = strcmp(job->id, forgotten) != 0;
        CHECK_THAT((job->work.operations > 0) == is_known && !job->work.threads != is_known, "%s: %.17g operations by %lld", job->id,
                   job->work.operations, (long long)job->work.threads);
    }
}

/* The server is closed. */
static void check_left(const char *cancelled, const char *away)
{
    const char *ids[] = { cancelled, away };
    char path[300];
    check_group("what a process left");
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/jobs/%s/run", folder, ids[i]);
        CHECK_THAT(access(path, F_OK) != 0, "%s is there", path);
        CHECK_OK(hn_kept_folder(path));
    }
    forget_work(away);
    if (!CHECK_OK(hn_jobs_open(&jobs, &shelf, NULL, &(hn_jobs_options){ .folder = folder, .program = "/nothing", .threads = 1 })))
        return;
    check_work(away);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/jobs/%s/run", folder, ids[i]);
        CHECK_THAT(access(path, F_OK) != 0, "%s is there", path);
    }
    hn_jobs_close(jobs);
}

static void put_away(char id[HN_ITEM_ID])
{
    char bytes[32], path[200], served[100];
    check_group("put away");
    left = SIZE_MAX;
    if (create(1, id, bytes) != 200 || !comes(id, "status", "succeeded"))
        return;
    snprintf(served, sizeof served, "llama:ft-%.8s", id + strlen("ftjob-"));
    comes(id, "fine_tuned_model", served);
    snprintf(path, sizeof path, "/v1/models/%s", served);
    block(id, true);
    http_reply r = ask("DELETE", path, "application/json", "");
    CHECK_THAT(r.status >= 500, "%d: %s", r.status, r.body);
    reply_free(&r);
    block(id, false);
    comes(id, "fine_tuned_model", served);
    r = ask("DELETE", path, "application/json", "");
    CHECK_THAT(r.status == 200, "%d: %s", r.status, r.body);
    reply_free(&r);
}

static void cancel(char id[HN_ITEM_ID])
{
    char bytes[32];
    check_group("cancelled");
    left = SIZE_MAX;
    hold_trainers(true);
    if (create(1, id, bytes) == 200 && comes(id, "status", "running"))
        changes(id, "cancel");
    hold_trainers(false);
}

/* Jobs that are over hold no file, however they ended. */
static void check_file_goes(void)
{
    char path[200];
    check_group("a file of jobs that are over");
    snprintf(path, sizeof path, "/v1/files/%s", file_id);
    http_reply r = ask("DELETE", path, "application/json", "");
    CHECK_THAT(r.status == 200, "%d: %s", r.status, r.body);
    reply_free(&r);
}

/* ---- the server ---- */

static bool serve(const char *program)
{
    bool is_done = false;
    hn_served *m;
    const hn_served_options o = { .path = LLAMA, .model = { .size = sizeof o.model }, .batch = { .size = sizeof o.batch, .sequences = 2, .context = 64 },
                                  .scheduler = { .size = sizeof o.scheduler }, .takes_adapters = true, .adapters = 1 };
    const hn_jobs_options j = { .folder = folder, .program = program, .threads = 1, .left = left_now };
    hn_shelf_open(&shelf, &heap, engine, 0);
    if (!CHECK_OK(hn_shelf_add(&shelf, "llama", &o, &m)) || !CHECK_OK(hn_jobs_open(&jobs, &shelf, NULL, &j)) ||
        !CHECK_OK(hn_server_open(&server, &shelf, &(hn_server_options){ .http = { .port = 0 }, .jobs = jobs })))
        return false;
    while (!is_done && CHECK(!hn_server_loading(server, &is_done)))
        pause_ms(5);
    hn_jobs_begin(jobs);
    return is_done;
}

static bool upload(void)
{
    http_reply r = ask("POST", "/v1/files", "multipart/form-data; boundary=xx",
                       "--xx\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nfine-tune\r\n--xx\r\n"
                       "Content-Disposition: form-data; name=\"file\"; filename=\"a.jsonl\"\r\n\r\n"
                       "{\"prompt\":\"a\",\"completion\":\"b\"}\n{\"prompt\":\"c\",\"completion\":\"d\"}\n\r\n--xx--\r\n");
    field(r.body, "id", file_id, sizeof file_id);
    const bool is_there = CHECK_THAT(r.status == 200, "%d: %s", r.status, r.body);
    reply_free(&r);
    return is_there;
}

/* Its own file, from wherever it was called. */
static bool find_program(const char *word, char path[4096])
{
    char here[2048] = "";
    if (*word != '/' && !getcwd(here, sizeof here))
        return false;
    snprintf(path, 4096, "%s%s%.1000s", here, *here ? "/" : "", word);
    return true;
}

int main(int argc, char **argv)
{
    char program[4096], cancelled[HN_ITEM_ID] = "", away[HN_ITEM_ID] = "";
    if (argc > 1 && !strcmp(argv[1], "train"))
        return train(argc, argv);
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (!CHECK(mkdtemp(dir)) || !CHECK_OK(hn_engine_new(&engine, NULL)) || !CHECK(find_program(argv[0], program)))
        return check_close();
    snprintf(folder, sizeof folder, "%s/jobs", dir);
    snprintf(adapter, sizeof adapter, "%s/a.gguf", dir);
    CHECK_OK(hn_lm_import_adapter(engine, HN_SOURCE_DIR "/tests/differential/adapters/llama", LLAMA, adapter, NULL));
    if (serve(program) && upload()) {
        check_time();
        check_memory();
        check_lock();
        check_place();
        check_asked();
        check_begin();
        check_found();
        check_mixed();
        put_away(away);
        cancel(cancelled);
        check_file_goes();
    }
    hn_server_close(server);
    hn_jobs_close(jobs);
    if (*cancelled && *away)
        check_left(cancelled, away);
    hn_shelf_close(&shelf);
    hn_engine_free(engine);
    hn_kept_remove(dir);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
