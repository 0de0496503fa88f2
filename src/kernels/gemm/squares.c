/* Where C lies while a matrix unit multiplies, and for how long it may. */
#include "kernels/gemm/squares.h"

#include "kernels/gemm/gemm.h"

#include <limits.h>

enum {
    SIDE = HN_SQUARE,
    HALF = HN_SQUARE_HALF,
    DEPTH = HN_SQUARE_DEPTH,
    WIDE = 256, /* outer elements of a format's blocks that are decoded together: none has more */
    PANEL_FLOATS = WIDE * HN_SUM_BLOCK + 64,
    HALF_WORDS = DEPTH / HN_SUM_BLOCK * HN_SQUARE_WORDS, /* of sixteen outer elements */
};
_Static_assert(HALF * DEPTH <= WIDE * HN_SUM_BLOCK, "a panel has room for either");
_Static_assert(DEPTH % HN_SUM_BLOCK == 0 && HN_SQUARE_ROWS % SIDE == 0, "every depth begins at a block");

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t cuts(int64_t n, int64_t step) { return (n + step - 1) / step; }

int64_t hn_gemm_region_floats(int64_t columns)
{
    const int64_t squares = cuts(columns, SIDE);
    return PANEL_FLOATS + 2 * HALF_WORDS + squares * (2 * HALF_WORDS + HN_SQUARE_ROWS * SIDE);
}

hn_gemm_region hn_gemm_region_of(const hn_gemm_plan *plan, float *scratch, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    hn_gemm_region r = { .plan = plan, .i0 = i0, .i1 = i1, .j0 = j0, .j1 = j1, .end = i0, .panel = scratch };
    r.a = (uint32_t *)(void *)(scratch + PANEL_FLOATS);
    r.b = r.a + 2 * HALF_WORDS;
    r.c = (float *)(void *)(r.b + cuts(j1 - j0, SIDE) * 2 * HALF_WORDS);
    return r;
}

static float *square_at(const hn_gemm_region *r, int64_t i, int64_t j)
{
    return r->c + ((i - r->i0) / SIDE * cuts(r->j1 - r->j0, SIDE) + (j - r->j0) / SIDE) * SIDE * SIDE;
}

/* ---- packing ---- */

/* A part of an operand, to squares [SIDE][n_outer], sixteen outer elements after another. */
typedef struct part {
    const hn_gemm_operand *x;
    int64_t outer, n_outer, k, depth;
    bool is_a;
    uint32_t *dst;
    int64_t words; /* of sixteen outer elements */
    int lowest;    /* exponent */
} part;

static hn_gemm_operand plain(const float *rows, int64_t outer_stride, int64_t k_stride)
{
    const int64_t each = sizeof(float);
    return (hn_gemm_operand){ .data = rows, .type = HN_ELEM_f32, .outer_stride = outer_stride * each, .k_stride = k_stride * each };
}

/* Rows of f32, which squares are packed from; if they ever were not, plain tiles would multiply. */
static void pack_rows(const hn_gemm_region *r, part *p, const hn_gemm_operand *rows, int64_t outer, int64_t n_outer, int64_t depth,
                      uint32_t *dst)
{
    if (!r->plan->kernels->squares->pack(rows, outer, (int)n_outer, 0, depth, p->is_a, dst, &p->lowest))
        p->lowest = HN_GEMM_NO_DOTS;
}

/* A block of a format that runs along the outer elements is decoded once for all that it holds. */
static void pack_decoded_wide(const hn_gemm_region *r, part *p, float *room)
{
    const hn_gemm_kernels *g = r->plan->kernels;
    const hn_gemm_operand rows = plain(r->panel, 1, WIDE);
    for (int64_t wide = 0; wide < p->n_outer; wide += WIDE)
        for (int64_t k = 0; k < p->depth; k += HN_SUM_BLOCK) {
            const int64_t n = least(WIDE, p->n_outer - wide), deep = least(HN_SUM_BLOCK, p->depth - k);
            g->rows(p->x, p->outer + wide, n, p->k + k, deep, r->panel, WIDE, room);
            for (int64_t o = 0; o < n; o += HALF)
                pack_rows(r, p, &rows, o, least(HALF, n - o), deep,
                          p->dst + (wide + o) / HALF * p->words + k / HN_SUM_BLOCK * HN_SQUARE_WORDS);
        }
}

/* Sixteen from `o` on: rows are decoded, and are rows of f32 then; panels are as all packers make them. */
static void pack_decoded(const hn_gemm_region *r, part *p, int64_t o, float *room)
{
    const hn_gemm_kernels *g = r->plan->kernels;
    const int n = (int)least(HALF, p->n_outer - o);
    uint32_t *dst = p->dst + o / HALF * p->words;
    if (!p->x->is_panel16 && hn_gemm_along_k(p->x)) {
        const hn_gemm_operand rows = plain(r->panel, p->depth, 1);
        g->along_k(p->x, p->outer + o, n, p->k, p->depth, r->panel, p->depth);
        pack_rows(r, p, &rows, 0, n, p->depth, dst);
        return;
    }
    g->pack(p->x, p->outer + o, n, p->k, p->depth, HALF, r->panel, room);
    if (p->x->type != HN_ELEM_bf16)
        g->round(HALF * p->depth, r->panel);
    g->squares->join(p->depth, r->panel, p->is_a, dst, &p->lowest);
}

/* The lowest exponent. */
static int pack(const hn_gemm_region *r, part p, float *room)
{
    const hn_gemm_squares *squares = r->plan->kernels->squares;
    p.words = cuts(p.depth, HN_SUM_BLOCK) * HN_SQUARE_WORDS;
    p.lowest = INT_MAX;
    for (int64_t o = 0; o < p.n_outer; o += HALF) {
        const int n = (int)least(HALF, p.n_outer - o);
        if (squares->pack(p.x, p.outer + o, n, p.k, p.depth, p.is_a, p.dst + o / HALF * p.words, &p.lowest))
            continue;
        if (hn_gemm_along_outer(p.x)) {
            pack_decoded_wide(r, &p, room);
            break;
        }
        pack_decoded(r, &p, o, room);
    }
    return p.lowest;
}

/* ---- C ---- */

typedef struct place { /* of a square in memory */
    float *c;
    int rows, cols;
} place;

static place place_of(const hn_gemm_region *r, int64_t i, int64_t end, int64_t j)
{
    const hn_gemm_args *x = &r->plan->args;
    char *c = (char *)x->c + i * x->c_row_stride + j * x->c_col_stride;
    return (place){ (float *)(void *)c, (int)least(SIDE, end - i), (int)least(SIDE, r->j1 - j) };
}

static bool take_rows(const hn_gemm_region *r, int64_t i)
{
    const hn_gemm_args *x = &r->plan->args;
    bool may = true;
    for (int64_t j = r->j0; j < r->j1 && may; j += SIDE) {
        const place at = place_of(r, i, r->i1, j);
        may = r->plan->kernels->squares->take(at.c, x->c_row_stride, x->c_col_stride, at.rows, at.cols, square_at(r, i, j));
    }
    return may;
}

static void put_rows(const hn_gemm_region *r, int64_t from, int64_t end)
{
    const hn_gemm_args *x = &r->plan->args;
    for (int64_t i = from; i < end; i += SIDE)
        for (int64_t j = r->j0; j < r->j1; j += SIDE) {
            const place at = place_of(r, i, end, j);
            r->plan->kernels->squares->put(square_at(r, i, j), at.rows, at.cols, at.c, x->c_row_stride, x->c_col_stride);
        }
    hn_streams_end();
}

static void multiply_rows(const hn_gemm_region *r, int64_t blocks, int64_t i, int64_t rows, bool goes_on)
{
    const int64_t words = 2 * blocks * HN_SQUARE_WORDS;
    const uint32_t *b = r->b;
    for (int64_t j = r->j0; j < r->j1; j += SIDE, b += words)
        r->plan->kernels->squares->multiply(blocks, r->a, b, (int)rows, (int)least(SIDE, r->j1 - j), goes_on,
                                            square_at(r, i, j), j + SIDE < r->j1 ? b + words : r->b);
}

int64_t hn_gemm_region_step(hn_gemm_region *r, int64_t k, int64_t depth, float *room)
{
    const hn_gemm_args *x = &r->plan->args;
    const hn_gemm_squares *squares = r->plan->kernels->squares;
    const bool goes_on = x->accumulate || k > 0;
    const int64_t blocks = cuts(depth, HN_SUM_BLOCK);
    if (!goes_on)
        r->end = r->i1;
    while (r->end < r->i1 && take_rows(r, r->end))
        r->end = least(r->end + SIDE, r->i1);
    int64_t i = r->i0;
    if (i == r->end)
        return i;
    const part b = { .x = &x->b, .outer = r->j0, .n_outer = r->j1 - r->j0, .k = k, .depth = depth, .dst = r->b };
    const int of_b = pack(r, b, room);
    squares->open();
    for (int64_t rows; i < r->end; i += rows) {
        rows = least(SIDE, r->end - i);
        const part a = { .x = &x->a, .outer = i, .n_outer = rows, .k = k, .depth = depth, .is_a = true, .dst = r->a };
        if (pack(r, a, room) + of_b < HN_GEMM_DOTS_LEAST)
            break;
        multiply_rows(r, blocks, i, rows, goes_on);
    }
    squares->close();
    if (goes_on)
        put_rows(r, i, r->end);
    r->end = i;
    return i;
}

void hn_gemm_region_end(hn_gemm_region *r) { put_rows(r, r->i0, r->end); }
