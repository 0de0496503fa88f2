/* Whole seconds and the rest are turned into nanoseconds apart: together they would overflow within the hour. */
#include "base/os/clock.h"

#include "base/os/windows/wide.h"

int64_t hn_clock_ns(void)
{
    LARGE_INTEGER now, a_second;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&a_second);
    const int64_t whole = now.QuadPart / a_second.QuadPart, rest = now.QuadPart % a_second.QuadPart;
    return whole * 1000000000 + rest * 1000000000 / a_second.QuadPart;
}

static int64_t hundreds(FILETIME t) { return (int64_t)((uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime); }

int64_t hn_clock_thread_ns(void)
{
    FILETIME began, ended, system, user;
    GetThreadTimes(GetCurrentThread(), &began, &ended, &system, &user);
    return (hundreds(system) + hundreds(user)) * 100;
}

int64_t hn_clock_wall_ns(void)
{
    FILETIME now; /* since 1601 */
    GetSystemTimePreciseAsFileTime(&now);
    return (hundreds(now) - INT64_C(116444736000000000)) * 100;
}

bool hn_clock_utc(int64_t seconds, struct tm *out)
{
    const __time64_t when = seconds;
    return _gmtime64_s(out, &when) == 0;
}

bool hn_clock_local(int64_t seconds, struct tm *out)
{
    const __time64_t when = seconds;
    return _localtime64_s(out, &when) == 0;
}
