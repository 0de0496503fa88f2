/* parts.h: what the orders of gemm.c and several.c are made of: the scratch of a thread, panels packed into it, and tiles of
 * panels put to C. */
#ifndef HN_KERNELS_GEMM_PARTS_H
#define HN_KERNELS_GEMM_PARTS_H

#include "kernels/gemm/gemm.h"

enum {
    HN_GEMM_KF = 2048,   /* depth of A's panels in the streaming order */
    HN_GEMM_WIDE = 1024, /* columns decoded at once when weights are contiguous along n, */
    HN_GEMM_DEEP = 32,   /* for so much of k */
};
_Static_assert(HN_GEMM_KF % HN_SUM_BLOCK == 0 && HN_GEMM_DEEP % HN_SUM_BLOCK == 0, "every depth begins at a block");

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static inline int64_t cuts(int64_t n, int64_t step) { return (n + step - 1) / step; }

static inline int64_t up_to(int64_t n, int64_t step) { return cuts(n, step) * step; }

/* Scratch: room | A panels | B panels | one tile of C | a panel to be joined into pairs | what a matrix unit reads and writes. */
typedef struct hn_gemm_areas {
    float *room, *a, *b, *tile, *panel, *squares;
    hn_ahead *ahead; /* what tiles ask for; NULL: nothing */
} hn_gemm_areas;

int64_t hn_gemm_a_floats(const hn_gemm_kernels *g);
hn_gemm_areas hn_gemm_areas_of(const hn_gemm_kernels *g, void *scratch);

/* Panels of f32, rounded where they are multiplied in blocks. */
void hn_gemm_pack(const hn_gemm_plan *plan, const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k, int64_t n_k,
                  int64_t width, float *dst, float *room);

/* Panels whose rows are pairs of k: twice the depth in as much memory. The lowest exponent. */
int hn_gemm_pack_pairs(const hn_gemm_plan *plan, const hn_gemm_areas *s, const hn_gemm_operand *x, int64_t outer, int64_t n_outer,
                       int64_t k, int64_t depth, int64_t width, float *dst);

/* Columns [j0, j1) of B from k on, for tiles that take `depth` of it. */
typedef struct hn_gemm_side {
    hn_gemm_columns first;
    int64_t next; /* floats from as many columns as a tile has to those behind them */
    int lowest;   /* exponent, where there are dots */
} hn_gemm_side;

/* Whether tiles read B where it lies, from the first column of a panel on: panels of f32 for chains, of bf16 for dots in blocks. */
bool hn_gemm_lies_for_tiles(const hn_gemm_args *x, bool dots);

/* As it lies, or packed. */
hn_gemm_side hn_gemm_side_of(const hn_gemm_plan *plan, const hn_gemm_areas *s, bool dots, int64_t j0, int64_t j1, int64_t k,
                             int64_t depth);

/* One tile, straight to C or by way of scratch when C's columns are strided too. */
void hn_gemm_put_tile(const hn_gemm_plan *plan, const hn_gemm_areas *s, bool dots, int64_t k, const float *a, hn_gemm_columns b,
                      int64_t i, int64_t j, int rows, int cols, bool accumulate);

/* Panels of A by B, both `depth` of k in as many rows of f32, or in half as many of pairs. */
void hn_gemm_put_tiles(const hn_gemm_plan *plan, const hn_gemm_areas *s, bool dots, const hn_gemm_side *b, int64_t depth, int64_t i,
                       int64_t rows, int64_t height, int64_t j0, int64_t j1, bool accumulate);

/* Several rows (several.c), no more than are packed at a time: columns [j0, j1), k from k0 to k1, by dots or without. */
void hn_gemm_run_several(const hn_gemm_plan *plan, const hn_gemm_areas *s, bool dots, int64_t j0, int64_t j1, int64_t k0, int64_t k1);

/* Rows [i0, i1) of any number, without dots. */
void hn_gemm_run_fmas(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t i0, int64_t i1, int64_t j0, int64_t j1, int64_t k0,
                      int64_t k1);

#endif
