/* threads.h: threads, locks and conditions. A mutex that a static variable is begins with HN_OS_MUTEX. */
#ifndef HN_BASE_OS_THREADS_H
#define HN_BASE_OS_THREADS_H

#include <stdbool.h>

#if defined(_WIN32)
typedef struct hn_os_mutex {
    void *lock;
    unsigned long owner; /* 0: nobody */
} hn_os_mutex;
typedef struct hn_os_condition {
    void *queue;
} hn_os_condition;
typedef void *hn_os_thread_handle;
typedef struct hn_os_deaf {
    char none; /* no signal comes to a thread that works */
} hn_os_deaf;
#define HN_OS_MUTEX { 0, 0 }
#else
#include <pthread.h>
#include <signal.h>
typedef pthread_mutex_t hn_os_mutex;
typedef pthread_cond_t hn_os_condition;
typedef pthread_t hn_os_thread_handle;
typedef struct hn_os_deaf {
    sigset_t before;
} hn_os_deaf;
#define HN_OS_MUTEX PTHREAD_MUTEX_INITIALIZER
#endif

typedef struct hn_os_thread {
    hn_os_thread_handle handle;
    void (*run)(void *context);
    void *context;
} hn_os_thread;

/* 0, or the system's number of what it lacks. The struct stays where it is until it is joined. No signal comes
 * to the thread but what it does itself: others are the host's affair. */
int hn_os_thread_start(hn_os_thread *thread, void (*run)(void *context), void *context);
void hn_os_thread_join(hn_os_thread *thread);
void hn_os_thread_rest(int ms); /* this one, for so long or until a signal came; a handler may call it */

/* In between no handler runs in this thread but of what it does itself: signals wait. */
void hn_os_thread_deafen(hn_os_deaf *deaf);
void hn_os_thread_hear(const hn_os_deaf *deaf);

void hn_os_mutex_open(hn_os_mutex *mutex);
void hn_os_mutex_close(hn_os_mutex *mutex);
/* False if this thread holds it already: for one that hn_os_mutex_open made. */
bool hn_os_mutex_lock(hn_os_mutex *mutex);
void hn_os_mutex_unlock(hn_os_mutex *mutex);

void hn_os_condition_open(hn_os_condition *condition);
void hn_os_condition_close(hn_os_condition *condition);
void hn_os_condition_wait(hn_os_condition *condition, hn_os_mutex *mutex);
void hn_os_condition_wake(hn_os_condition *condition);
void hn_os_condition_wake_all(hn_os_condition *condition);

#endif
