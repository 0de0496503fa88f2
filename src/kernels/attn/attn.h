/* attn.h: o = softmax(q k^T) v over tiles of keys, and its gradient. Scores never leave a tile.
 *
 *     q [Tq,H,D]   k [Tk,G,D]   v [Tk,G,Dv]   o [Tq,H,Dv]   lse [Tq,H]       H = G * heads a
 * group
 *
 * A query token t sees the keys [first, self] of its span when causal, [first, end) otherwise;
 * a window W > 0 leaves those with key > self - W (and key < self + W). Keys are rows of k.
 *
 * Order of one query and head, from its own keys alone: tiles of 64 keys counted from `first`,
 * ascending, 32 tiles to a chunk. In a chunk, from m = -inf, l = 0, o = 0, for each tile with
 * a visible key:
 *     s = (fma chain over d) * scale;  c * tanh(s / c) with a cap c
 *     m' = max(m, largest s);  a = exp(m - m');  p = exp(s - m')
 *     l = l * a + (sixteen lanes by key offset in the tile, then halves);  o = o * a, then
 *     o = fma(p, v, o) over ascending visible keys
 * Chunks fold in ascending order: m' = max(m1, m2), x = x1 * exp(m1 - m') + x2 * exp(m2 - m')
 * for l and o. A sink folds last: l = l * exp(m - m') + exp(sink - m'). Then o / l; lse = m +
 * log l. Keys that are not visible are skipped, neither read nor added as zero. A query without
 * keys gets o = 0 and lse = -inf (or its sink).
 *
 * Gradient: p = exp(s - lse), dp = chain over d of do * v, delta = sum of do * o by sixteen
 * lanes, ds = p * (dp - delta), with a cap ds *= 1 - t^2 (t the tanh), then ds *= scale. dq is one
 * chain over ascending keys; dk and dv are chains over ascending heads of the group, then
 * queries; dsink[h] goes on from what it holds: fma(-exp(sink - lse), delta, acc) over
 * ascending tokens.
 *
 * A plan is made from sizes and pointers without looking at data. Phases follow one another
 * with a barrier between; units of a phase run in any order on any threads. */
#ifndef HN_KERNELS_ATTN_ATTN_H
#define HN_KERNELS_ATTN_ATTN_H

#include "kernels/decode/decode.h"

#include <stdbool.h>

enum { HN_ATTN_TILE = 64, HN_ATTN_CHUNK = 2048, HN_ATTN_ROWS = 64, HN_ATTN_PHASES = 3 };
enum { HN_ATTN_EAGER_ROWS = 32 }; /* of a unit of `eager` */

typedef struct hn_attn_span {
    int32_t first, self, end; /* rows of k; self is the query's own key */
} hn_attn_span;

typedef struct hn_attn_rows { /* [T, heads, width], width contiguous; strides in elements */
    void *data;
    int64_t token_stride, head_stride;
} hn_attn_rows;

typedef struct hn_attn_args {
    int64_t n_q, n_k; /* tokens; with a table n_k is the keys of a sequence at most */
    int64_t n_head, n_kv_head, d, d_v; /* H, G, D, Dv */
    hn_attn_rows q, k, v, o, lse;      /* lse: head_stride, one float each */
    hn_elem kv_type;                   /* of k and v; d and d_v are multiples of its block */
    const int32_t *table; /* key j lies in row 64 * table[j / 64] + j % 64, spans begin at multiples of 64;
                           * NULL: in row j */
    const hn_attn_span *spans;         /* [n_q] */
    const float *sinks;                /* [H] or NULL */
    float scale, softcap;              /* softcap 0: none */
    int64_t window;                    /* 0: none */
    bool is_causal;
    hn_attn_rows dout, dq, dk, dv; /* backward: all f32 */
    float *dsinks;                 /* [H] or NULL; goes on from what it holds */
} hn_attn_args;

typedef struct hn_attn_plan {
    hn_attn_args args;
    bool is_split; /* forward: a unit for each chunk; backward: dk dv and dq apart */
    int64_t n_wide; /* forward: kv heads of a unit; several where few rows see them, for what is read lies together then */
    int64_t n_blocks, n_chunks;
    int64_t units[HN_ATTN_PHASES]; /* of each phase; 0: none */
} hn_attn_plan;

#define HN_PARAMS_attn                                                                         \
    const hn_attn_plan *plan, int phase, int64_t first, int64_t end, void *scratch, void *shared

typedef struct hn_attn_kernels {
    void (*forward)(HN_PARAMS_attn);
    void (*backward)(HN_PARAMS_attn);
    /* The forward as eager bf16 models compute it, rounded at each step: eager_text.c. */
    void (*eager)(const hn_attn_args *x, int64_t first, int64_t end, void *scratch);
} hn_attn_kernels;

void hn_attn_plan_forward(hn_attn_plan *plan, const hn_attn_args *args, int threads);
void hn_attn_plan_backward(hn_attn_plan *plan, const hn_attn_args *args, int threads);

/* Scratch of each thread, both directions; and what all threads share, for calls of at most
 * these sizes with at most so many threads. Aligned to 64 bytes. */
size_t hn_attn_scratch_bytes(int64_t d, int64_t d_v);
int64_t hn_attn_eager_units(const hn_attn_args *args);
/* Scores of a row that it has room for: those in a window begin at a multiple of 4,096 keys. */
int64_t hn_attn_eager_width(int64_t n_k, int64_t window);
size_t hn_attn_eager_scratch_bytes(int64_t d, int64_t d_v, int64_t n_k, int64_t window);
size_t hn_attn_shared_bytes(int64_t n_q, int64_t n_k, int64_t n_head, int64_t d_v, int threads);

#endif
