/* The office has everything and the other two threads give it tasks, so its lists need no lock. At the end it
 * first finishes what it is at, then the reader stops, and what that has read the office still takes; then the
 * office stops, and the child that trains is asked to save. */
#include "server/jobs.h"

#include "base/os/folders.h"
#include "base/os/process.h"
#include "server/jobs_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- beginning ---- */

static void set_limits(hn_jobs *jobs)
{
#define LIMIT(field, otherwise, name, what) \
    if (!jobs->o.field)                     \
        jobs->o.field = otherwise;
    HN_JOB_LIMITS(LIMIT)
#undef LIMIT
    if (!jobs->o.threads)
        jobs->o.threads = (hn_os_processors() + 1) / 2;
}

/* The reader's own: what it reads is cancelled without the models'. */
static hn_status open_all(hn_jobs *jobs)
{
    char path[HN_KEPT_PATH];
    const hn_engine_options one = { .size = sizeof one, .n_threads = 1 };
    HN_REQUIRE(strlen(jobs->o.folder) < HN_KEPT_PATH - 200, HN_ERR_ARGUMENT, "--jobs: the folder's name is too long");
    HN_TRY(hn_kept_folder(jobs->o.folder));
    snprintf(path, sizeof path, "%s/lock", jobs->o.folder);
    HN_TRY(hn_lock_file_take(&jobs->lock, path));
    HN_TRY(hn_uploads_read(jobs));
    HN_TRY(hn_jobs_read(jobs));
    HN_TRY(hn_engine_new(&jobs->engine, &one));
    HN_TRY(hn_worker_start(&jobs->office, NULL, NULL));
    return hn_worker_start(&jobs->reader, NULL, NULL);
}

hn_status hn_jobs_open(hn_jobs **out, hn_shelf *shelf, const hn_keys *keys, const hn_jobs_options *o)
{
    *out = NULL;
    hn_jobs *jobs = hn_alloc(shelf->heap, HN_TAG_STATE, sizeof *jobs);
    if (!jobs)
        return HN_ERR_MEMORY;
    jobs->heap = shelf->heap;
    jobs->shelf = shelf;
    jobs->keys = keys;
    jobs->o = *o;
    set_limits(jobs);
    const hn_status status = open_all(jobs);
    if (status != HN_OK) {
        hn_jobs_close(jobs);
        return status;
    }
    *out = jobs;
    return HN_OK;
}

int64_t hn_jobs_body_bytes(const hn_jobs *jobs)
{
    enum { FORM = 65536 }; /* around the file */
    return jobs->o.file_bytes + FORM;
}

/* ---- looking now and then ---- */

static void look(hn_task *task)
{
    hn_jobs *jobs = (hn_jobs *)(void *)((char *)task - offsetof(hn_jobs, look));
    hn_uploads_expire(jobs);
    hn_jobs_look(jobs);
    jobs->look_is_given = false;
}

static void watch(void *context)
{
    enum { LOOK_MS = 100 };
    hn_jobs *jobs = context;
    while (!jobs->ends) {
        hn_os_thread_rest(LOOK_MS);
        if (jobs->look_is_given)
            continue;
        jobs->look_is_given = true;
        jobs->look.run = look;
        hn_worker_give(&jobs->office, &jobs->look);
    }
}

static void serve_all(void *context) { hn_jobs_serve_all(context); }

/* The server answers by now, and what clients ask of the lists the office does. */
void hn_jobs_begin(hn_jobs *jobs)
{
    hn_worker_do(&jobs->office, serve_all, jobs);
    jobs->is_watched = !hn_os_thread_start(&jobs->watch, watch, jobs);
}

/* ---- end ---- */

void hn_jobs_drain(hn_jobs *jobs) { jobs->drains = true; }

typedef struct barrier {
    hn_task task;
    _Atomic bool is_passed;
} barrier;

static void pass(hn_task *task) { ((barrier *)(void *)task)->is_passed = true; }

/* What the office is at may still give to the reader; what comes to it later does not. */
static void wait_for_office(hn_jobs *jobs)
{
    barrier b = { { NULL, pass }, false };
    hn_worker_give(&jobs->office, &b.task);
    while (!b.is_passed)
        hn_os_thread_rest(1);
}

static void end_child(hn_jobs *jobs)
{
    enum { SAVE_MS = 10000, LOOK_MS = 10 };
    int status;
    hn_os_child_tell(&jobs->child, 's');
    for (int ms = 0; jobs->child.process && ms < SAVE_MS && !hn_os_child_has_ended(&jobs->child, &status); ms += LOOK_MS)
        hn_os_thread_rest(LOOK_MS);
    hn_os_child_end(&jobs->child);
}

void hn_jobs_end(hn_jobs *jobs)
{
    if (!jobs || jobs->ends)
        return;
    jobs->ends = true;
    if (jobs->is_watched)
        hn_os_thread_join(&jobs->watch);
    if (jobs->office.is_running)
        wait_for_office(jobs);
    hn_engine_cancel(jobs->engine);
    hn_worker_stop(&jobs->reader);
    hn_worker_stop(&jobs->office);
    end_child(jobs);
    hn_jobs_keep(jobs);
}

void hn_jobs_close(hn_jobs *jobs)
{
    if (!jobs)
        return;
    hn_jobs_end(jobs);
    hn_engine_free(jobs->engine);
    hn_uploads_free(jobs);
    hn_jobs_free(jobs);
    hn_lock_file_release(&jobs->lock);
    hn_free(jobs->heap, jobs);
}
