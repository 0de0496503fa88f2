/* /v1/fine_tuning/jobs/ID/checkpoints: what the run's metrics say of the steps whose adapters are served. */
#include "server/jobs_state.h"

#include <stdio.h>
#include <string.h>

typedef struct point {
    char id[80], served[256];
    int64_t step;
    bool has_loss, has_held;
    double loss, held[2]; /* loss and accuracy */
} point;

static void take_line(point *p, const hn_json *line)
{
    if (hn_field_of(line, "loss")) {
        p->has_loss = true;
        p->loss = hn_field_number(line, "loss", 0);
    } else if (hn_field_of(line, "held_loss")) {
        p->has_held = true;
        p->held[0] = hn_field_number(line, "held_loss", 0);
        p->held[1] = hn_field_number(line, "held_accuracy", 0);
    }
}

/* Of the whole lines of its step. */
static hn_status take_lines(point *p, const hn_job_metrics *m)
{
    char key[40];
    const int n_key = snprintf(key, sizeof key, "{\"step\":%lld,", (long long)p->step);
    for (size_t at = 0, n; at < m->bytes; at += n + 1) {
        const char *line = m->text + at, *end = memchr(line, '\n', m->bytes - at);
        hn_json_text *json;
        if (!end)
            break;
        n = (size_t)(end - line);
        if (n < (size_t)n_key || strncmp(line, key, (size_t)n_key) != 0)
            continue;
        const hn_status status = hn_json_read(m->heap, "a line", line, n, &json);
        if (status == HN_ERR_MEMORY)
            return status;
        if (status == HN_OK) {
            take_line(p, hn_json_root(json));
            hn_json_free(json);
        }
    }
    return HN_OK;
}

/* The last step that was trained. */
static int64_t last_step(const hn_job_metrics *m)
{
    long long last = 0, step;
    for (size_t at = 0; at < m->bytes;) {
        const char *line = m->text + at, *end = memchr(line, '\n', m->bytes - at);
        if (!end)
            break;
        if (sscanf(line, "{\"step\":%lld,", &step) == 1)
            last = step;
        at = (size_t)(end - m->text) + 1;
    }
    return last;
}

static void tell(const hn_job *job, const point *p, hn_json_writer *w)
{
    hn_json_begin_object(w);
    hn_json_put_text(w, "id", p->id);
    hn_json_put_text(w, "object", "fine_tuning.job.checkpoint");
    hn_json_key(w, "created_at");
    hn_json_add_int(w, job->finished);
    hn_json_put_text(w, "fine_tuned_model_checkpoint", p->served);
    hn_json_put_text(w, "fine_tuning_job_id", job->id);
    hn_json_key(w, "step_number");
    hn_json_add_int(w, p->step);
    hn_json_key(w, "metrics");
    hn_json_begin_object(w);
    hn_json_key(w, "step");
    hn_json_add_int(w, p->step);
    if (p->has_loss)
        hn_json_put_double(w, "train_loss", p->loss);
    if (p->has_held) {
        hn_json_put_double(w, "full_valid_loss", p->held[0]);
        hn_json_put_double(w, "full_valid_mean_token_accuracy", p->held[1]);
    }
    hn_json_end_object(w);
    hn_json_end_object(w);
}

/* The i-th, the latest first: the result, then the checkpoints. False: it is not served. */
static bool find(const hn_job *job, const hn_job_metrics *m, size_t i, point *p)
{
    const hn_job_checkpoint *c = i ? &job->checkpoints[job->n_checkpoints - i] : NULL;
    char name[HN_ADAPTER_NAME];
    *p = (point){ .step = c ? c->step : last_step(m) };
    snprintf(name, sizeof name, "%s", job->adapter);
    snprintf(p->id, sizeof p->id, "ftckpt-%.24s", job->id + strlen("ftjob-"));
    if (c) {
        hn_job_checkpoint_name(job, c->step, name);
        snprintf(p->id + strlen(p->id), 24, "-%lld", (long long)c->step);
    }
    snprintf(p->served, sizeof p->served, "%s:%s", job->model, name);
    return c ? c->is_served : job->is_served;
}

bool hn_job_tell_checkpoints(const hn_jobs *jobs, hn_job *job, const char *after, int64_t left, hn_json_writer *w, bool *has_more)
{
    hn_job_metrics m;
    point p;
    bool is_after = !after;
    *has_more = false;
    if (hn_job_metrics_read(jobs, job, &m) != HN_OK)
        w->to->status = HN_ERR_MEMORY;
    for (size_t i = 0; i <= job->n_checkpoints && !*has_more; i++) {
        if (!find(job, &m, i, &p))
            continue;
        if (is_after) {
            *has_more = !left;
            if (left-- > 0 && take_lines(&p, &m) != HN_OK)
                w->to->status = HN_ERR_MEMORY;
            if (!*has_more)
                tell(job, &p, w);
        }
        is_after = is_after || !strcmp(p.id, after);
    }
    hn_job_metrics_free(&m);
    return is_after;
}
