/* ahead.h: memory is asked for a part of an operand that is packed a little later, evenly, while tiles are multiplied: packing
 * alone waits for memory, and tiles alone leave it idle. */
#ifndef HN_KERNELS_GEMM_AHEAD_H
#define HN_KERNELS_GEMM_AHEAD_H

#include <stdint.h>

typedef struct hn_gemm_ahead {
    const char *at;                /* the next line of it */
    int64_t left;                  /* bytes of a piece that lies in one, */
    int64_t piece, stride, pieces; /* as they all are, and so far from one to the next; how many are left with this one */
    int64_t lines;                 /* that are asked for at a time: once for every 32 of k of a tile */
} hn_gemm_ahead;

enum { HN_GEMM_ASK = 32, HN_GEMM_LINE = 64 };

static inline void hn_gemm_ask(hn_gemm_ahead *x)
{
    if (!x)
        return;
    for (int64_t i = 0; i < x->lines && x->pieces > 0; i++) {
        __builtin_prefetch(x->at, 0, 2);
        x->at += HN_GEMM_LINE, x->left -= HN_GEMM_LINE;
        if (x->left <= 0) {
            x->at += x->stride - (x->piece + HN_GEMM_LINE - 1) / HN_GEMM_LINE * HN_GEMM_LINE;
            x->left = x->piece, x->pieces--;
        }
    }
}

#endif
