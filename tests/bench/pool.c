/* The thread pool against OpenMP: what an empty job costs, and a decode-like step of 400 tiny
 * jobs; alone and with busy processes on the same processors.
 *
 *     build/tests/bench/pool            medians over many steps, one line a case */
#include "base/pool.h"
#include "base/os/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { N_JOBS = 400, N_UNITS = 64, UNIT = 256, N_STEPS = 60 };

static float data[N_UNITS * UNIT];

static void empty(void *context, int64_t begin, int64_t end, int thread)
{
    (void)context, (void)begin, (void)end, (void)thread;
}

/* About 10 us of one processor a job. */
static void tiny(void *context, int64_t begin, int64_t end, int thread)
{
    (void)context, (void)thread;
    for (int64_t i = begin * UNIT; i < end * UNIT; i++)
        data[i] = data[i] * 0.5f + 1.0f / (1.0f + data[i] * data[i]);
}

static void run_pool(hn_pool *pool, hn_pool_job *job, int n_threads)
{
    (void)n_threads;
    for (int i = 0; i < N_JOBS; i++)
        hn_pool_run(pool, N_UNITS, 1, job, NULL);
}

#ifdef _OPENMP
static void run_omp(hn_pool *pool, hn_pool_job *job, int n_threads)
{
    (void)pool;
    for (int i = 0; i < N_JOBS; i++) {
#pragma omp parallel for schedule(static) num_threads(n_threads)
        for (int64_t part = 0; part < n_threads; part++)
            job(NULL, N_UNITS * part / n_threads, N_UNITS * (part + 1) / n_threads, 0);
    }
}
#endif

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, void (*step)(hn_pool *, hn_pool_job *, int),
                    hn_pool *pool, int n_threads, int n_busy)
{
    int64_t idle[N_STEPS], busy[N_STEPS];
    step(pool, tiny, n_threads);
    for (int i = 0; i < N_STEPS; i++) {
        const int64_t start = hn_clock_ns();
        step(pool, empty, n_threads);
        const int64_t middle = hn_clock_ns();
        step(pool, tiny, n_threads);
        idle[i] = middle - start;
        busy[i] = hn_clock_ns() - middle;
    }
    qsort(idle, N_STEPS, sizeof *idle, by_value);
    qsort(busy, N_STEPS, sizeof *busy, by_value);
    printf(
        "%-6s  %d threads  %d busy  empty job %8.2f us (p90 %8.2f)  step of %d jobs %8.2f ms "
        "(p90 %8.2f)\n",
        name, n_threads, n_busy, (double)idle[N_STEPS / 2] / N_JOBS / 1e3,
        (double)idle[N_STEPS * 9 / 10] / N_JOBS / 1e3, N_JOBS, (double)busy[N_STEPS / 2] / 1e6,
        (double)busy[N_STEPS * 9 / 10] / 1e6);
    fflush(stdout);
}

static pid_t start_busy(void)
{
    const pid_t child = fork();
    if (child == 0)
        for (volatile uint64_t i = 0;; i++) {
        }
    return child;
}

int main(void)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_pool *pools[2] = { NULL, NULL };
    pid_t busy[2];
    for (int n_busy = 0; n_busy <= 2; n_busy++) {
        if (n_busy)
            busy[n_busy - 1] = start_busy();
        for (int n_threads = 1; n_threads <= 2; n_threads++) {
            hn_pool **pool = &pools[n_threads - 1];
            if (!*pool && hn_pool_new(&heap, n_threads, pool) != HN_OK)
                return 1;
            measure("pool", run_pool, *pool, n_threads, n_busy);
#ifdef _OPENMP
            measure("openmp", run_omp, NULL, n_threads, n_busy);
#endif
        }
    }
    for (int i = 0; i < 2; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
        hn_pool_free(pools[i]);
    }
    return 0;
}
