/* families.h: the kernel tables of one device, filled for its level. */
#ifndef HN_BACKEND_CPU_FAMILIES_H
#define HN_BACKEND_CPU_FAMILIES_H

#include "kernels/elemwise/elemwise.h"
#include "kernels/gemm/gemm.h"

typedef struct hn_cpu_families {
    hn_elemwise_kernels elemwise;
    const hn_gemm_kernels *gemm;
} hn_cpu_families;

static inline void hn_cpu_families_init(hn_cpu_families *k, hn_isa isa)
{
    hn_elemwise_kernels_init(&k->elemwise, isa);
    k->gemm = hn_gemm_kernels_for(isa);
}

#endif
