/* Timing for KC_BENCH: the best of several batches, each long enough for the clock.
 * Instructions are counted where the kernel of the operating system lets us. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* syscall */
#endif
#include "tests/harness/kernel_check.h"

#include "base/os/clock.h"

#include <stdio.h>
#include <string.h>
#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { N_BATCHES = 15, BATCH_NS = 2000000 };

static struct {
    int64_t batch, started_ns, started_count;
    double best_ns, best_count;
    int n_done; /* -1 while the batch size is being found */
} bench;

static int64_t instructions(void)
{
#if defined(__linux__)
    static int descriptor = -2;
    if (descriptor == -2) {
        struct perf_event_attr attr;
        memset(&attr, 0, sizeof attr);
        attr.size = sizeof attr;
        attr.type = PERF_TYPE_HARDWARE;
        attr.config = PERF_COUNT_HW_INSTRUCTIONS;
        attr.exclude_kernel = 1;
        attr.exclude_hv = 1;
        descriptor = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    }
    int64_t count = 0;
    if (descriptor >= 0 && read(descriptor, &count, sizeof count) == (ssize_t)sizeof count)
        return count;
#endif
    return 0;
}

static void start(void)
{
    bench.started_count = instructions();
    bench.started_ns = hn_clock_ns();
}

bool kc_bench_begin(void)
{
    if (!kc_wants_bench())
        return false;
    bench.batch = 0;
    bench.n_done = -1;
    bench.best_ns = bench.best_count = 1e30;
    return true;
}

int64_t kc_bench_batch(void) { return bench.batch; }

static void report(void)
{
    char place[256], count[32] = "-";
    kc_place(place, sizeof place);
    if (bench.best_count > 0)
        snprintf(count, sizeof count, "%.0f", bench.best_count);
    printf("bench %s: %.1f ns, %s instructions\n", place, bench.best_ns, count);
}

bool kc_bench_again(void)
{
    if (bench.batch == 0) {
        bench.batch = 1;
        start();
        return true;
    }
    const int64_t ns = hn_clock_ns() - bench.started_ns;
    const int64_t count = instructions() - bench.started_count;
    if (bench.n_done < 0) {
        if (ns < BATCH_NS && bench.batch < INT64_C(1) << 40)
            bench.batch *= 2;
        else
            bench.n_done = 0;
        start();
        return true;
    }
    const double each = (double)ns / (double)bench.batch;
    bench.best_ns = each < bench.best_ns ? each : bench.best_ns;
    const double counted = (double)count / (double)bench.batch;
    bench.best_count = counted < bench.best_count ? counted : bench.best_count;
    if (++bench.n_done == N_BATCHES) {
        report();
        return false;
    }
    start();
    return true;
}
