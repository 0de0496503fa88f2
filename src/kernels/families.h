/* families.h: all kernels of a set of levels: a table for each family. */
#ifndef HN_KERNELS_FAMILIES_H
#define HN_KERNELS_FAMILIES_H

#include "kernels/attn/attn.h"
#include "kernels/convert/convert.h"
#include "kernels/decode/decode.h"
#include "kernels/draw/draw.h"
#include "kernels/elemwise/elemwise.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemv/gemv.h"
#include "kernels/int8/int8.h"
#include "kernels/norm/norm.h"
#include "kernels/optim/optim.h"
#include "kernels/peak/peak.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rope/rope.h"
#include "kernels/softmax/softmax.h"
#include "kernels/xent/xent.h"

/* A family is a folder of its name: NAME.h has its table, hn_NAME_kernels, of which its texts make one
 * at every level that texts are compiled for. CMake reads this list, too. */
/* clang-format off */
#define HN_FAMILIES(X, with) \
    X(elemwise, with) \
    X(convert, with)  \
    X(norm, with)     \
    X(softmax, with)  \
    X(rope, with)     \
    X(reduce, with)   \
    X(optim, with)    \
    X(decode, with)   \
    X(gemv, with)     \
    X(gemm, with)     \
    X(int8, with)     \
    X(attn, with)     \
    X(xent, with)     \
    X(draw, with)     \
    X(peak, with)
/* clang-format on */

typedef struct hn_families {
#define HN_FAMILY_MEMBER(name, with) hn_##name##_kernels name;
    HN_FAMILIES(HN_FAMILY_MEMBER, )
#undef HN_FAMILY_MEMBER
} hn_families;

/* Tables point into each other: they stay where they were filled. */
void hn_families_init(hn_families *k, hn_isa isa);

#endif
