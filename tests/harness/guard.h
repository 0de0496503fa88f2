/* guard.h: memory that notices. A buffer ends where an unreadable page begins, so that reading
 * or writing one byte too far is a fault at once; the bytes before it hold a pattern, and an
 * unreadable page comes before those.
 *
 *     | no access | canary ... | buffer | no access |
 */
#ifndef TESTS_HARNESS_GUARD_H
#define TESTS_HARNESS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Never NULL: a test without memory ends there. Contents are zero. Aligned only as `bytes` is.
 */
void *guard_new(size_t bytes);

/* Whether every live buffer's canary is as it was; names no buffer, for there are few. */
bool guard_all_intact(void);

void guard_free_all(void);

#endif
