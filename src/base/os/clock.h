/* clock.h: time. Nothing that is computed may depend on it. */
#ifndef HN_BASE_OS_CLOCK_H
#define HN_BASE_OS_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds since some fixed moment; it never goes back. */
int64_t hn_clock_ns(void);
int64_t hn_clock_thread_ns(void); /* that this thread was on a processor */
int64_t hn_clock_wall_ns(void);   /* since 1970, as files are stamped */

bool hn_clock_utc(int64_t seconds, struct tm *out);
bool hn_clock_local(int64_t seconds, struct tm *out);

#endif
