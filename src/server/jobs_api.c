/* /v1/fine_tuning/jobs: what is trained of files, as OpenAI's clients ask for it. */
#include "base/host.h"
#include "base/os/files.h"
#include "server/apis.h"
#include "server/jobs_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reply_with(hn_visit *v, hn_job *job)
{
    hn_str out = hn_str_on(v->jobs->heap);
    hn_json_writer w = hn_json_write_to(&out);
    hn_job_tell(v->jobs, job, &w);
    hn_visit_reply(v, 200, &out);
}

/* ---- one more ---- */

/* What will be said is there before the record is: who is told of a failure has left no job. */
static void end_create(hn_task *task)
{
    hn_visit *v = (hn_visit *)(void *)task;
    hn_job *job = v->job;
    hn_json_writer w = hn_json_write_to(&v->said);
    const bool is_dry = hn_field_bool(v->body, "dry_run", false);
    if (v->is_well) {
        hn_job_note_add(job, "info", "%lld examples, %lld steps, %.3g GiB: it waits for its turn", (long long)job->examples,
                        (long long)job->steps, (double)job->bytes / 0x1p30);
        job->is_listed = !is_dry;
        hn_job_tell(v->jobs, job, &w);
        v->is_well = hn_visit_has_said(v);
    }
    const bool is_kept = v->is_well && !is_dry && hn_job_record(v->jobs, job, &v->why);
    if (!is_kept) {
        hn_job_hold(v->jobs, job, -1);
        hn_job_drop(v->jobs, job);
    }
    if (is_kept || (v->is_well && is_dry))
        hn_visit_reply(v, 200, &v->said);
    else
        hn_visit_refuse(v);
}

static void plan(hn_task *task)
{
    hn_visit *v = (hn_visit *)(void *)task;
    v->is_well = hn_job_plan(v->jobs, &v->plan, &v->why);
    hn_jobs_clean(v->jobs, v->why.message, sizeof v->why.message);
    hn_visit_to_office(v, end_create);
}

static const hn_upload *find_file(hn_visit *v, const char *field, char id[HN_ITEM_ID])
{
    const char *said = hn_field_text(v->body, field, "");
    const hn_upload *u = hn_upload_find(v->jobs, said, v->owner);
    if (!u)
        hn_refuse_as(&v->why, HN_REFUSED_INVALID, field, "%s: there is no file %.60s", field, said);
    else if (u->job[0]) {
        hn_refuse_as(&v->why, HN_REFUSED_INVALID, field, "%s: %s is what a job left, no examples", field, said);
        u = NULL;
    } else
        memcpy(id, u->id, HN_ITEM_ID);
    return u;
}

static bool prepare(hn_visit *v)
{
    if (!hn_visit_body(v, &hn_fields_jobs))
        return false;
    static const char *const needed[] = { "model", "training_file" };
    for (size_t i = 0; i < 2; i++)
        if (!hn_field_of(v->body, needed[i]))
            return hn_refuse_as(&v->why, HN_REFUSED_MISSING_FIELD, needed[i], "%s: expected a string", needed[i]);
    v->plan.model = hn_jobs_model(v->jobs, hn_field_text(v->body, "model", ""), &v->why);
    v->job = v->plan.model ? hn_job_new(v->jobs, v->owner, &v->why) : NULL;
    if (!v->job)
        return false;
    snprintf(v->job->model, sizeof v->job->model, "%s", v->plan.model->name);
    v->plan.job = v->job;
    v->plan.training = find_file(v, "training_file", v->job->training);
    if (hn_field_of(v->body, "validation_file"))
        v->plan.validation = find_file(v, "validation_file", v->job->validation);
    if (!v->plan.training || (hn_field_of(v->body, "validation_file") && !v->plan.validation))
        return false;
    return hn_job_take(v->jobs, v->job, v->body, &v->why);
}

static void create(hn_visit *v)
{
    bool is_well = prepare(v);
    if (is_well) {
        hn_job_hold(v->jobs, v->job, 1); /* nobody takes the files away meanwhile */
        if (hn_visit_to_reader(v, plan))
            return;
        hn_job_hold(v->jobs, v->job, -1);
    }
    if (v->job)
        hn_job_drop(v->jobs, v->job);
    hn_visit_refuse(v);
}

/* ---- all of them ---- */

/* Whether its metadata are those that were asked for. */
static bool has_metadata(const hn_jobs *jobs, const hn_job *job, const hn_json *wanted, hn_str *out)
{
    hn_json_text *asked;
    if (!wanted)
        return true;
    if (hn_json_read(jobs->heap, "asked", job->asked.text, job->asked.length, &asked) != HN_OK) {
        out->status = HN_ERR_MEMORY;
        return false;
    }
    const hn_json *metadata = hn_json_get(hn_json_root(asked), "metadata");
    bool is_so = wanted->kind == HN_JSON_OBJECT || !metadata;
    for (const hn_json *v = wanted->kind == HN_JSON_OBJECT ? hn_json_first(wanted) : NULL; v && is_so; v = v->next) {
        const hn_json *has = hn_json_get(metadata, v->key);
        is_so = has && !strcmp(hn_json_string(has), hn_json_string(v));
    }
    hn_json_free(asked);
    return is_so;
}

static void end_list(hn_visit *v, hn_json_writer *w, hn_str *out, bool has_more, bool is_after)
{
    hn_json_end_array(w);
    hn_json_key(w, "has_more");
    hn_json_add_bool(w, has_more);
    hn_json_end_object(w);
    if (is_after) {
        hn_visit_reply(v, 200, out);
        return;
    }
    hn_str_free(out);
    hn_refuse_as(&v->why, HN_REFUSED_INVALID, "after", "after: there is none %.60s", hn_field_text(v->body, "after", ""));
    hn_visit_refuse(v);
}

static void begin_list(hn_json_writer *w)
{
    hn_json_begin_object(w);
    hn_json_key(w, "object");
    hn_json_add_string(w, "list");
    hn_json_key(w, "data");
    hn_json_begin_array(w);
}

static void list(hn_visit *v)
{
    hn_jobs *jobs = v->jobs;
    if (!hn_visit_query(v)) {
        hn_visit_refuse(v);
        return;
    }
    const char *after = hn_field_text(v->body, "after", NULL);
    int64_t left = hn_field_int(v->body, "limit", 20);
    const hn_json *metadata = hn_field_of(v->body, "metadata");
    if (metadata && metadata->kind == HN_JSON_STRING && strcmp(hn_json_string(metadata), "null") != 0) {
        hn_refuse_as(&v->why, HN_REFUSED_INVALID, "metadata", "metadata: expected metadata[KEY]=VALUE or metadata=null, found %.60s",
                     hn_json_string(metadata));
        hn_visit_refuse(v);
        return;
    }
    bool is_after = !after, has_more = false;
    hn_str out = hn_str_on(jobs->heap);
    hn_json_writer w = hn_json_write_to(&out);
    begin_list(&w);
    for (size_t i = jobs->n_jobs; i-- > 0 && !has_more;) {
        hn_job *job = jobs->jobs[i];
        if (!job->is_listed || strcmp(job->owner, v->owner) != 0)
            continue;
        if (is_after && has_metadata(jobs, job, metadata, &out)) {
            has_more = !left;
            if (left-- > 0)
                hn_job_tell(jobs, job, &w);
        }
        is_after = is_after || !strcmp(job->id, after);
    }
    end_list(v, &w, &out, has_more, is_after);
}

/* ---- what happened to one ---- */

typedef struct event {
    int64_t at;
    const hn_job_note *note; /* or */
    const char *line;        /* of metrics, */
    size_t bytes, number;
} event;

static int by_time(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? 1 : -1; /* the latest first */
    if (!x->note != !y->note)
        return x->note ? -1 : 1;
    return x->number < y->number ? 1 : -1;
}

/* Lines say how long a step took, and the file when the last was written. */
static size_t add_lines(hn_heap *heap, const hn_job_metrics *m, int64_t last_ns, event *to)
{
    size_t n = 0;
    double seconds = 0;
    for (size_t at = 0; at < m->bytes;) {
        const char *end = memchr(m->text + at, '\n', m->bytes - at);
        if (!end)
            break;
        to[n] = (event){ .line = m->text + at, .bytes = (size_t)(end - m->text) - at, .number = n };
        at += to[n].bytes + 1;
        n++;
    }
    for (size_t i = n; i-- > 0;) {
        hn_json_text *line;
        to[i].at = last_ns / 1000000000 - (int64_t)seconds;
        if (hn_json_read(heap, "a line", to[i].line, to[i].bytes, &line) == HN_OK) {
            seconds += hn_field_number(hn_json_root(line), "seconds", 0);
            hn_json_free(line);
        }
    }
    return n;
}

static void event_id(const hn_job *job, const event *e, char id[80])
{
    snprintf(id, 80, "ftevent-%.24s-%c%zu", job->id + strlen("ftjob-"), e->note ? 'n' : 'm', e->number);
}

static void say_line(const hn_job *job, const hn_json *v, char *to, size_t room)
{
    const long long step = (long long)hn_field_int(v, "step", 0);
    if (hn_field_of(v, "loss"))
        hn_text_print(to, room, "step %lld/%lld: loss %.4f", step, (long long)job->steps, hn_field_number(v, "loss", 0));
    else if (hn_field_of(v, "held_loss"))
        hn_text_print(to, room, "step %lld: held-out loss %.4f", step, hn_field_number(v, "held_loss", 0));
    else
        snprintf(to, room, "step %lld: %s", step,
                 hn_field_text(v, "verdict", hn_field_of(v, "samples") ? "answers" : "load of the experts"));
}

static void tell_event(hn_heap *heap, const hn_job *job, const event *e, hn_json_writer *w)
{
    char id[80], said[HN_LONG_TEXT];
    hn_json_text *line = NULL;
    if (e->line && hn_json_read(heap, "a line", e->line, e->bytes, &line) == HN_ERR_MEMORY)
        w->to->status = HN_ERR_MEMORY;
    event_id(job, e, id);
    hn_json_begin_object(w);
    hn_json_key(w, "id");
    hn_json_add_string(w, id);
    hn_json_key(w, "object");
    hn_json_add_string(w, "fine_tuning.job.event");
    hn_json_key(w, "created_at");
    hn_json_add_int(w, e->at);
    hn_json_key(w, "level");
    hn_json_add_string(w, e->note ? e->note->level : "info");
    hn_json_key(w, "type");
    hn_json_add_string(w, e->note ? "message" : "metrics");
    hn_json_key(w, "message");
    if (line)
        say_line(job, hn_json_root(line), said, sizeof said);
    hn_json_add_string(w, e->note ? e->note->text : line ? said : "");
    hn_json_key(w, "data");
    line ? hn_json_add_value(w, hn_json_root(line)) : hn_json_add_null(w);
    hn_json_end_object(w);
    hn_json_free(line);
}

static size_t count_lines(const hn_job_metrics *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->bytes; i++)
        n += m->text[i] == '\n';
    return n;
}

static event *gather(const hn_jobs *jobs, const hn_job *job, const hn_job_metrics *m, size_t *n)
{
    char path[HN_KEPT_PATH];
    hn_os_file about = { 0 };
    event *all = hn_alloc_array(jobs->heap, HN_TAG_STATE, count_lines(m) + HN_MOST_NOTES, sizeof *all);
    if (!all)
        return NULL;
    hn_job_path(jobs, job, "run/metrics.jsonl", path);
    hn_os_about(path, &about);
    *n = add_lines(jobs->heap, m, about.modified_ns, all);
    for (size_t i = 0; i < job->n_notes; i++)
        all[(*n)++] = (event){ .at = job->notes[i].at, .note = &job->notes[i], .number = i };
    qsort(all, *n, sizeof *all, by_time);
    return all;
}

static void events(hn_visit *v)
{
    hn_job_metrics m;
    size_t n;
    const char *after = hn_field_text(v->body, "after", NULL);
    int64_t left = hn_field_int(v->body, "limit", 20);
    bool is_after = !after, has_more = false;
    const hn_status status = hn_job_metrics_read(v->jobs, v->job, &m);
    event *all = status == HN_OK ? gather(v->jobs, v->job, &m, &n) : NULL;
    if (!all) {
        hn_job_metrics_free(&m);
        hn_refuse_by(&v->why, status == HN_OK ? HN_ERR_MEMORY : status, NULL);
        hn_jobs_clean(v->jobs, v->why.message, sizeof v->why.message);
        hn_visit_refuse(v);
        return;
    }
    hn_str out = hn_str_on(v->jobs->heap);
    hn_json_writer w = hn_json_write_to(&out);
    begin_list(&w);
    for (size_t i = 0; i < n && !has_more; i++) {
        char id[80];
        if (is_after) {
            has_more = !left;
            if (left-- > 0)
                tell_event(v->jobs->heap, v->job, &all[i], &w);
            continue;
        }
        event_id(v->job, &all[i], id);
        is_after = !strcmp(id, after);
    }
    hn_free(v->jobs->heap, all);
    hn_job_metrics_free(&m);
    end_list(v, &w, &out, has_more, is_after);
}

/* What can be asked, once training has ended. */
static void checkpoints(hn_visit *v)
{
    bool has_more;
    hn_str out = hn_str_on(v->jobs->heap);
    hn_json_writer w = hn_json_write_to(&out);
    begin_list(&w);
    const bool is_after = hn_job_tell_checkpoints(v->jobs, v->job, hn_field_text(v->body, "after", NULL), hn_field_int(v->body, "limit", 10),
                                                  &w, &has_more);
    end_list(v, &w, &out, has_more, is_after);
}

/* ---- paths ---- */

static bool find(hn_visit *v, char rest[32])
{
    char id[HN_ITEM_ID];
    if (!hn_visit_words(v, "/v1/fine_tuning/jobs/", id, rest))
        return false;
    v->job = hn_job_find(v->jobs, id, v->owner);
    return v->job || hn_refuse_as(&v->why, HN_REFUSED_NO_OBJECT, "fine_tuning_job_id", "%s: there is no such job", id);
}

static void get(hn_visit *v)
{
    char rest[32];
    const bool is_there = find(v, rest);
    if (is_there && !*rest) {
        reply_with(v, v->job);
        return;
    }
    const bool is_events = !strcmp(rest, "events"), is_checkpoints = !strcmp(rest, "checkpoints");
    if (is_there && (is_events || is_checkpoints) && hn_visit_query(v)) {
        (is_events ? events : checkpoints)(v);
        return;
    }
    if (is_there && !is_events && !is_checkpoints)
        hn_refuse_as(&v->why, HN_REFUSED_NO_PATH, NULL, "%s: expected nothing, events or checkpoints after a job's id", rest);
    hn_visit_refuse(v);
}

static void change(hn_visit *v)
{
    static const struct {
        const char *name;
        bool (*run)(hn_jobs *, hn_job *, hn_failure *);
    } changes[] = { { "cancel", hn_job_cancel }, { "pause", hn_job_pause }, { "resume", hn_job_resume } };
    static const hn_fields nothing = { .api = "the body of POST /v1/fine_tuning/jobs/ID/cancel, pause and resume" };
    char rest[32];
    bool is_there = (!hn_http_request_of(v->call)->body_bytes || hn_visit_body(v, &nothing)) && find(v, rest);
    for (size_t i = 0; is_there && i < sizeof changes / sizeof *changes; i++)
        if (!strcmp(rest, changes[i].name)) {
            if (changes[i].run(v->jobs, v->job, &v->why))
                reply_with(v, v->job);
            else
                hn_visit_refuse(v);
            return;
        }
    if (is_there)
        hn_refuse_as(&v->why, HN_REFUSED_NO_PATH, NULL, "%s: expected cancel, pause or resume after a job's id", rest);
    hn_visit_refuse(v);
}

/* ---- what was trained ---- */

/* As "name", or "model:name" by any name of the model. */
static bool is_called(const hn_jobs *jobs, const hn_job *job, const char *adapter, const char *name)
{
    const char *colon = strchr(name, ':');
    const hn_served *model = colon ? hn_shelf_model(jobs->shelf, name, (size_t)(colon - name)) : NULL;
    return colon ? model && !strcmp(model->name, job->model) && !strcmp(colon + 1, adapter) : !strcmp(adapter, name);
}

/* *step: of a checkpoint; -1: the result. */
static hn_job *find_served(const hn_jobs *jobs, const char *name, const char *owner, int64_t *step)
{
    char adapter[HN_ADAPTER_NAME];
    *step = -1;
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        hn_job *job = jobs->jobs[i];
        if (strcmp(job->owner, owner) != 0)
            continue;
        if (job->is_served && is_called(jobs, job, job->adapter, name))
            return job;
        for (size_t k = 0; k < job->n_checkpoints; k++) {
            hn_job_checkpoint_name(job, job->checkpoints[k].step, adapter);
            if (!job->checkpoints[k].is_served || !is_called(jobs, job, adapter, name))
                continue;
            *step = job->checkpoints[k].step;
            return job;
        }
    }
    return NULL;
}

static void remove_model(hn_visit *v)
{
    const char *name = hn_http_request_of(v->call)->path + strlen("/v1/models/");
    int64_t step;
    hn_job *job = find_served(v->jobs, name, v->owner, &step);
    hn_json_writer w = hn_json_write_to(&v->said);
    if (!job)
        hn_refuse_as(&v->why, HN_REFUSED_NO_OBJECT, "model", "%.200s: no job of yours trained a model of this name", name);
    hn_visit_tell_deleted(&w, name, "model");
    if (job && hn_visit_has_said(v) && hn_job_put_away(v->jobs, job, step, &v->why))
        hn_visit_reply(v, 200, &v->said);
    else
        hn_visit_refuse(v);
}

void hn_api_model_delete(hn_server *s, hn_http_call *call) { hn_visit_begin(s, call, remove_model); }

void hn_api_job_create(hn_server *s, hn_http_call *call) { hn_visit_begin(s, call, create); }

void hn_api_job_list(hn_server *s, hn_http_call *call) { hn_visit_begin(s, call, list); }

void hn_api_job(hn_server *s, hn_http_call *call) { hn_visit_begin(s, call, get); }

void hn_api_job_change(hn_server *s, hn_http_call *call) { hn_visit_begin(s, call, change); }
