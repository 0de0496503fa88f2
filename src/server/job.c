/* Jobs: jobs/ID/job.json is the record, jobs/ID/run what `hone train` makes.
 *
 *     hn_job_new     in memory, counted against the quota; nobody finds it
 *     hn_job_record  the record is whole and on the disk: is_listed, and from here on it is never dropped, so that a pointer to it
 *                    stays good until the jobs are closed
 *     hn_job_become  a change that somebody asked for: record first, then memory, or neither
 *     is_unkept      a change that happened, and could not be written: memory has it, and the record follows
 *
 * The record leads whatever else lies there, so a process that dies anywhere leaves something that hn_jobs_read can settle: a
 * folder without a record is of a job that nobody was told of, and goes; one that was running waits for its turn again, and goes on
 * from its newest checkpoint; one that is cancelled or put away has its run removed once more. What became of a training that ended
 * unrecorded is found out again, by beginning it once more.
 *
 * A job that is not over holds its files: `uses` of an upload counts such jobs, is not kept, and is counted anew when they are
 * read. So each way in adds one and each way out takes one: hn_job_become and over (job_run.c), never both. */
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "server/jobs_state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT(field) { #field, offsetof(hn_job, field), sizeof((hn_job *)0)->field }
#define INT(field)  { #field, offsetof(hn_job, field), 0 }

static const hn_kept_field fields[] = {
    TEXT(id), TEXT(owner), TEXT(model), TEXT(adapter), TEXT(suffix), TEXT(method), TEXT(training), TEXT(validation),
    TEXT(code), TEXT(error), TEXT(param), TEXT(sha256), TEXT(verdict),
    INT(number), INT(state), INT(created), INT(finished), INT(seed), INT(steps), INT(examples), INT(bytes), INT(trained_tokens),
    INT(restarts), INT(saved), INT(is_away),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

const char *hn_job_state_word(int64_t state)
{
    static const char *const words[] = {
#define WORD(name, word) word,
        HN_JOB_STATES(WORD)
#undef WORD
    };
    return words[state];
}

bool hn_job_is_over(const hn_job *job)
{
    return job->state == HN_JOB_SUCCEEDED || job->state == HN_JOB_FAILED || job->state == HN_JOB_CANCELLED;
}

void hn_job_path(const hn_jobs *jobs, const hn_job *job, const char *what, char path[HN_KEPT_PATH])
{
    snprintf(path, HN_KEPT_PATH, "%s/jobs/%s%s%s", jobs->o.folder, job->id, *what ? "/" : "", what);
}

/* ---- what happened ---- */

/* Of too many the oldest but the first go. */
void hn_job_note_add(hn_job *job, const char *level, const char *format, ...)
{
    va_list args;
    if (job->n_notes == HN_MOST_NOTES) {
        memmove(job->notes + 1, job->notes + 2, (HN_MOST_NOTES - 2) * sizeof *job->notes);
        job->n_notes--;
    }
    hn_job_note *note = &job->notes[job->n_notes++];
    note->at = hn_clock_wall_ns() / 1000000000;
    snprintf(note->level, sizeof note->level, "%s", level);
    va_start(args, format);
    vsnprintf(note->text, sizeof note->text, format, args);
    va_end(args);
}

/* ---- in memory ---- */

static bool add(hn_jobs *jobs, hn_job *job)
{
    hn_job **more = hn_realloc_array(jobs->heap, HN_TAG_STATE, jobs->jobs, jobs->n_jobs + 1, sizeof *more);
    if (!more)
        return false;
    size_t at = jobs->n_jobs++;
    jobs->jobs = more;
    for (; at && more[at - 1]->number > job->number; at--)
        more[at] = more[at - 1];
    more[at] = job;
    return true;
}

static hn_job *make(hn_jobs *jobs)
{
    hn_job *job = hn_alloc(jobs->heap, HN_TAG_STATE, sizeof *job);
    if (job) {
        job->settings = hn_str_on(jobs->heap);
        job->asked = hn_str_on(jobs->heap);
    }
    return job;
}

static void free_one(hn_jobs *jobs, hn_job *job)
{
    if (job) {
        hn_str_free(&job->settings);
        hn_str_free(&job->asked);
    }
    hn_free(jobs->heap, job);
}

void hn_job_drop(hn_jobs *jobs, hn_job *job)
{
    char path[HN_KEPT_PATH];
    size_t i = 0;
    while (jobs->jobs[i] != job)
        i++;
    jobs->n_jobs--;
    memmove(jobs->jobs + i, jobs->jobs + i + 1, (jobs->n_jobs - i) * sizeof *jobs->jobs);
    hn_job_path(jobs, job, "", path);
    hn_kept_remove(path);
    free_one(jobs, job);
}

void hn_jobs_free(hn_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n_jobs; i++)
        free_one(jobs, jobs->jobs[i]);
    hn_free(jobs->heap, jobs->jobs);
    jobs->jobs = NULL;
    jobs->n_jobs = 0;
}

hn_job *hn_job_find(const hn_jobs *jobs, const char *id, const char *owner)
{
    for (size_t i = 0; i < jobs->n_jobs; i++)
        if (jobs->jobs[i]->is_listed && !strcmp(jobs->jobs[i]->id, id) && !strcmp(jobs->jobs[i]->owner, owner))
            return jobs->jobs[i];
    return NULL;
}

static void hold_one(hn_jobs *jobs, const char *id, const char *owner, int by)
{
    hn_upload *u = *id ? hn_upload_find(jobs, id, owner) : NULL;
    if (u)
        u->uses += by;
}

void hn_job_hold(hn_jobs *jobs, const hn_job *job, int by)
{
    hold_one(jobs, job->training, job->owner, by);
    hold_one(jobs, job->validation, job->owner, by);
}

static bool has_quota(const hn_jobs *jobs, const char *owner, hn_failure *why)
{
    int64_t n = 0, waiting = 0;
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        const bool is_his = !strcmp(jobs->jobs[i]->owner, owner);
        n += is_his;
        waiting += is_his && !hn_job_is_over(jobs->jobs[i]);
    }
    if (waiting >= jobs->o.jobs)
        return hn_refuse_as(why, HN_REFUSED_QUOTA, NULL, "%lld jobs wait already, as many as may (--jobs-waiting)", (long long)waiting);
    return n < jobs->o.jobs_kept ||
           hn_refuse_as(why, HN_REFUSED_QUOTA, NULL, "%lld jobs are kept already, as many as may be (--jobs-max)", (long long)n);
}

hn_job *hn_job_new(hn_jobs *jobs, const char *owner, hn_failure *why)
{
    if (!has_quota(jobs, owner, why))
        return NULL;
    hn_job *job = make(jobs);
    const hn_status status = job ? hn_kept_name("ftjob-", job->id, sizeof job->id) : HN_ERR_MEMORY;
    if (status == HN_OK) {
        snprintf(job->owner, sizeof job->owner, "%s", owner);
        job->created = hn_clock_wall_ns() / 1000000000;
        job->number = ++jobs->last_number;
        if (add(jobs, job))
            return job;
    }
    free_one(jobs, job);
    hn_refuse_by(why, status == HN_OK ? HN_ERR_MEMORY : status, NULL);
    return NULL;
}

/* ---- on the disk ---- */

static void write_work(hn_json_writer *w, const hn_job_work *work)
{
    hn_json_key(w, "work");
    hn_json_begin_object(w);
    hn_json_put_double(w, "operations", work->operations);
    hn_json_put_int(w, "threads", work->threads);
    hn_json_put_text(w, "numerics", work->numerics);
    hn_json_end_object(w);
}

static void write_more(hn_json_writer *w, const void *of)
{
    const hn_job *job = of;
    write_work(w, &job->work);
    hn_json_key(w, "settings");
    hn_json_add_json(w, job->settings.text, job->settings.length);
    hn_json_key(w, "asked");
    hn_json_add_json(w, job->asked.text, job->asked.length);
    hn_json_key(w, "notes");
    hn_json_begin_array(w);
    for (size_t i = 0; i < job->n_notes; i++) {
        hn_json_begin_array(w);
        hn_json_add_int(w, job->notes[i].at);
        hn_json_add_string(w, job->notes[i].level);
        hn_json_add_string(w, job->notes[i].text);
        hn_json_end_array(w);
    }
    hn_json_end_array(w);
}

bool hn_job_record(hn_jobs *jobs, hn_job *job, hn_failure *why)
{
    char path[HN_KEPT_PATH];
    hn_job_path(jobs, job, "", path);
    hn_status status = hn_kept_folder(path);
    hn_job_path(jobs, job, "job.json", path);
    if (status == HN_OK)
        status = hn_kept_write(jobs->heap, path, fields, N_FIELDS, job, write_more);
    job->is_listed = job->is_listed || status == HN_OK;
    job->is_unkept = status != HN_OK;
    if (status == HN_OK)
        return true;
    hn_refuse_by(why, status, NULL);
    hn_jobs_clean(jobs, why->message, sizeof why->message);
    return false;
}

bool hn_job_become(hn_jobs *jobs, hn_job *job, const hn_job *next, hn_failure *why)
{
    hn_job to = *next;
    if (!hn_job_record(jobs, &to, why))
        return false;
    if (hn_job_is_over(&to) && !hn_job_is_over(job))
        hn_job_hold(jobs, job, -1);
    *job = to;
    return true;
}

void hn_job_forget_run(const hn_jobs *jobs, const hn_job *job)
{
    char run[HN_KEPT_PATH];
    hn_job_path(jobs, job, "run", run);
    hn_kept_remove(run);
}

static bool read_note(const hn_json *v, hn_job_note *note)
{
    const hn_json *at = hn_json_at(v, 0), *level = hn_json_at(v, 1), *text = hn_json_at(v, 2);
    if (!at || at->kind != HN_JSON_INT || !level || level->kind != HN_JSON_STRING || !text || text->kind != HN_JSON_STRING)
        return false;
    note->at = hn_json_int(at);
    snprintf(note->level, sizeof note->level, "%s", hn_json_string(level));
    snprintf(note->text, sizeof note->text, "%s", hn_json_string(text));
    return true;
}

/* Words of hone train; what a job tells of them as numbers (job_tell.c) are numbers. */
static hn_status check_settings(hn_heap *heap, const hn_json *settings, const char *path)
{
    unsigned seen = 0;
    for (const hn_json *v = hn_json_first(settings); v; v = v->next) {
        HN_REQUIRE(v->kind == HN_JSON_STRING, HN_ERR_FORMAT, "%s: settings: expected strings, found %s", path, hn_json_kind_text(v->kind));
        const char *number;
        const int which = hn_job_told_number(hn_json_string(v), &number);
        if (which < 0)
            continue;
        HN_REQUIRE(!(seen & 1u << which), HN_ERR_FORMAT, "%s: settings: %.60s: said before", path, hn_json_string(v));
        seen |= 1u << which;
        hn_json_text *value;
        HN_TRY(hn_json_read(heap, path, number, strlen(number), &value));
        const hn_json_kind kind = hn_json_root(value)->kind;
        hn_json_free(value);
        HN_REQUIRE(kind == HN_JSON_INT || kind == HN_JSON_DOUBLE, HN_ERR_FORMAT, "%s: settings: %.60s: expected a number", path,
                   hn_json_string(v));
    }
    return HN_OK;
}

/* A record that was written before work was counted has none. */
static hn_status read_work(const hn_json *v, hn_job_work *work, const char *path)
{
    if (!v)
        return HN_OK;
    const hn_json *operations = hn_json_get(v, "operations"), *threads = hn_json_get(v, "threads"), *numerics = hn_json_get(v, "numerics");
    HN_REQUIRE(operations && (operations->kind == HN_JSON_DOUBLE || operations->kind == HN_JSON_INT) && threads &&
                   threads->kind == HN_JSON_INT && numerics && numerics->kind == HN_JSON_STRING &&
                   hn_json_bytes(numerics) < sizeof work->numerics, HN_ERR_FORMAT,
               "%s: work: expected operations, threads and numerics", path);
    work->operations = hn_json_number(operations);
    HN_REQUIRE(work->operations >= 0, HN_ERR_FORMAT, "%s: work: operations: expected 0 or more", path);
    work->threads = hn_json_int(threads);
    memcpy(work->numerics, hn_json_string(numerics), hn_json_bytes(numerics) + 1);
    return HN_OK;
}

static hn_status read_more(hn_heap *heap, hn_job *job, const hn_json *root, const char *path)
{
    const hn_json *settings = hn_json_get(root, "settings"), *asked = hn_json_get(root, "asked"), *notes = hn_json_get(root, "notes");
    HN_REQUIRE(settings && settings->kind == HN_JSON_ARRAY && asked && asked->kind == HN_JSON_OBJECT && notes &&
                   notes->kind == HN_JSON_ARRAY && hn_json_count(notes) <= HN_MOST_NOTES, HN_ERR_FORMAT,
               "%s: expected settings, asked and notes", path);
    HN_TRY(check_settings(heap, settings, path));
    HN_TRY(read_work(hn_json_get(root, "work"), &job->work, path));
    hn_json_writer w = hn_json_write_to(&job->settings);
    hn_json_add_value(&w, settings);
    w = hn_json_write_to(&job->asked);
    hn_json_add_value(&w, asked);
    for (const hn_json *v = hn_json_first(notes); v; v = v->next)
        HN_REQUIRE(read_note(v, &job->notes[job->n_notes++]), HN_ERR_FORMAT, "%s: notes: expected a time and two strings each", path);
    HN_TRY(hn_str_status(&job->settings));
    return hn_str_status(&job->asked);
}

/* One that was trained when the process ended waits for its turn again. */
static hn_status settle(hn_jobs *jobs, hn_job *job, const char *path)
{
    HN_REQUIRE(job->state >= 0 && job->state < HN_N_JOB_STATES, HN_ERR_FORMAT, "%s: state: expected 0 to %d", path, HN_N_JOB_STATES - 1);
    job->is_listed = true;
    jobs->last_number = job->number > jobs->last_number ? job->number : jobs->last_number;
    if (!hn_job_is_over(job))
        hn_job_hold(jobs, job, 1);
    if (job->state == HN_JOB_RUNNING) {
        job->state = HN_JOB_QUEUED;
        hn_job_note_add(job, "info", "the server began again: training goes on from the last checkpoint");
    }
    return HN_OK;
}

static hn_status read_one(hn_jobs *jobs, const char *path, const char *id)
{
    hn_json_text *text = NULL;
    hn_job *job = make(jobs);
    if (!job)
        return HN_ERR_MEMORY;
    hn_status status = hn_kept_read(jobs->heap, path, fields, N_FIELDS, job, &text);
    if (status == HN_OK)
        status = read_more(jobs->heap, job, hn_json_root(text), path);
    if (status == HN_OK && strcmp(job->id, id) != 0)
        status = hn_fail(HN_ERR_FORMAT, "%s: is of %s", path, job->id);
    if (status == HN_OK)
        status = settle(jobs, job, path);
    if (status == HN_OK && !add(jobs, job))
        status = HN_ERR_MEMORY;
    hn_json_free(text);
    if (status != HN_OK)
        free_one(jobs, job);
    return status;
}

typedef struct reading {
    hn_jobs *jobs;
    const char *folder;
    hn_status status;
} reading;

/* A folder without a record is of a job that nobody was told of. */
static bool read_folder(void *context, const char *name)
{
    reading *r = context;
    char path[HN_KEPT_PATH], record[HN_KEPT_PATH + 16];
    if (strncmp(name, "ftjob-", 6) != 0 || strlen(name) >= HN_ITEM_ID)
        return true;
    snprintf(path, sizeof path, "%s/%s", r->folder, name);
    snprintf(record, sizeof record, "%s/job.json", path);
    if (hn_os_is_there(record))
        r->status = read_one(r->jobs, record, name);
    else
        hn_kept_remove(path);
    return r->status == HN_OK;
}

hn_status hn_jobs_read(hn_jobs *jobs)
{
    char folder[HN_KEPT_PATH];
    reading r = { jobs, folder, HN_OK };
    snprintf(folder, sizeof folder, "%s/jobs", jobs->o.folder);
    HN_TRY(hn_kept_folder(folder));
    HN_REQUIRE(hn_os_folder_each(folder, read_folder, &r), HN_ERR_IO, "%s: %s", folder, strerror(errno));
    HN_TRY(r.status);
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        const hn_job *job = jobs->jobs[i];
        if (job->state == HN_JOB_CANCELLED || job->is_away) /* a process that ended between the two */
            hn_job_forget_run(jobs, job);
        else if (job->state == HN_JOB_SUCCEEDED) {
            hn_job_find_checkpoints(jobs, jobs->jobs[i]);
            hn_upload_results(jobs, job);
        }
    }
    return HN_OK;
}
