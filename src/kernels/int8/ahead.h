/* ahead.h: memory is asked for weights that are multiplied a little later, evenly, while others are. */
#ifndef HN_KERNELS_INT8_AHEAD_H
#define HN_KERNELS_INT8_AHEAD_H

#include "kernels/simd/f32x16.h"

enum { AHEAD = 8192 }; /* bytes: two panels of a thousand columns in four bits */

HN_INLINE void ask_for(const uint8_t *from, int64_t bytes, bool near)
{
    for (int64_t at = 0; near && at < bytes; at += 64)
        __builtin_prefetch(from + at, 0, 3);
    for (int64_t at = 0; !near && at < bytes; at += 64)
        __builtin_prefetch(from + at, 0, 2);
}

#endif
