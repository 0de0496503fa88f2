/* at_level.h: the kernels of a set of levels, for the checks. */
#ifndef TESTS_KERNELS_AT_LEVEL_H
#define TESTS_KERNELS_AT_LEVEL_H

#include "kernels/families.h"

/* Those of `ref` stay; any others until the next call. */
static inline const hn_families *at_level(hn_isa isa)
{
    static hn_families ref, other;
    hn_families *k = isa == HN_ISA(ref) ? &ref : &other;
    hn_families_init(k, isa);
    return k;
}

#endif
