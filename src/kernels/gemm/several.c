/* Several rows: more than are multiplied by weights as they stream by, and no more than are packed at a time.
 *
 * All of A is packed once for a long stretch of k, and every piece of B, as many columns as a tile has, is packed and multiplied
 * while it is in the nearest cache. Of so few rows the tiles take about as long as memory has for B, so that the next piece is
 * asked for meanwhile (ahead.h): a step of sixteen rows by bf16 took as long as both together.
 *
 *     for k by as much as fits: pack A
 *       for n by nr: for k by depth: pack B  |  tiles, and ask for the next
 *
 * What lies as tiles read it, panels of bf16 for dots in blocks or of f32 for chains, is not packed (parts.h). Of those a few rows
 * take panel after panel, each of which is one stream: memory brings that sooner than what it is asked for, and two at a time. */
#include "kernels/gemm/parts.h"

#include <limits.h>

enum { MOST_DEPTHS = 64, ONE_STREAM = 4 };

/* A stretch of k whose rows of A are packed, depth after depth. */
typedef struct stretch {
    const hn_gemm_plan *plan;
    hn_gemm_areas s;
    bool dots;
    int64_t k0, k1, depth;
    int64_t height, panels, tall; /* of A's panels the first are so high, `tall` rows together, and the others a row less */
    int64_t floats;               /* of A, a depth */
    bool streams;                 /* panel after panel */
    int64_t wide;                 /* columns of a piece */
    int lowest[MOST_DEPTHS];      /* exponents, where there are dots */
} stretch;

/* Rows of panels of one height, of one depth. The lowest exponent. */
static int pack_panels(const stretch *t, int64_t i, int64_t rows, int64_t height, int64_t k, int64_t deep, float *to)
{
    const hn_gemm_operand *a = &t->plan->args.a;
    if (rows > 0 && t->dots)
        return hn_gemm_pack_pairs(t->plan, &t->s, a, i, rows, k, deep, height, to);
    if (rows > 0)
        hn_gemm_pack(t->plan, a, i, rows, k, deep, height, to, t->s.room);
    return INT_MAX;
}

static void pack_rows(stretch *t)
{
    const int64_t m = t->plan->args.m;
    for (int64_t k = t->k0, d = 0; k < t->k1; k += t->depth, d++) {
        const int64_t deep = least(t->k1 - k, t->depth), held = t->dots ? deep / 2 : deep;
        float *to = t->s.a + d * t->floats;
        const int tall = pack_panels(t, 0, t->tall, t->height, k, deep, to);
        const int low = pack_panels(t, t->tall, m - t->tall, t->height - 1, k, deep, to + t->tall * held);
        t->lowest[d] = tall < low ? tall : low;
    }
}

/* What is asked for while a piece is multiplied: the next of the same columns, or the first of the columns behind them. */
static hn_ahead next_of(const stretch *t, int64_t j, int64_t j1, int64_t k)
{
    const hn_gemm_operand *b = &t->plan->args.b;
    if (t->streams)
        return (hn_ahead){ .pieces = 0 };
    if (k + t->depth < t->k1)
        k += t->depth;
    else
        k = t->k0, j += t->wide;
    const int64_t columns = least(t->wide, j1 - j), deep = least(t->k1 - k, t->depth), wide = b->is_panel16 ? 16 : 1;
    if (columns <= 0)
        return (hn_ahead){ .pieces = 0 };
    const int64_t panel = 16 * hn_elem_span(b->type, b->row_elems), row = b->outer_stride;
    const char *from = (const char *)b->data + (b->is_panel16 ? j / 16 * panel : hn_gemm_row(b->pairs, j) * row);
    return hn_ahead_of(from + wide * hn_elem_span(b->type, k), wide * hn_elem_span(b->type, deep),
                       b->is_panel16 ? panel : b->pairs ? 2 * row : row, cuts(columns, wide), cuts(deep, HN_ASK_EVERY), false);
}

/* A piece whose exponents are too low for dots. */
static void multiply_by_fmas(stretch *t, int64_t j, int64_t end, int64_t k, int64_t deep)
{
    hn_gemm_run_fmas(t->plan, &t->s, 0, t->plan->args.m, j, end, k, k + deep); /* which takes the place of A */
    pack_rows(t);
}

/* One piece of B by all rows. */
static void multiply(stretch *t, int64_t j, int64_t j1, int64_t k)
{
    const hn_gemm_args *x = &t->plan->args;
    const int64_t end = least(j1, j + t->wide), deep = least(t->k1 - k, t->depth), d = (k - t->k0) / t->depth;
    hn_ahead ahead = next_of(t, j, j1, k);
    const hn_gemm_side b = hn_gemm_side_of(t->plan, &t->s, t->dots, j, end, k, deep);
    if (t->dots && t->lowest[d] + b.lowest < HN_GEMM_DOTS_LEAST) {
        multiply_by_fmas(t, j, end, k, deep);
        return;
    }
    hn_gemm_areas s = t->s;
    s.a += d * t->floats;
    s.ahead = &ahead;
    hn_gemm_put_tiles(t->plan, &s, t->dots, &b, deep, 0, t->tall, t->height, j, end, x->accumulate || k > 0);
    s.a += t->tall * (t->dots ? deep / 2 : deep);
    if (t->tall < x->m)
        hn_gemm_put_tiles(t->plan, &s, t->dots, &b, deep, t->tall, x->m - t->tall, t->height - 1, j, end, x->accumulate || k > 0);
}

void hn_gemm_run_several(const hn_gemm_plan *plan, const hn_gemm_areas *s, bool dots, int64_t j0, int64_t j1, int64_t k0, int64_t k1)
{
    const hn_gemm_kernels *g = plan->kernels;
    const int64_t m = plan->args.m, panels = cuts(m, g->mr), height = cuts(m, panels);
    stretch t = { .plan = plan, .s = *s, .dots = dots, .depth = dots ? 2 * g->kc : g->kc };
    t.streams = m <= ONE_STREAM && hn_gemm_lies_for_tiles(&plan->args, dots);
    t.wide = t.streams ? 16 : g->nr;
    t.panels = panels, t.height = height, t.tall = height * (m - panels * (height - 1));
    t.floats = m * g->kc;
    const int64_t most_deep = t.depth * least(MOST_DEPTHS, (hn_gemm_a_floats(g) - 64) / t.floats);
    for (int64_t at = k0; at < k1; at += most_deep) {
        t.k0 = at, t.k1 = least(k1, at + most_deep);
        pack_rows(&t);
        for (int64_t j = j0; j < j1; j += t.wide)
            for (int64_t k = t.k0; k < t.k1; k += t.depth)
                multiply(&t, j, j1, k);
    }
}
