/* emulated.h: products by a matrix unit whose registers are emulated (base/tmm_emulated.h), in the lanes of each level of texts. */
#ifndef TESTS_KERNELS_EMULATED_EMULATED_H
#define TESTS_KERNELS_EMULATED_EMULATED_H

#include "kernels/gemm/squares.h"
#include "kernels/int8/int8.h"

typedef struct emulated_unit {
    const hn_gemm_squares *gemm; /* one of both */
    const hn_int8_squares *int8;
    int (*n_refused)(void); /* of what was done with registers, what instructions refuse */
    bool (*is_open)(void);  /* whether this thread has registers set up */
} emulated_unit;

/* Those of the last level of texts in a set. */
const emulated_unit *emulated_gemm(hn_isa isa);
const emulated_unit *emulated_int8(hn_isa isa);

#endif
