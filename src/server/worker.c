/* Tasks come first, in their order; only when there is none does the thread do a step of its own work, and it
 * sleeps when that has nothing left either. It ends when it is told to and all that it was given is done. */
#include "server/worker.h"

#include <string.h>

/* NULL: nothing was given, and it is to stop or has work of its own. */
static hn_task *take(hn_worker *w, bool waits)
{
    hn_os_mutex_lock(&w->lock);
    while (!w->first && waits && !w->stops)
        hn_os_condition_wait(&w->comes, &w->lock);
    hn_task *task = w->first;
    if (task)
        w->first = task->next;
    hn_os_mutex_unlock(&w->lock);
    return task;
}

static bool is_to_stop(hn_worker *w)
{
    hn_os_mutex_lock(&w->lock);
    const bool stops = w->stops && !w->first;
    hn_os_mutex_unlock(&w->lock);
    return stops;
}

static void work(void *context)
{
    hn_worker *w = context;
    bool has_more = false;
    do {
        for (hn_task *task; (task = take(w, !has_more)); has_more = has_more || w->step)
            task->run(task);
        has_more = w->step && has_more && w->step(w->context);
    } while (has_more || !is_to_stop(w));
}

hn_status hn_worker_start(hn_worker *w, bool (*step)(void *), void *context)
{
    *w = (hn_worker){ .step = step, .context = context };
    hn_os_mutex_open(&w->lock);
    hn_os_condition_open(&w->comes);
    const int error = hn_os_thread_start(&w->thread, work, w);
    if (!error) {
        w->is_running = true;
        return HN_OK;
    }
    hn_os_condition_close(&w->comes);
    hn_os_mutex_close(&w->lock);
    return hn_fail(HN_ERR_MEMORY, "a thread to serve with: %s", strerror(error));
}

void hn_worker_give(hn_worker *w, hn_task *task)
{
    task->next = NULL;
    hn_os_mutex_lock(&w->lock);
    if (w->first)
        w->last->next = task;
    else
        w->first = task;
    w->last = task;
    hn_os_condition_wake(&w->comes);
    hn_os_mutex_unlock(&w->lock);
}

typedef struct errand {
    hn_task task;
    void (*run)(void *context);
    void *context;
    hn_os_mutex lock;
    hn_os_condition ends;
    bool is_done;
} errand;

static void run_errand(hn_task *task)
{
    errand *e = (errand *)(void *)task;
    e->run(e->context);
    hn_os_mutex_lock(&e->lock);
    e->is_done = true;
    hn_os_condition_wake(&e->ends);
    hn_os_mutex_unlock(&e->lock);
}

void hn_worker_do(hn_worker *w, void (*run)(void *), void *context)
{
    errand e = { .task = { NULL, run_errand }, .run = run, .context = context };
    hn_os_mutex_open(&e.lock);
    hn_os_condition_open(&e.ends);
    hn_worker_give(w, &e.task);
    hn_os_mutex_lock(&e.lock);
    while (!e.is_done)
        hn_os_condition_wait(&e.ends, &e.lock);
    hn_os_mutex_unlock(&e.lock);
    hn_os_condition_close(&e.ends);
    hn_os_mutex_close(&e.lock);
}

void hn_worker_stop(hn_worker *w)
{
    if (!w->is_running)
        return;
    hn_os_mutex_lock(&w->lock);
    w->stops = true;
    hn_os_condition_wake(&w->comes);
    hn_os_mutex_unlock(&w->lock);
    hn_os_thread_join(&w->thread);
    hn_os_condition_close(&w->comes);
    hn_os_mutex_close(&w->lock);
    w->is_running = false;
}
