/* linear_id.h: the order of sums that linear_id and linear_id_back share. */
#ifndef HN_OPS_LINEAR_ID_H
#define HN_OPS_LINEAR_ID_H

#include "ops/attrs.h"

static inline double linear_id_rounding(const void *attrs)
{
    return ((const linear_id_attrs *)attrs)->sums == HN_SUMS_BLOCKS ? 0x1p-8 : 0;
}

#endif
