/* Where C lies while a matrix unit multiplies, and for how long it may. */
#include "kernels/gemm/squares.h"

#include "kernels/gemm/gemm.h"

#include <limits.h>

enum {
    SIDE = HN_SQUARE,
    HALF = HN_SQUARE_HALF,
    DEPTH = HN_SQUARE_DEPTH,
    PASS = HN_SQUARE_PASS,
    ROWS = HN_SQUARE_ROWS,
    WIDE = HN_SQUARE_GROUP,
    TALL = HN_SQUARE_TALL,
    LINES = 2 * 64, /* asked for with a block */
    PANEL_FLOATS = HALF * PASS + 64,
};
_Static_assert(WIDE * HN_SUM_BLOCK <= HALF * PASS, "a panel has room for either");
_Static_assert(PASS % DEPTH == 0 && DEPTH % HN_SUM_BLOCK == 0 && ROWS % TALL == 0 && TALL == 2 * SIDE, "every depth begins at a block");

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t cuts(int64_t n, int64_t step) { return (n + step - 1) / step; }

int64_t hn_gemm_columns_together(const hn_gemm_operand *b)
{
    return hn_elem_block(b->type) > 1 && hn_gemm_along_outer(b) ? WIDE : SIDE;
}

int64_t hn_gemm_region_widest(int64_t k) { return k > PASS ? HN_SQUARE_COLUMNS / 2 : HN_SQUARE_COLUMNS; }

/* Scratch: a panel | packed A | packed B | C, of one pass two squares of it. */
typedef struct floats {
    int64_t a, b, c;
} floats;

static int64_t up_to(int64_t n, int64_t step) { return cuts(n, step) * step; }

static floats floats_of(int64_t m, int64_t n, int64_t k)
{
    const int64_t rows = least(up_to(m, TALL), ROWS), cols = least(up_to(n, SIDE), hn_gemm_region_widest(k));
    const int64_t depth = least(up_to(k, HN_SUM_BLOCK), PASS);
    return (floats){ rows * depth / 2, least(cols, WIDE) * depth / 2, k > PASS ? rows * cols : TALL * SIDE };
}

int64_t hn_gemm_region_floats(int64_t m, int64_t n, int64_t k)
{
    const floats f = floats_of(m, n, k);
    return PANEL_FLOATS + f.a + f.b + f.c;
}

hn_gemm_region hn_gemm_region_of(const hn_gemm_plan *plan, float *scratch, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    hn_gemm_region r = { .plan = plan, .i0 = i0, .i1 = i1, .j0 = j0, .j1 = j1, .panel = scratch };
    for (int g = 0; g < HN_SQUARE_COLUMNS / SIDE; g++)
        r.held[g] = i0;
    const floats f = floats_of(i1 - i0, j1 - j0, plan->args.k);
    r.a = (uint32_t *)(void *)(scratch + PANEL_FLOATS);
    r.b = r.a + f.a;
    r.c = (float *)(void *)(r.b + f.b);
    return r;
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
    if (!r->plan->kernels->squares->pack(rows, outer, (int)n_outer, 0, depth, p->is_a, dst, p->words, &p->lowest))
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
            for (int64_t o = 0; o < n; o += SIDE)
                pack_rows(r, p, &rows, o, least(SIDE, n - o), deep,
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
    g->squares->join(p->depth, r->panel, p->is_a, dst, &p->lowest);
}

/* The lowest exponent. */
static int pack(const hn_gemm_region *r, part p, float *room)
{
    const hn_gemm_squares *squares = r->plan->kernels->squares;
    p.lowest = INT_MAX;
    for (int64_t o = 0; o < p.n_outer; o += SIDE) {
        const int64_t n = least(SIDE, p.n_outer - o);
        if (squares->pack(p.x, p.outer + o, (int)n, p.k, p.depth, p.is_a, p.dst + o / HALF * p.words, p.words, &p.lowest))
            continue;
        if (hn_gemm_along_outer(p.x)) {
            pack_decoded_wide(r, &p, room);
            break;
        }
        for (int64_t half = o; half < o + n; half += HALF)
            pack_decoded(r, &p, half, room);
    }
    return p.lowest;
}

int64_t hn_gemm_region_pass(hn_gemm_region *r, int64_t k, float *room)
{
    const hn_gemm_args *x = &r->plan->args;
    r->k = k;
    r->depth = least(x->k - k, PASS);
    r->half = cuts(r->depth, HN_SUM_BLOCK) * HN_SQUARE_WORDS;
    for (int64_t i = r->i0, at = 0; i < r->i1; i += TALL, at++) {
        const part a = { .x = &x->a, .outer = i, .n_outer = least(TALL, r->i1 - i), .k = k, .depth = r->depth, .is_a = true,
                         .dst = r->a + at * (TALL / HALF) * r->half, .words = r->half };
        r->lowest[at] = pack(r, a, room);
    }
    return r->depth;
}

/* ---- what comes next ---- */

/* The part of B that the next group is packed from, as it lies: rows of so many bytes. Every product takes its share of their lines. */
typedef struct ahead {
    const char *at;
    int64_t stride, bytes, rows, taken;
} ahead;

static ahead ahead_of(const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k, int64_t depth)
{
    const bool is_turned = hn_gemm_along_outer(x);
    const int64_t row = is_turned ? k : outer, rows = is_turned ? depth : n_outer;
    const int64_t from = is_turned ? outer : k, n = is_turned ? n_outer : depth;
    const int64_t stride = x->is_panel16 ? hn_elem_span(x->type, x->row_elems) : is_turned ? x->k_stride : x->outer_stride;
    const int64_t block = hn_elem_block(x->type), skipped = hn_elem_span(x->type, from / block * block);
    const int64_t bytes = hn_elem_span(x->type, cuts(n, block) * block);
    const char *at = (const char *)x->data + row * stride;
    if (x->is_panel16) /* sixteen rows are one */
        return (ahead){ at + HALF * skipped, HALF * stride, HALF * bytes, cuts(rows, HALF), 0 };
    return (ahead){ at + skipped, stride, bytes, rows, 0 };
}

/* For `blocks` blocks: a piece of a long row, or as much of as many rows. */
static hn_square_ahead next_lines(ahead *x, int64_t blocks)
{
    const int64_t piece = blocks * LINES, at = x->taken++;
    const bool is_long = x->bytes >= piece;
    const int64_t in_row = is_long ? x->bytes / piece : cuts(x->bytes, LINES);
    const int64_t row = in_row ? at / in_row * (is_long ? 1 : blocks) : 0;
    if (row >= x->rows)
        return (hn_square_ahead){ x->at, 0 };
    return (hn_square_ahead){ x->at + row * x->stride + at % in_row * (is_long ? piece : LINES), is_long ? LINES : x->stride };
}

static int64_t end_of_group(const hn_gemm_region *r, int64_t j)
{
    return least(j + hn_gemm_columns_together(&r->plan->args.b), r->j1);
}

static ahead ahead_of_group(const hn_gemm_region *r, int64_t end)
{
    const hn_gemm_args *x = &r->plan->args;
    const int64_t k = end < r->j1 ? r->k : r->k + r->depth, j = end < r->j1 ? end : r->j0;
    if (k >= x->k)
        return (ahead){ .at = (const char *)r->c };
    return ahead_of(&x->b, j, end_of_group(r, j) - j, k, least(x->k - k, PASS));
}

/* ---- C ---- */

typedef struct place { /* of a square in memory */
    float *c;
    int rows, cols;
} place;

static place place_of(const hn_gemm_region *r, int64_t i, int64_t j, int64_t end)
{
    const hn_gemm_args *x = &r->plan->args;
    char *c = (char *)x->c + i * x->c_row_stride + j * x->c_col_stride;
    return (place){ (float *)(void *)c, (int)least(SIDE, r->i1 - i), (int)least(SIDE, end - j) };
}

/* Where it is while it is not: of all passes but the last one all of C stays here. */
static float *square_at(const hn_gemm_region *r, int64_t i, int64_t j)
{
    const int64_t tall = (i - r->i0) / TALL, height = cuts(r->i1 - r->i0, TALL), in_tall = (i - r->i0) % TALL / SIDE;
    const int64_t at = r->plan->args.k > PASS ? (j - r->j0) / SIDE * height + tall : 0;
    return r->c + (2 * at + in_tall) * SIDE * SIDE;
}

/* The squares of rows [i, end) to memory. */
static void put_rows(const hn_gemm_region *r, int64_t i, int64_t end, int64_t j, int64_t j1)
{
    const hn_gemm_args *x = &r->plan->args;
    for (; i < end; i += SIDE)
        for (int64_t col = j; col < j1; col += SIDE) {
            const place at = place_of(r, i, col, j1);
            r->plan->kernels->squares->put(square_at(r, i, col), at.rows, at.cols, at.c, x->c_row_stride, x->c_col_stride);
        }
}

/* False: it may not go on from there. */
static bool take_rows(const hn_gemm_region *r, int64_t i, int64_t end, int64_t j, int64_t j1)
{
    const hn_gemm_args *x = &r->plan->args;
    bool may = true;
    for (; i < end; i += SIDE)
        for (int64_t col = j; col < j1 && may; col += SIDE) {
            const place at = place_of(r, i, col, j1);
            may = r->plan->kernels->squares->take(at.c, x->c_row_stride, x->c_col_stride, at.rows, at.cols, square_at(r, i, col));
        }
    return may;
}

/* The first of TALL rows for which it may not, by what was packed or what C holds. What it held already are multiples of 2^-126.
 * Where C does not stay, it is taken again when it is multiplied. */
static int64_t rows_that_may(hn_gemm_region *r, int64_t j, int64_t end, int of_b)
{
    int64_t *held = &r->held[(j - r->j0) / SIDE], i = r->i0;
    const int64_t before = *held;
    for (; i < r->i1; i += TALL) {
        const bool is_held = i < before || (r->k == 0 && !r->plan->args.accumulate);
        if (r->lowest[(i - r->i0) / TALL] + of_b < HN_GEMM_DOTS_LEAST ||
            !(is_held || take_rows(r, i, least(i + TALL, r->i1), j, end)))
            break;
    }
    *held = least(i, r->i1);
    put_rows(r, *held, before, j, end);
    return *held;
}

/* Two squares, one above the other. */
static void multiply_tall(const hn_gemm_region *r, int64_t i, int64_t j, int64_t end, const uint32_t *b, ahead *next)
{
    const int64_t i1 = least(i + TALL, r->i1);
    const bool goes_on = r->plan->args.accumulate || r->k > 0;
    if (r->plan->args.accumulate && r->plan->args.k <= PASS)
        take_rows(r, i, i1, j, end);
    for (int64_t k = 0; k < r->depth; k += DEPTH)
        for (int64_t row = i; row < i1; row += SIDE) {
            const int64_t words = k / HN_SUM_BLOCK * HN_SQUARE_WORDS;
            const hn_square_factors f = { r->a + (row - r->i0) / HALF * r->half + words, b + words, r->half,
                                          cuts(least(DEPTH, r->depth - k), HN_SUM_BLOCK) };
            r->plan->kernels->squares->multiply(&f, (int)least(SIDE, i1 - row), (int)least(SIDE, end - j), goes_on || k > 0,
                                                square_at(r, row, j), next_lines(next, f.blocks));
        }
    if (r->k + r->depth == r->plan->args.k)
        put_rows(r, i, i1, j, end);
}

int64_t hn_gemm_region_columns(hn_gemm_region *r, int64_t j, int64_t *end, float *room)
{
    const hn_gemm_squares *squares = r->plan->kernels->squares;
    *end = end_of_group(r, j);
    const part b = { .x = &r->plan->args.b, .outer = j, .n_outer = *end - j, .k = r->k, .depth = r->depth, .dst = r->b,
                     .words = r->half };
    const int64_t rows = rows_that_may(r, j, *end, pack(r, b, room));
    ahead next = ahead_of_group(r, *end);
    squares->open();
    for (int64_t col = j; col < *end; col += SIDE)
        for (int64_t i = r->i0; i < rows; i += TALL)
            multiply_tall(r, i, col, least(col + SIDE, *end), r->b + (col - j) / HALF * r->half, &next);
    squares->close();
    hn_streams_end();
    return rows;
}
