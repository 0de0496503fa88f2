/* worker.h: a thread that does what it is given, in order, and in between what it does of its own.
 *
 * A task is a part of what it works on, so giving one cannot fail. */
#ifndef HN_SERVER_WORKER_H
#define HN_SERVER_WORKER_H

#include "base/os/threads.h"
#include "base/status.h"

typedef struct hn_task {
    struct hn_task *next;
    void (*run)(struct hn_task *task); /* may free it, and give it on */
} hn_task;

typedef struct hn_worker {
    hn_os_thread thread;
    hn_os_mutex lock;
    hn_os_condition comes;
    hn_task *first, *last;
    bool is_running, stops;
    bool (*step)(void *context); /* whether there is more of it; NULL: nothing of its own */
    void *context;
} hn_worker;

/* The struct stays where it is until it is stopped. */
hn_status hn_worker_start(hn_worker *worker, bool (*step)(void *context), void *context);
/* Any thread, between start and stop. */
void hn_worker_give(hn_worker *worker, hn_task *task);
/* Gives it and waits until it is done; any thread but the worker's own, between start and stop. */
void hn_worker_do(hn_worker *worker, void (*run)(void *context), void *context);
/* After all that was given, and when its own work says that there is no more. Takes one that was never started. */
void hn_worker_stop(hn_worker *worker);

#endif
