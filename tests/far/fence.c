#define _GNU_SOURCE 1
#include "tests/far/fence.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *begin, *end;
} fences[1 << 14];
static volatile int n_fences;

static void on_touch(int number, siginfo_t *info, void *context)
{
    void *frames[40];
    char *at = info->si_addr;
    (void)context;
    for (int i = 0; i < n_fences; i++)
        if (at >= fences[i].begin && at < fences[i].end) {
            static const char text[] = "FAILED: the host touched memory of far, here:\n";
            (void)!write(2, text, sizeof text - 1);
            backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
            _exit(99);
        }
    signal(number, SIG_DFL);
}

static void note(char *begin, size_t bytes, bool is_new)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < (int)(sizeof fences / sizeof *fences); i++) {
        if (is_new ? fences[i].begin != NULL : fences[i].begin != begin)
            continue;
        fences[i].begin = is_new ? begin : NULL;
        fences[i].end = is_new ? begin + bytes : NULL;
        n_fences = i >= n_fences ? i + 1 : n_fences;
        break;
    }
    pthread_mutex_unlock(&lock);
}

static size_t fenced(size_t bytes)
{
    return (bytes / 4096 + 2) * 4096;
}

char *fence_new(size_t bytes)
{
    char *fence = mmap(NULL, fenced(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fence == MAP_FAILED)
        abort();
    note(fence, fenced(bytes), true);
    return fence;
}

void fence_free(char *fence, size_t bytes)
{
    note(fence, fenced(bytes), false);
    munmap(fence, fenced(bytes));
}

void fence_watch(void)
{
    struct sigaction own = { .sa_sigaction = on_touch, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &own, NULL);
}
