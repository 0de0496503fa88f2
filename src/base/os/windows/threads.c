/* A slim lock does not know who has it: the owner's number stands beside it, so that taking it twice is refused
 * here too. */
#include "base/os/threads.h"

#include "base/os/windows/wide.h"

#include <errno.h>
#include <process.h>
#include <stdint.h>

static unsigned __stdcall run(void *argument)
{
    const hn_os_thread *thread = argument;
    thread->run(thread->context);
    return 0;
}

int hn_os_thread_start(hn_os_thread *thread, void (*task)(void *context), void *context)
{
    thread->run = task;
    thread->context = context;
    const uintptr_t handle = _beginthreadex(NULL, 0, run, thread, 0, NULL);
    thread->handle = (void *)handle;
    return handle ? 0 : errno;
}

void hn_os_thread_join(hn_os_thread *thread)
{
    WaitForSingleObject(thread->handle, INFINITE);
    CloseHandle(thread->handle);
}

/* Zeros are what SRWLOCK_INIT and CONDITION_VARIABLE_INIT are. */
_Static_assert(sizeof(SRWLOCK) == sizeof(void *) && sizeof(CONDITION_VARIABLE) == sizeof(void *), "held in their place");

void hn_os_thread_rest(int ms) { Sleep((DWORD)ms); }

void hn_os_thread_deafen(hn_os_deaf *deaf) { deaf->none = 0; }

void hn_os_thread_hear(const hn_os_deaf *deaf) { (void)deaf; }

void hn_os_mutex_open(hn_os_mutex *mutex) { *mutex = (hn_os_mutex)HN_OS_MUTEX; }

void hn_os_mutex_close(hn_os_mutex *mutex) { (void)mutex; }

/* Only the owner's own thread can find its number there. */
bool hn_os_mutex_lock(hn_os_mutex *mutex)
{
    const DWORD self = GetCurrentThreadId();
    if (__atomic_load_n(&mutex->owner, __ATOMIC_RELAXED) == self)
        return false;
    AcquireSRWLockExclusive((SRWLOCK *)&mutex->lock);
    __atomic_store_n(&mutex->owner, self, __ATOMIC_RELAXED);
    return true;
}

void hn_os_mutex_unlock(hn_os_mutex *mutex)
{
    __atomic_store_n(&mutex->owner, 0, __ATOMIC_RELAXED);
    ReleaseSRWLockExclusive((SRWLOCK *)&mutex->lock);
}

void hn_os_condition_open(hn_os_condition *condition) { condition->queue = NULL; }

void hn_os_condition_close(hn_os_condition *condition) { (void)condition; }

void hn_os_condition_wait(hn_os_condition *condition, hn_os_mutex *mutex)
{
    __atomic_store_n(&mutex->owner, 0, __ATOMIC_RELAXED);
    SleepConditionVariableSRW((CONDITION_VARIABLE *)&condition->queue, (SRWLOCK *)&mutex->lock, INFINITE, 0);
    __atomic_store_n(&mutex->owner, GetCurrentThreadId(), __ATOMIC_RELAXED);
}

void hn_os_condition_wake(hn_os_condition *condition)
{
    WakeConditionVariable((CONDITION_VARIABLE *)&condition->queue);
}

void hn_os_condition_wake_all(hn_os_condition *condition)
{
    WakeAllConditionVariable((CONDITION_VARIABLE *)&condition->queue);
}
