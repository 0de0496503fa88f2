/* process.h: what the environment says of all of far's devices (far.h), and what they did. */
#ifndef TESTS_FAR_PROCESS_H
#define TESTS_FAR_PROCESS_H

#include "graph/op.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Which layout weights are preferred in. */
typedef enum far_taste { FAR_OWN, FAR_PANEL16, FAR_PLAIN, FAR_MIXED } far_taste;

typedef struct far_process {
    const char *off, *wrong, *counts, *memory; /* words; NULL: not said */
    far_taste taste;
    atomic_llong n_far, n_host;                 /* calls */
    atomic_llong n_captured, n_fenced;
    atomic_size_t most_taken, n_read; /* bytes */
} far_process;

extern far_process far_all;

bool far_is_off(const char *op);
/* After a call: of an op of HN_FAR_WRONG every element's last bit, as a kernel of far's might have it wrong. */
void far_spoil(const hn_call *call);
/* 0 of far, 3 of far3, the fourth in a list. */
int far_number_of(const char *name);
/* Of HN_FAR_MEMORY, the entry of the device with this name. */
size_t far_memory_of(const char *name);

#endif
