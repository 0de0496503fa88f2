/* fence.h: addresses at which the host finds nothing. A touch ends the process, status 99, with the place. */
#ifndef TESTS_FAR_FENCE_H
#define TESTS_FAR_FENCE_H

#include <stddef.h>

char *fence_new(size_t bytes);
void fence_free(char *fence, size_t bytes);
/* From now on for the whole process: a touch is told from other faults. */
void fence_watch(void);

#endif
