/* memorise.h: a small transformer of experts, trained on one text until it recites it. */
#ifndef HN_CLI_MEMORISE_H
#define HN_CLI_MEMORISE_H

#include "backend/backend.h"

enum { HN_MEMORISE_PROMPT = 12 }; /* bytes of the text that it is given */

typedef struct hn_memorised {
    int n_steps;
    double first_loss, last_loss, seconds;
    char *recited; /* on the heap; the caller frees it */
} hn_memorised;

hn_status hn_memorise(hn_heap *heap, hn_device *device, const char *text, uint64_t seed,
                      bool (*progress)(void *context, double done, const char *what),
                      hn_memorised *out);

#endif
