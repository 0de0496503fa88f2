/* clock.h: time that never goes back. Nothing that is computed may depend on it. */
#ifndef HN_BASE_CLOCK_H
#define HN_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment. */
int64_t hn_clock_ns(void);

#endif
