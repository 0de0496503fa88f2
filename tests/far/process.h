/* process.h: what the environment says of all of far's devices (far.h), and what they did. */
#ifndef TESTS_FAR_PROCESS_H
#define TESTS_FAR_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct far_process {
    const char *off, *layout, *counts, *memory; /* words; NULL: not said */
    atomic_llong n_far, n_host;                 /* calls */
    atomic_llong n_captured, n_fenced;
    atomic_size_t most_taken, n_read; /* bytes */
} far_process;

extern far_process far_all;

bool far_is_off(const char *op);
/* Of HN_FAR_MEMORY, the entry of the device with this name: far, or far3 for the fourth in a list. */
size_t far_memory_of(const char *name);

#endif
