/* kernel_state.h: what the parts of kernel_check share. Tests do not include it. */
#ifndef TESTS_HARNESS_KERNEL_STATE_H
#define TESTS_HARNESS_KERNEL_STATE_H

#include "base/rng.h"
#include "tests/harness/kernel_check.h"

typedef struct kc_state {
    hn_rng_key key;   /* of the slot: the same data at every level */
    uint64_t n_drawn; /* elements of that stream used so far */
    uint64_t digest;
    bool hashes; /* at `ref` */
    bool is_in_loop, may_bench;
    kc_flavour flavour;
    size_t length; /* 0 outside kc_next_length */
    long n_bad;    /* differences of this slot at this level */
} kc_state;

extern kc_state kc;

/* Checks canaries and frees the buffers. */
void kc_recycle(void);

#endif
