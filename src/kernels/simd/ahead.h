/* ahead.h: memory is asked for weights that are packed, or unpacked, a little later, evenly, while tiles are multiplied: packing
 * alone waits for memory, and tiles alone leave it idle. */
#ifndef HN_KERNELS_SIMD_AHEAD_H
#define HN_KERNELS_SIMD_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hn_ahead {
    const char *at;                /* the next line of it */
    int64_t left;                  /* bytes of a piece that lies in one, */
    int64_t piece, stride, pieces; /* as they all are, and so far from one to the next; how many are left with this one */
    int64_t lines;                 /* that are asked for at a time: once for every 32 of k of a tile */
    bool near;                     /* into the first-level cache, not into the second (isa.h) */
} hn_ahead;

enum { HN_ASK_EVERY = 32, HN_LINE = 64 };

/* All `pieces` of `piece` bytes from `at` on, in so many times. */
static inline hn_ahead hn_ahead_of(const void *at, int64_t piece, int64_t stride, int64_t pieces, int64_t times, bool near)
{
    const int64_t lines = pieces * ((piece + HN_LINE - 1) / HN_LINE);
    return (hn_ahead){ .at = at, .left = piece, .piece = piece, .stride = stride, .pieces = pieces, .lines = (lines + times - 1) / times,
                       .near = near };
}

static inline void hn_ask(hn_ahead *x)
{
    if (!x)
        return;
    for (int64_t i = 0; i < x->lines && x->pieces > 0; i++) {
        if (x->near)
            __builtin_prefetch(x->at, 0, 3);
        else
            __builtin_prefetch(x->at, 0, 2);
        x->at += HN_LINE, x->left -= HN_LINE;
        if (x->left <= 0) {
            x->at += x->stride - (x->piece + HN_LINE - 1) / HN_LINE * HN_LINE;
            x->left = x->piece, x->pieces--;
        }
    }
}

#endif
