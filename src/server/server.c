/* Who begins first ends last: models load while HTTP already answers that they do, and at the end work is
 * cancelled, calls are answered, and only then is HTTP closed. */
#include "server/server_state.h"

#include <stdio.h>
#include <string.h>

/* ---- loading what it begins with ---- */

typedef struct load {
    hn_task task;
    hn_server *server;
    hn_served *model;
} load;

static void run_load(hn_task *task)
{
    load *l = (load *)(void *)task;
    hn_server *s = l->server;
    hn_failure why = { .kind = HN_REFUSED_NOT };
    hn_served_hold(l->model);
    if (!hn_served_load(l->model, &why)) {
        hn_os_mutex_lock(&s->lock);
        if (s->failed_by == HN_OK) {
            snprintf(s->failure, sizeof s->failure, "%s", why.message);
            s->failed_by = why.by != HN_OK ? why.by : HN_ERR_FORMAT;
        }
        hn_os_mutex_unlock(&s->lock);
    }
    hn_served_let_go(l->model);
    if (--s->n_loading)
        return;
    hn_os_mutex_lock(&s->shelf->lock);
    s->shelf->is_starting = false;
    hn_os_mutex_unlock(&s->shelf->lock);
}

hn_status hn_server_loading(hn_server *s, bool *is_done)
{
    *is_done = !s->n_loading;
    hn_os_mutex_lock(&s->lock);
    const hn_status status = s->failed_by;
    hn_os_mutex_unlock(&s->lock);
    return status != HN_OK ? hn_fail(status, "%s", s->failure) : HN_OK;
}

static hn_status begin_loading(hn_server *s)
{
    const hn_shelf *shelf = s->shelf;
    const int64_t most = shelf->memory ? 1 : shelf->most_loaded ? shelf->most_loaded : shelf->n;
    const int32_t n = most < shelf->n ? (int32_t)most : shelf->n;
    load *loads = hn_alloc_array(s->heap, HN_TAG_STATE, (size_t)n + 1, sizeof *loads);
    if (!loads)
        return HN_ERR_MEMORY;
    s->loads = &loads->task;
    s->n_loading = n;
    s->shelf->is_starting = n > 0;
    for (int32_t i = 0; i < n; i++) {
        loads[i] = (load){ { NULL, run_load }, s, shelf->models[i] };
        hn_worker_give(&shelf->models[i]->clerk, &loads[i].task);
    }
    return HN_OK;
}

/* ---- calls ---- */

typedef struct visit {
    hn_task task;
    hn_server *server;
    hn_http_call *call;
} visit;

static void serve(hn_task *task)
{
    visit *v = (visit *)(void *)task;
    hn_server *s = v->server;
    hn_http_call *call = v->call;
    hn_free(s->heap, v);
    hn_server_route(s, call);
}

static void on_call(void *context, hn_http_call *call)
{
    hn_server *s = context;
    visit *v = hn_alloc(s->heap, HN_TAG_STATE, sizeof *v);
    s->n_calls++;
    if (!v) {
        hn_failure why;
        hn_refuse_by(&why, HN_ERR_MEMORY, NULL);
        hn_api_refuse(s, call, &why);
        return;
    }
    *v = (visit){ { NULL, serve }, s, call };
    hn_worker_give(&s->desk, &v->task);
}

#define FILES "/v1/files"

/* By the head alone: whoever may not ask is told before a body is taken. */
static bool on_head(void *context, hn_http_call *call)
{
    hn_server *s = context;
    hn_failure why;
    hn_guard_share(&s->o.guard, call);
    if (hn_guard_preflight(&s->o.guard, call))
        return false;
    if (hn_server_admits(s, call, &why)) {
        if (s->o.jobs && !strcmp(hn_http_request_of(call)->path, FILES))
            hn_http_set_body_limit(call, hn_jobs_body_bytes(s->o.jobs));
        return true;
    }
    s->n_calls++;
    hn_api_refuse(s, call, &why);
    return false;
}

static void on_done(void *context, const hn_http_done *done)
{
    hn_server *s = context;
    hn_log_write(&s->o.log, s->heap, done);
    if (done->status >= 0 && done->status < HN_N_STATUSES)
        s->by_status[done->status]++;
}

/* What HTTP refuses, in the form of what was asked. */
static void on_refusal(void *context, const hn_http_request *r, int status, const char *reason, hn_str *out)
{
    hn_failure why;
    const hn_failure_kind kind = status == 413 ? HN_REFUSED_TOO_LARGE : status == 503 ? HN_REFUSED_NO_ROOM :
                                 status >= 500 ? HN_REFUSED_INTERNAL : HN_REFUSED_INVALID;
    (void)context;
    hn_refuse_as(&why, kind, NULL, "%s", reason);
    hn_api_form(r->path)(&why, false, out);
}

/* ---- beginning and end ---- */

static hn_status open_server(hn_server *s)
{
    hn_http_options http = s->o.http;
    http.heap = s->heap;
    http.on_call = on_call;
    http.on_head = on_head;
    http.on_done = on_done;
    http.on_refusal = on_refusal;
    http.context = s;
    HN_TRY(hn_worker_start(&s->desk, NULL, NULL));
    HN_TRY(hn_http_open(&s->http, &http));
    return begin_loading(s);
}

hn_status hn_server_open(hn_server **out, hn_shelf *shelf, const hn_server_options *options)
{
    *out = NULL;
    HN_REQUIRE(shelf->n, HN_ERR_ARGUMENT, "hn_server_open: expected a model, found none");
    hn_server *s = hn_alloc(shelf->heap, HN_TAG_STATE, sizeof *s);
    if (!s)
        return HN_ERR_MEMORY;
    s->heap = shelf->heap;
    s->shelf = shelf;
    s->o = *options;
    s->o.guard.has_keys = options->keys != NULL;
    static const char *const forms[] = { FILES };
    s->o.guard.form_paths = forms;
    s->o.guard.n_form_paths = 1;
    s->o.guard.host = options->http.host ? options->http.host : "127.0.0.1";
    hn_os_mutex_open(&s->lock);
    hn_responses_open(&s->responses, s->heap, &s->o.responses);
    const hn_status status = open_server(s);
    if (status != HN_OK) {
        hn_server_close(s);
        return status;
    }
    *out = s;
    return HN_OK;
}

int hn_server_port(const hn_server *s) { return hn_http_port(s->http); }

void hn_server_drain(hn_server *s)
{
    if (s->o.jobs)
        hn_jobs_drain(s->o.jobs);
    hn_http_drain(s->http);
}

bool hn_server_is_idle(const hn_server *s) { return hn_http_is_idle(s->http); }

/* Cancelled work ends each answer by name; then nobody has a call any more, and what was said last is sent. */
void hn_server_close(hn_server *s)
{
    enum { LAST_WORDS_MS = 2000, LOOK_MS = 5 };
    if (!s)
        return;
    if (s->http)
        hn_http_drain(s->http);
    hn_engine_cancel(s->shelf->engine);
    hn_worker_stop(&s->desk);
    hn_jobs_end(s->o.jobs);
    hn_shelf_stop(s->shelf);
    for (int ms = 0; s->http && ms < LAST_WORDS_MS && !hn_http_is_idle(s->http); ms += LOOK_MS)
        hn_os_thread_rest(LOOK_MS);
    hn_http_close(s->http);
    hn_engine_resume(s->shelf->engine);
    hn_free(s->heap, s->loads);
    hn_responses_close(&s->responses);
    hn_os_mutex_close(&s->lock);
    hn_free(s->heap, s);
}
