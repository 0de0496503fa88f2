/* POSIX threads, with two habits: threads of ours hear no signal of the host's, and a mutex knows its owner, so
 * that taking it twice is refused and does not stop the thread for ever. */
#include "base/os/threads.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static void *run(void *argument)
{
    const hn_os_thread *thread = argument;
    thread->run(thread->context);
    return NULL;
}

/* All but those that a thread brings upon itself: blocked, those would end the process instead of finding their
 * handler, and a page of a mapped file that was cut is one. */
void hn_os_thread_deafen(hn_os_deaf *deaf)
{
    sigset_t most;
    sigfillset(&most);
    sigdelset(&most, SIGBUS);
    sigdelset(&most, SIGSEGV);
    sigdelset(&most, SIGFPE);
    sigdelset(&most, SIGILL);
    pthread_sigmask(SIG_SETMASK, &most, &deaf->before);
}

void hn_os_thread_hear(const hn_os_deaf *deaf) { pthread_sigmask(SIG_SETMASK, &deaf->before, NULL); }

int hn_os_thread_start(hn_os_thread *thread, void (*task)(void *context), void *context)
{
    hn_os_deaf deaf;
    thread->run = task;
    thread->context = context;
    hn_os_thread_deafen(&deaf);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
#if defined(__APPLE__) /* which gives half a megabyte */
    pthread_attr_setstacksize(&attributes, (size_t)8 << 20);
#endif
    const int failure = pthread_create(&thread->handle, &attributes, run, thread);
    pthread_attr_destroy(&attributes);
    hn_os_thread_hear(&deaf);
    return failure;
}

void hn_os_thread_join(hn_os_thread *thread) { pthread_join(thread->handle, NULL); }

void hn_os_thread_rest(int ms)
{
    const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };
    nanosleep(&time, NULL);
}

void hn_os_mutex_open(hn_os_mutex *mutex)
{
    pthread_mutexattr_t checked;
    pthread_mutexattr_init(&checked);
    pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(mutex, &checked);
    pthread_mutexattr_destroy(&checked);
}

void hn_os_mutex_close(hn_os_mutex *mutex) { pthread_mutex_destroy(mutex); }

bool hn_os_mutex_lock(hn_os_mutex *mutex) { return pthread_mutex_lock(mutex) != EDEADLK; }

void hn_os_mutex_unlock(hn_os_mutex *mutex) { pthread_mutex_unlock(mutex); }

void hn_os_condition_open(hn_os_condition *condition) { pthread_cond_init(condition, NULL); }

void hn_os_condition_close(hn_os_condition *condition) { pthread_cond_destroy(condition); }

void hn_os_condition_wait(hn_os_condition *condition, hn_os_mutex *mutex) { pthread_cond_wait(condition, mutex); }

void hn_os_condition_wake(hn_os_condition *condition) { pthread_cond_signal(condition); }

void hn_os_condition_wake_all(hn_os_condition *condition) { pthread_cond_broadcast(condition); }
