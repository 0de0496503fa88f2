/* Three clocks of the system, in nanoseconds. */
#include "base/os/clock.h"

static int64_t now_of(clockid_t which)
{
    struct timespec now = { 0 };
    clock_gettime(which, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t hn_clock_ns(void) { return now_of(CLOCK_MONOTONIC); }

int64_t hn_clock_thread_ns(void) { return now_of(CLOCK_THREAD_CPUTIME_ID); }

int64_t hn_clock_wall_ns(void) { return now_of(CLOCK_REALTIME); }

bool hn_clock_utc(int64_t seconds, struct tm *out)
{
    const time_t when = (time_t)seconds;
    return gmtime_r(&when, out) != NULL;
}

bool hn_clock_local(int64_t seconds, struct tm *out)
{
    const time_t when = (time_t)seconds;
    return localtime_r(&when, out) != NULL;
}
