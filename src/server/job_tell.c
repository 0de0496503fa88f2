/* What a job's object says, from its record, its settings and the files that its run left. A run's metrics are
 * read again only when the file has changed, up to the last whole line. */
#include "base/file.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "server/jobs_state.h"

#include <stdio.h>
#include <string.h>

hn_status hn_job_metrics_read(const hn_jobs *jobs, const hn_job *job, hn_job_metrics *out)
{
    char path[HN_KEPT_PATH];
    void *text;
    *out = (hn_job_metrics){ .heap = jobs->heap };
    hn_job_path(jobs, job, "run/metrics.jsonl", path);
    if (!hn_os_is_there(path))
        return HN_OK;
    const hn_status status = hn_file_read(jobs->heap, path, (size_t)1 << 30, &text, &out->bytes);
    if (status == HN_OK)
        out->text = text;
    else
        out->bytes = 0;
    return status;
}

void hn_job_metrics_free(hn_job_metrics *m)
{
    hn_free(m->heap, m->text);
    *m = (hn_job_metrics){ 0 };
}

static void text(hn_json_writer *w, const char *key, const char *value)
{
    hn_json_key(w, key);
    *value ? hn_json_add_string(w, value) : hn_json_add_null(w);
}

static void number(hn_json_writer *w, const char *key, int64_t value)
{
    hn_json_key(w, key);
    value ? hn_json_add_int(w, value) : hn_json_add_null(w);
}

static void tell_names(const hn_jobs *jobs, const hn_job *job, hn_json_writer *w)
{
    char served[256];
    snprintf(served, sizeof served, "%s:%s", job->model, job->adapter);
    text(w, "id", job->id);
    text(w, "object", "fine_tuning.job");
    text(w, "model", job->model);
    text(w, "fine_tuned_model", job->is_served ? served : "");
    text(w, "training_file", job->training);
    text(w, "validation_file", job->validation);
    text(w, "organization_id", *job->owner ? job->owner : "-");
    text(w, "status", job->is_listed ? hn_job_state_word(job->state) : "validating_files");
    text(w, "waits_for", job->state == HN_JOB_QUEUED ? job->waits : "");
    text(w, "user_provided_suffix", job->suffix);
    hn_json_key(w, "result_files");
    hn_json_begin_array(w);
    for (size_t i = 0; i < jobs->n_uploads; i++)
        if (!strcmp(jobs->uploads[i]->job, job->id))
            hn_json_add_string(w, jobs->uploads[i]->id);
    hn_json_end_array(w);
}

static void tell_error(const hn_job *job, hn_json_writer *w)
{
    hn_json_key(w, "error");
    if (!*job->code) {
        hn_json_add_null(w);
        return;
    }
    hn_json_begin_object(w);
    text(w, "code", job->code);
    text(w, "message", job->error);
    text(w, "param", job->param);
    hn_json_end_object(w);
}

static const struct {
    const char *name, *setting;
} numbers[] = { { "n_epochs", "epochs=" }, { "batch_size", "batch=" } };

int hn_job_told_number(const char *setting, const char **number)
{
    for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers); i++)
        if (!strncmp(setting, numbers[i].setting, strlen(numbers[i].setting))) {
            *number = setting + strlen(numbers[i].setting);
            return i;
        }
    return -1;
}

static void tell_hyperparameters(const hn_json *settings, hn_json_writer *w)
{
    hn_json_begin_object(w);
    for (const hn_json *v = hn_json_first(settings); v; v = v->next) {
        const char *number;
        const int which = hn_job_told_number(hn_json_string(v), &number);
        if (which >= 0) {
            hn_json_key(w, numbers[which].name);
            hn_json_add_json(w, number, strlen(number));
        }
    }
    hn_json_end_object(w);
}

static void tell_asked(const hn_jobs *jobs, const hn_job *job, hn_json_writer *w)
{
    hn_json_text *asked = NULL, *settings = NULL;
    if (hn_json_read(jobs->heap, "asked", job->asked.text, job->asked.length, &asked) != HN_OK ||
        hn_json_read(jobs->heap, "settings", job->settings.text, job->settings.length, &settings) != HN_OK)
        w->to->status = HN_ERR_MEMORY; /* both were read when they were taken */
    const hn_json *root = asked ? hn_json_root(asked) : NULL, *list = settings ? hn_json_root(settings) : NULL;
    const hn_json *method = hn_json_get(root, "method"), *metadata = hn_json_get(root, "metadata");
    hn_json_key(w, "hyperparameters");
    tell_hyperparameters(list, w);
    hn_json_key(w, "method");
    if (method)
        hn_json_add_value(w, method);
    else {
        hn_json_begin_object(w);
        text(w, "type", job->method);
        hn_json_end_object(w);
    }
    hn_json_key(w, "metadata");
    metadata ? hn_json_add_value(w, metadata) : hn_json_add_null(w);
    hn_json_key(w, "settings"); /* the words of hone train that give the same bits */
    list ? hn_json_add_value(w, list) : hn_json_add_null(w);
    hn_json_free(asked);
    hn_json_free(settings);
}

static void take_line(hn_job_progress *p, const hn_json *v)
{
    const hn_json *held = hn_json_get(v, "held_loss");
    const int64_t step = hn_field_int(v, "step", 0);
    if (hn_field_of(v, "loss")) {
        p->step = step;
        p->loss = hn_field_number(v, "loss", 0);
        p->seconds += hn_field_number(v, "seconds", 0);
        p->n_seconds++;
    }
    if (!held)
        return;
    double *to = step ? p->after : p->before;
    to[0] = hn_field_number(v, "held_loss", 0);
    to[1] = hn_field_number(v, "held_accuracy", 0);
    p->has_before = p->has_before || !step;
    p->has_after = p->has_after || step;
}

/* Read again where the file is another than it was. What could not be read is lost to `out`. */
static const hn_job_progress *read_progress(const hn_jobs *jobs, hn_job *job, hn_str *out)
{
    char path[HN_KEPT_PATH];
    hn_os_file about = { 0 };
    hn_job_metrics m;
    hn_job_progress *p = &job->progress;
    hn_job_path(jobs, job, "run/metrics.jsonl", path);
    hn_os_about(path, &about);
    if (p->bytes == (int64_t)about.bytes && p->modified_ns == about.modified_ns)
        return p;
    *p = (hn_job_progress){ .bytes = (int64_t)about.bytes, .modified_ns = about.modified_ns };
    hn_status status = hn_job_metrics_read(jobs, job, &m);
    for (size_t at = 0; at < m.bytes;) {
        hn_json_text *line;
        const char *end = memchr(m.text + at, '\n', m.bytes - at);
        if (!end)
            break; /* it is being written */
        const size_t n = (size_t)(end - m.text) - at;
        const hn_status is_read = hn_json_read(jobs->heap, "a line", m.text + at, n, &line);
        if (is_read == HN_OK) {
            take_line(p, hn_json_root(line));
            hn_json_free(line);
        } else if (is_read == HN_ERR_MEMORY)
            status = is_read;
        at += n + 1;
    }
    hn_job_metrics_free(&m);
    if (status != HN_OK) {
        *p = (hn_job_progress){ .bytes = -1 }; /* another time */
        out->status = HN_ERR_MEMORY;
    }
    return p;
}

static void tell_held(hn_json_writer *w, const char *key, const double held[2], bool is_there)
{
    hn_json_key(w, key);
    if (!is_there) {
        hn_json_add_null(w);
        return;
    }
    hn_json_begin_object(w);
    hn_json_key(w, "loss");
    hn_json_add_double(w, held[0]);
    hn_json_key(w, "accuracy");
    hn_json_add_double(w, held[1]);
    hn_json_end_object(w);
}

/* ---- how long it takes ---- */

static bool computes_alike(const hn_job *a, const hn_job *b)
{
    return a->work.operations > 0 && b->work.operations > 0 && a->work.threads != HN_MIXED_THREADS && a->work.threads == b->work.threads &&
           !strcmp(a->model, b->model) && !strcmp(a->work.numerics, b->work.numerics);
}

/* The latest of the same owner that has done steps in the same way; NULL: none has. */
static const hn_job *find_measure(const hn_jobs *jobs, const hn_job *job, hn_str *out)
{
    for (size_t i = jobs->n_jobs; i-- > 0;) {
        hn_job *other = jobs->jobs[i];
        if (other != job && other->is_listed && !strcmp(other->owner, job->owner) && computes_alike(other, job) &&
            read_progress(jobs, other, out)->n_seconds)
            return other;
    }
    return NULL;
}

/* Of the steps that are left, by those that it has done, or another; nothing where none were. */
static void tell_time(const hn_jobs *jobs, const hn_job *job, hn_json_writer *w)
{
    const bool has_own = job->progress.n_seconds > 0;
    const hn_job *by = hn_job_is_over(job) ? NULL : has_own ? job : find_measure(jobs, job, w->to);
    double left = 0;
    if (by) {
        const hn_job_progress *p = &by->progress;
        left = p->seconds / (double)p->n_seconds * (double)(job->steps - job->progress.step);
        left *= has_own ? 1 : job->work.operations / by->work.operations;
    }
    hn_json_key(w, "estimated_seconds");
    by ? hn_json_add_double(w, left) : hn_json_add_null(w);
    text(w, "estimated_by", by ? by->id : "");
    number(w, "estimated_finish",
           job->state == HN_JOB_RUNNING && has_own ? hn_clock_wall_ns() / 1000000000 + (int64_t)left + 1 : 0);
}

static void tell_progress(const hn_jobs *jobs, hn_job *job, hn_json_writer *w)
{
    const hn_job_progress *p = read_progress(jobs, job, w->to);
    tell_time(jobs, job, w);
    hn_json_key(w, "step");
    hn_json_add_int(w, p->step);
    hn_json_key(w, "steps");
    hn_json_add_int(w, job->steps);
    hn_json_key(w, "loss");
    p->n_seconds ? hn_json_add_double(w, p->loss) : hn_json_add_null(w);
    tell_held(w, "held_before", p->before, p->has_before);
    tell_held(w, "held_after", p->after, p->has_after);
}

void hn_job_tell(const hn_jobs *jobs, hn_job *job, hn_json_writer *w)
{
    hn_json_begin_object(w);
    tell_names(jobs, job, w);
    hn_json_key(w, "created_at");
    hn_json_add_int(w, job->created);
    number(w, "finished_at", job->finished);
    hn_json_key(w, "seed");
    hn_json_add_int(w, job->seed);
    number(w, "trained_tokens", job->trained_tokens);
    hn_json_key(w, "integrations");
    hn_json_begin_array(w);
    hn_json_end_array(w);
    tell_error(job, w);
    tell_asked(jobs, job, w);
    tell_progress(jobs, job, w);
    hn_json_key(w, "examples");
    hn_json_add_int(w, job->examples);
    hn_json_key(w, "memory_bytes");
    hn_json_add_int(w, job->bytes);
    text(w, "sha256", job->sha256);
    text(w, "verdict", job->verdict);
    hn_json_end_object(w);
}
