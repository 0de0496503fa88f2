/* Training: one job at a time, in a process of its own.
 *
 *     queued --> [weighed] --> running --> [finishing] --> succeeded        queued or running --> paused --> queued
 *        ^                        |`---- it refused, or its fourth signal without a new checkpoint --> failed
 *        `-------- a signal ------'    what is neither over nor finishing may be cancelled
 *
 * The office owns all of it and never waits: it looks ten times a second. `trained` is the one slot: its job is with the child, or
 * in brackets, with the reader, and nobody else begins. The slot is given back when child or reader have ended, not when somebody
 * asks: who pauses keeps it until the child has saved; who cancels ends the child. The reader has copies of what may change, and
 * its task comes back to the office, where the job may be another by then: it is looked at again. What is asked for is on the disk
 * before it is so (hn_job_become); what has ended is so at once, and is written until it is (keep). */
#include "base/file.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/os/memory.h"
#include "base/sha256.h"
#include "server/jobs_state.h"
#include "server/served_adapters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RESTARTS = 3, FAILED = 1, USAGE = 2 };
#define AGAIN_NS INT64_C(1000000000) /* between two looks whether there is room now */

/* What was found out: where it cannot be written, it is so all the same, and is written later; whoever begins again before that
 * finds it out again. */
static void keep(hn_jobs *jobs, hn_job *job)
{
    hn_failure why;
    if (!hn_job_record(jobs, job, &why))
        jobs->keep_ns = hn_clock_ns() + AGAIN_NS;
}

void hn_jobs_keep(hn_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n_jobs; i++)
        if (jobs->jobs[i]->is_listed && jobs->jobs[i]->is_unkept)
            keep(jobs, jobs->jobs[i]);
}

/* ---- ends ---- */

static int64_t now_seconds(void) { return hn_clock_wall_ns() / 1000000000; }

static void over(hn_jobs *jobs, hn_job *job, hn_job_state state)
{
    job->state = state;
    job->finished = now_seconds();
    hn_job_hold(jobs, job, -1);
}

static void fail(hn_jobs *jobs, hn_job *job, const char *code, const char *message)
{
    snprintf(job->code, sizeof job->code, "%s", code);
    snprintf(job->error, sizeof job->error, "%s", message);
    hn_jobs_clean(jobs, job->error, sizeof job->error);
    over(jobs, job, HN_JOB_FAILED);
    hn_job_note_add(job, "error", "%.180s", job->error);
    keep(jobs, job);
}

/* What follows `name` where it said that last. */
static void last_words(hn_jobs *jobs, const hn_job *job, const char *name, char *to, size_t room)
{
    char path[HN_KEPT_PATH];
    void *text;
    size_t bytes;
    snprintf(to, room, "training ended without a word");
    hn_job_path(jobs, job, "train.log", path);
    if (hn_file_read(jobs->heap, path, (size_t)1 << 26, &text, &bytes) != HN_OK)
        return;
    char *found = NULL;
    for (char *at = text; (at = strstr(at, name)); at++)
        found = at + strlen(name);
    if (found)
        snprintf(to, room, "%.*s", (int)strcspn(found, "\n"), found);
    hn_free(jobs->heap, text);
}

/* ---- what came of it ---- */

typedef struct finishing {
    hn_task task;
    hn_jobs *jobs;
    hn_job *job;
    char path[HN_KEPT_PATH], sha256[65], verdict[HN_LONG_TEXT], adapter[64], model[128];
    uint64_t owner;
    int64_t tokens;
    bool is_there, is_served, is_new, is_late, lacks_place;
    hn_job_checkpoint checkpoints[HN_MOST_CHECKPOINTS];
    size_t n_checkpoints;
    hn_failure why, why_not; /* why_not: the last of the checkpoints is not served */
} finishing;

static void read_metrics(finishing *f)
{
    hn_job_metrics m;
    hn_job_metrics_read(f->jobs, f->job, &m);
    for (size_t at = 0; at < m.bytes;) {
        hn_json_text *line;
        const char *end = memchr(m.text + at, '\n', m.bytes - at);
        const size_t n = end ? (size_t)(end - m.text) - at : m.bytes - at;
        if (end && hn_json_read(f->jobs->heap, "a line", m.text + at, n, &line) == HN_OK) {
            const hn_json *v = hn_json_root(line);
            f->tokens += hn_field_int(v, "tokens", 0);
            snprintf(f->verdict, sizeof f->verdict, "%s", hn_field_text(v, "verdict", f->verdict));
            hn_json_free(line);
        }
        at += n + 1;
    }
    hn_job_metrics_free(&m);
}

static uint64_t owner_of(const hn_jobs *jobs, const char *name)
{
    const hn_key *key = jobs->keys && *name ? hn_keys_named(jobs->keys, name) : NULL;
    return key ? key->owner : 0;
}

/* A certificate that lacks memory is no reason to lose what was trained. */
static void note_certificate(hn_jobs *jobs, hn_job *job)
{
    char path[HN_KEPT_PATH], why[HN_NOTE_TEXT];
    hn_job_path(jobs, job, "run/certificate.json", path);
    if (hn_os_is_there(path)) {
        hn_job_note_add(job, "info", "it has its certificate");
        return;
    }
    last_words(jobs, job, "no certificate: ", why, sizeof why);
    hn_job_note_add(job, "warn", "it has no certificate: %.160s", why);
}

static void succeed(hn_jobs *jobs, hn_job *job, const finishing *f)
{
    memcpy(job->sha256, f->sha256, sizeof job->sha256);
    memcpy(job->verdict, f->verdict, sizeof job->verdict);
    job->trained_tokens = f->tokens;
    over(jobs, job, HN_JOB_SUCCEEDED);
    hn_job_note_add(job, "info", "it is trained: sha256 %s", job->sha256);
    note_certificate(jobs, job);
    if (f->is_served)
        hn_job_note_add(job, "info", "it is served as %.70s:%.60s", job->model, job->adapter);
    else
        hn_job_note_add(job, "warn", "it is not served: %.170s", f->why.message);
    for (size_t i = 0; i < f->n_checkpoints && f->is_served; i++)
        if (!f->checkpoints[i].is_served)
            hn_job_note_add(job, "warn", "the checkpoint of step %lld is not served: %.140s", (long long)f->checkpoints[i].step,
                            f->why_not.message);
    keep(jobs, job);
    hn_upload_results(jobs, job);
}

/* What was deleted while it was taken is served no more. */
static void mark_served(finishing *f)
{
    hn_jobs *jobs = f->jobs;
    hn_job *job = f->job;
    char name[HN_ADAPTER_NAME];
    hn_failure unserved;
    for (size_t i = 0; i < f->n_checkpoints; i++) {
        hn_job_checkpoint *c = hn_job_checkpoint_of(job, f->checkpoints[i].step);
        if (c)
            c->is_served = f->checkpoints[i].is_served;
        hn_job_checkpoint_name(job, f->checkpoints[i].step, name);
        if (!c && f->checkpoints[i].is_served)
            hn_shelf_drop_adapter(jobs->shelf, job->model, name, f->owner, &unserved);
    }
    job->is_served = f->is_served && !job->is_away;
    if (f->is_served && job->is_away)
        hn_shelf_drop_adapter(jobs->shelf, job->model, job->adapter, f->owner, &unserved);
}

static void end_finish(hn_task *task)
{
    finishing *f = (finishing *)(void *)task;
    hn_jobs *jobs = f->jobs;
    hn_job *job = f->job;
    const bool was_served = job->is_served;
    mark_served(f);
    job->lacks_place = f->lacks_place;
    job->again_ns = hn_clock_ns() + AGAIN_NS;
    if (!f->is_new && f->is_late && job->is_served && !was_served) {
        hn_job_note_add(job, "info", "there is room now: it is served as %.70s:%.60s", job->model, job->adapter);
        keep(jobs, job);
    }
    if (f->is_new) {
        jobs->trained = NULL;
        jobs->is_finishing = false;
    }
    if (f->is_new && !f->is_there)
        fail(jobs, job, "no_result", f->why.message);
    else if (f->is_new)
        succeed(jobs, job, f);
    hn_free(jobs->heap, f);
}

/* What a client is to have; one that cannot be written again is not for him. */
static void clean_results(const finishing *f)
{
    static const char *const names[] = { "run/report.html", "run/certificate.json" };
    char path[HN_KEPT_PATH];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hn_job_path(f->jobs, f->job, names[i], path);
        if (hn_os_is_there(path) && hn_jobs_clean_file(f->jobs, f->model, path) != HN_OK)
            hn_os_remove(path);
    }
}

/* Held to its contract, and found from here on. */
static bool take(finishing *f, const char *name, const char *path, hn_failure *why)
{
    const hn_adapter_order order = { .model = f->model, .name = name, .path = path, .owner = f->owner };
    const bool is_orphan = f->jobs->keys && !f->owner;
    if (f->jobs->ends || is_orphan)
        return false;
    if (hn_shelf_take_adapter(f->jobs->shelf, &order, why))
        return true;
    f->lacks_place = f->lacks_place || why->kind == HN_REFUSED_BUSY || why->kind == HN_REFUSED_NO_ROOM;
    return false;
}

static bool take_checkpoint(finishing *f, int64_t step)
{
    char name[HN_ADAPTER_NAME], file[32], what[48], path[HN_KEPT_PATH];
    hn_job_checkpoint_name(f->job, step, name); /* of what never changes */
    hn_job_checkpoint_file(step, file);
    snprintf(what, sizeof what, "run/%s", file);
    hn_job_path(f->jobs, f->job, what, path);
    return take(f, name, path, &f->why_not);
}

/* On the reader. */
static void finish(hn_task *task)
{
    finishing *f = (finishing *)(void *)task;
    hn_jobs *jobs = f->jobs;
    f->is_there = hn_sha256_file(f->path, f->sha256) == HN_OK;
    if (!f->is_there)
        hn_refuse_by(&f->why, HN_ERR_IO, NULL);
    if (f->is_there && f->is_new) {
        read_metrics(f);
        clean_results(f);
    }
    f->is_served = f->is_served || (f->is_there && take(f, f->adapter, f->path, &f->why));
    for (size_t i = 0; i < f->n_checkpoints && f->is_served; i++)
        f->checkpoints[i].is_served = f->checkpoints[i].is_served || take_checkpoint(f, f->checkpoints[i].step);
    hn_jobs_clean(jobs, f->why.message, sizeof f->why.message);
    hn_jobs_clean(jobs, f->why_not.message, sizeof f->why_not.message);
    f->task.run = end_finish;
    hn_worker_give(&jobs->office, &f->task);
}

static bool give_to_finish(hn_jobs *jobs, hn_job *job, bool is_new)
{
    finishing *f = jobs->ends ? NULL : hn_alloc(jobs->heap, HN_TAG_STATE, sizeof *f);
    if (!f)
        return false;
    *f = (finishing){ .task = { NULL, finish }, .jobs = jobs, .job = job, .owner = owner_of(jobs, job->owner), .is_new = is_new,
                      .is_late = job->lacks_place, .is_served = job->is_served };
    if (is_new)
        hn_job_find_checkpoints(jobs, job);
    memcpy(f->checkpoints, job->checkpoints, sizeof f->checkpoints);
    f->n_checkpoints = job->n_checkpoints;
    memcpy(f->adapter, job->adapter, sizeof f->adapter);
    memcpy(f->model, job->model, sizeof f->model);
    hn_job_path(jobs, job, "run/adapter.gguf", f->path);
    hn_worker_give(&jobs->reader, &f->task);
    return true;
}

/* On the office. What is not to be served any more, because its model or its key is gone, stays a file. */
void hn_jobs_serve_all(hn_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n_jobs; i++)
        if (jobs->jobs[i]->state == HN_JOB_SUCCEEDED && !jobs->jobs[i]->is_away)
            give_to_finish(jobs, jobs->jobs[i], false);
}

/* ---- the process ---- */

typedef struct newest {
    int64_t step;
} newest;

static bool look_at(void *context, const char *name)
{
    newest *n = context;
    if (!strncmp(name, "step-", 5) && strtoll(name + 5, NULL, 10) > n->step)
        n->step = strtoll(name + 5, NULL, 10);
    return true;
}

static int64_t saved_step(const hn_jobs *jobs, const hn_job *job)
{
    char run[HN_KEPT_PATH];
    newest n = { 0 };
    hn_job_path(jobs, job, "run", run);
    hn_os_folder_each(run, look_at, &n);
    return n.step;
}

/* It was ended by something else: the system, which lacked memory, or its own mistake. */
static void ended_by(hn_jobs *jobs, hn_job *job, int status)
{
    char message[HN_NOTE_TEXT];
    const int64_t step = saved_step(jobs, job);
    job->restarts = step > job->saved ? 1 : job->restarts + 1;
    job->saved = step;
    snprintf(message, sizeof message, "training was ended by signal %d after checkpoint %lld", status - 128, (long long)step);
    if (job->restarts > MOST_RESTARTS) {
        fail(jobs, job, "training_ended", message);
        return;
    }
    job->state = HN_JOB_QUEUED;
    hn_job_note_add(job, "warn", "%s: it goes on from there", message);
    keep(jobs, job);
}

static void ended(hn_jobs *jobs, int status)
{
    char message[HN_LONG_TEXT];
    hn_job *job = jobs->trained;
    if (job->state == HN_JOB_RUNNING && !status) {
        jobs->is_finishing = true;
        jobs->finish_is_due = !give_to_finish(jobs, job, true);
        return;
    }
    if (job->state == HN_JOB_RUNNING && (status == FAILED || status == USAGE)) {
        last_words(jobs, job, "hone train: ", message, sizeof message);
        fail(jobs, job, "training_failed", message);
    } else if (job->state == HN_JOB_RUNNING && status)
        ended_by(jobs, job, status);
    jobs->trained = NULL;
}

/* The one that trained there before may not have heard yet that its server is gone. */
static bool is_free(hn_jobs *jobs, const hn_job *job)
{
    char path[HN_KEPT_PATH];
    hn_lock_file lock = { 0 };
    hn_job_path(jobs, job, "run/lock", path);
    if (!hn_os_is_there(path))
        return true;
    const bool is_ours = hn_lock_file_take(&lock, path) == HN_OK;
    hn_lock_file_release(&lock);
    return is_ours;
}

/* Until there is more of it. */
static void put_off(hn_jobs *jobs, hn_job *job, const char *of, const char *message)
{
    const bool is_first = !*job->waits;
    job->again_ns = hn_clock_ns() + AGAIN_NS;
    snprintf(job->waits, sizeof job->waits, "%s: %.180s", of, message);
    hn_jobs_clean(jobs, job->waits, sizeof job->waits);
    if (is_first) {
        hn_job_note_add(job, "info", "it waits for %.180s", job->waits);
        keep(jobs, job);
    }
}

static void start(hn_jobs *jobs, hn_job *job)
{
    char log[HN_KEPT_PATH];
    hn_failure why;
    hn_words words = { .heap = jobs->heap };
    const hn_served *model = hn_jobs_model(jobs, job->model, &why);
    if (!model) {
        fail(jobs, job, "model_not_found", why.message);
        return;
    }
    hn_job_path(jobs, job, "train.log", log);
    hn_os_remove(log);
    hn_job_words(jobs, job, model, &words);
    hn_job next = *job;
    next.state = HN_JOB_RUNNING;
    next.waits[0] = 0;
    next.work.threads = jobs->o.threads == job->work.threads || !saved_step(jobs, job) ? jobs->o.threads : HN_MIXED_THREADS;
    hn_job_note_add(&next, "info", "training begins");
    if (words.status != HN_OK)
        put_off(jobs, job, "memory", hn_error_message());
    else if (!hn_job_become(jobs, job, &next, &why))
        put_off(jobs, job, "disk", why.message);
    else if (hn_os_child_start(&jobs->child, jobs->o.program, (const char *const *)words.at, log))
        jobs->trained = job;
    else
        fail(jobs, job, "training_failed", strerror(errno));
    hn_words_free(&words);
}

/* ---- whose turn it is ---- */

/* What a job needs is planned again with what there is now: it takes less where there is less, as far as that goes. */
typedef struct weighing {
    hn_task task;
    hn_jobs *jobs;
    hn_job *job, copy; /* the copy is the reader's */
    hn_job_plan_of plan;
    size_t left;
    bool fits;
    hn_failure why;
} weighing;

static size_t left_now(const hn_jobs *jobs) { return jobs->o.left ? jobs->o.left() : hn_memory_free().physical / 10 * 9; }

static void end_weigh(hn_task *task)
{
    weighing *w = (weighing *)(void *)task;
    hn_jobs *jobs = w->jobs;
    hn_job *job = w->job;
    jobs->trained = NULL;
    jobs->is_weighed = false;
    const bool lacks_memory = !w->fits && (w->plan.is_too_large || w->why.kind == HN_REFUSED_NO_ROOM);
    if (job->state == HN_JOB_QUEUED && w->plan.is_too_large && !w->plan.most)
        fail(jobs, job, "never_fits", w->why.message);
    else if (job->state == HN_JOB_QUEUED && lacks_memory)
        put_off(jobs, job, "memory", w->why.message);
    else if (job->state == HN_JOB_QUEUED && !jobs->drains && !jobs->ends)
        start(jobs, job); /* or it will say why it cannot be trained */
    hn_free(jobs->heap, w);
}

static void weigh(hn_task *task)
{
    weighing *w = (weighing *)(void *)task;
    hn_jobs *jobs = w->jobs;
    w->plan.most = 0;
    w->fits = hn_job_plan(jobs, &w->plan, &w->why);
    if (w->fits && (size_t)w->copy.bytes > w->left) {
        w->plan.most = w->left ? w->left : 1;
        w->fits = hn_job_plan(jobs, &w->plan, &w->why);
    }
    hn_jobs_clean(jobs, w->why.message, sizeof w->why.message);
    w->task.run = end_weigh;
    hn_worker_give(&jobs->office, &w->task);
}

/* Nothing else begins until it is known. */
static void begin_to_weigh(hn_jobs *jobs, hn_job *job, size_t left)
{
    hn_failure why;
    weighing *w = jobs->ends ? NULL : hn_alloc(jobs->heap, HN_TAG_STATE, sizeof *w);
    const hn_served *model = hn_jobs_model(jobs, job->model, &why);
    if (w && !model)
        fail(jobs, job, "model_not_found", why.message);
    if (!w || !model) {
        hn_free(jobs->heap, w);
        return;
    }
    if (!hn_upload_find(jobs, job->training, job->owner)) {
        hn_free(jobs->heap, w);
        start(jobs, job); /* which says so */
        return;
    }
    *w = (weighing){ .task = { NULL, weigh }, .jobs = jobs, .job = job, .copy = *job, .left = left };
    w->plan = (hn_job_plan_of){ .job = &w->copy, .model = model, .training = hn_upload_find(jobs, job->training, job->owner),
                                .validation = *job->validation ? hn_upload_find(jobs, job->validation, job->owner) : NULL };
    jobs->trained = job;
    jobs->is_weighed = true;
    hn_worker_give(&jobs->reader, &w->task);
}

/* The first of those who wait and are not put off. */
static hn_job *next(hn_jobs *jobs)
{
    const int64_t now = hn_clock_ns();
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        hn_job *job = jobs->jobs[i];
        if (job->is_listed && job->state == HN_JOB_QUEUED && job->again_ns <= now && is_free(jobs, job))
            return job;
    }
    return NULL;
}

static void begin_next(hn_jobs *jobs)
{
    hn_job *job = next(jobs);
    const size_t left = job ? left_now(jobs) : 0;
    if (job && (size_t)job->bytes <= left)
        start(jobs, job);
    else if (job)
        begin_to_weigh(jobs, job, left);
}

/* One that was trained, and found no room, is tried again now and then. */
static void serve_late(hn_jobs *jobs)
{
    const int64_t now = hn_clock_ns();
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        hn_job *job = jobs->jobs[i];
        if (job->state == HN_JOB_SUCCEEDED && job->lacks_place && !job->is_away && job->again_ns <= now) {
            job->again_ns = INT64_MAX; /* until it is known */
            if (!give_to_finish(jobs, job, false))
                job->again_ns = now + AGAIN_NS;
        }
    }
}

void hn_jobs_look(hn_jobs *jobs)
{
    int status;
    if (jobs->drains && jobs->child.process)
        hn_os_child_tell(&jobs->child, 's');
    if (jobs->trained && !jobs->is_finishing && !jobs->is_weighed && hn_os_child_has_ended(&jobs->child, &status) && !jobs->drains)
        ended(jobs, status);
    if (jobs->finish_is_due && !jobs->ends)
        jobs->finish_is_due = !give_to_finish(jobs, jobs->trained, true);
    if (hn_clock_ns() >= jobs->keep_ns)
        hn_jobs_keep(jobs);
    if (!jobs->drains && !jobs->ends)
        serve_late(jobs);
    if (!jobs->trained && !jobs->drains && !jobs->ends)
        begin_next(jobs);
}

/* ---- what may be asked of one ---- */

static bool refuse_state(const hn_job *job, const char *what, hn_failure *why)
{
    return hn_refuse_as(why, HN_REFUSED_IN_USE, "fine_tuning_job_id", "%s is %s: it cannot be %s", job->id, hn_job_state_word(job->state),
                        what);
}

bool hn_job_pause(hn_jobs *jobs, hn_job *job, hn_failure *why)
{
    if (job->state != HN_JOB_QUEUED && job->state != HN_JOB_RUNNING)
        return refuse_state(job, "paused", why);
    if (jobs->trained == job && jobs->is_finishing)
        return refuse_state(job, "paused: it is trained", why);
    hn_job next = *job;
    next.state = HN_JOB_PAUSED;
    hn_job_note_add(&next, "info", "paused");
    if (!hn_job_become(jobs, job, &next, why))
        return false;
    if (jobs->trained == job && !jobs->is_weighed)
        hn_os_child_tell(&jobs->child, 's'); /* it ends its step and saves */
    return true;
}

bool hn_job_resume(hn_jobs *jobs, hn_job *job, hn_failure *why)
{
    if (job->state != HN_JOB_PAUSED)
        return refuse_state(job, "resumed", why);
    hn_job next = *job;
    next.state = HN_JOB_QUEUED;
    next.restarts = 0;
    hn_job_note_add(&next, "info", "resumed: it waits for its turn");
    return hn_job_become(jobs, job, &next, why);
}

bool hn_job_cancel(hn_jobs *jobs, hn_job *job, hn_failure *why)
{
    if (hn_job_is_over(job))
        return refuse_state(job, "cancelled", why);
    if (jobs->trained == job && jobs->is_finishing)
        return refuse_state(job, "cancelled: it is trained", why);
    hn_job next = *job;
    next.state = HN_JOB_CANCELLED;
    next.finished = now_seconds();
    hn_job_note_add(&next, "info", "cancelled");
    if (!hn_job_become(jobs, job, &next, why))
        return false;
    if (jobs->trained == job && !jobs->is_weighed) {
        hn_os_child_end(&jobs->child);
        jobs->trained = NULL;
    }
    hn_job_forget_run(jobs, job); /* or who begins next */
    return true;
}

static bool put_checkpoints_away(hn_jobs *jobs, hn_job *job, hn_failure *why)
{
    while (job->n_checkpoints)
        if (!hn_job_put_checkpoint_away(jobs, job, job->checkpoints[0].step, owner_of(jobs, job->owner), why))
            return false;
    return true;
}

/* The record first: then nobody serves it again. */
bool hn_job_put_away(hn_jobs *jobs, hn_job *job, int64_t step, hn_failure *why)
{
    hn_failure unserved;
    if (step >= 0)
        return hn_job_put_checkpoint_away(jobs, job, step, owner_of(jobs, job->owner), why);
    hn_job next = *job;
    next.is_away = 1;
    hn_job_note_add(&next, "info", "what was trained was deleted");
    if (!hn_job_become(jobs, job, &next, why))
        return false;
    hn_shelf_drop_adapter(jobs->shelf, job->model, job->adapter, owner_of(jobs, job->owner), &unserved); /* or it was not there */
    job->is_served = false;
    put_checkpoints_away(jobs, job, &unserved); /* or with the folder */
    hn_upload_forget_results(jobs, job);
    hn_job_forget_run(jobs, job);
    return true;
}
