/* The driver above the micro-kernels: how a call is cut into units, and two of the loop orders; several.c has one between them.
 *
 * Many rows (per unit of m_block x n_block):         Few rows:
 *   for k by kc                                        for k by HN_GEMM_KF, pack the few rows of A
 *     pack B[kc, n_block]            stays in L2         for n by nr
 *     for m by mc: pack A[mc, kc]    mr rows in L1         for k by kc: pack B[kc, nr]  in L1,
 *       for m by mr                                                     tile; used once, gone
 *         for n by nr: tile
 *
 * Many rows in blocks take squares (squares.h) where there is a matrix unit.
 * Many rows whose elements are all bf16 take dots (dots.h) in the first order, as long as they may. In blocks (blocks.h)
 * panels are rounded to bf16 when they are packed, and every depth begins at a block. */
#include "kernels/gemm/parts.h"

#include <string.h>

enum { BLOCK = HN_SUM_BLOCK };

static bool may_hold_bf16(const hn_gemm_operand *x)
{
    return x->type == HN_ELEM_bf16 || x->type == HN_ELEM_f32;
}

/* A is packed by every unit of columns, and B by every one of rows: more of those that cost less. */
static void cut_for_squares(hn_gemm_plan *plan, int64_t threads)
{
    const hn_gemm_args *x = &plan->args;
    const int64_t least_wide = hn_gemm_columns_together(&x->b);
    int64_t m_units = cuts(x->m, HN_SQUARE_ROWS), n_units = cuts(x->n, hn_gemm_region_widest(x->k));
    const int64_t most_m = cuts(x->m, HN_SQUARE_TALL), most_n = cuts(x->n, most(least_wide, 128));
    while (m_units * n_units % threads && m_units * n_units < 4 * threads && (m_units < most_m || n_units < most_n))
        *(n_units == most_n || (x->n < x->m && m_units < most_m) ? &m_units : &n_units) += 1;
    plan->m_block = up_to(cuts(x->m, m_units), HN_SQUARE_TALL);
    plan->n_block = up_to(cuts(x->n, n_units), least_wide);
    plan->m_units = cuts(x->m, plan->m_block);
    plan->n_units = cuts(x->n, plan->n_block);
    plan->units = plan->m_units * plan->n_units;
}

/* Rows that weights are multiplied by as they stream by. What is no block format is cheaper packed for more than half as many as
 * registers hold: then a tile has more of them, and dots. None, where dots read them as they lie. */
static int64_t most_streamed(const hn_gemm_plan *plan)
{
    const hn_gemm_operand *b = &plan->args.b;
    const bool has_squares = plan->kernels->squares && plan->args.blocks;
    if (plan->kernels->dots && !has_squares && hn_gemm_lies_for_tiles(&plan->args, true))
        return 0;
    return hn_elem_block(b->type) == 1 && hn_gemm_along_k(b) && !has_squares ? HN_GEMM_FEW / 2 : HN_GEMM_FEW;
}

void hn_gemm_plan_make(hn_gemm_plan *plan, const hn_gemm_kernels *kernels,
                       const hn_gemm_args *args, int threads)
{
    *plan = (hn_gemm_plan){ .args = *args, .kernels = kernels };
    if (args->c_col_stride != 4 && args->c_row_stride == 4) { /* C^T = B^T A^T */
        hn_gemm_args *t = &plan->args;
        t->m = args->n, t->n = args->m, t->a = args->b, t->b = args->a;
        t->c_row_stride = args->c_col_stride, t->c_col_stride = 4;
    }
    const int64_t m = plan->args.m, n = plan->args.n, nr = kernels->nr;
    const int64_t want = threads > 1 ? threads : 1;
    plan->few = m <= most_streamed(plan);
    plan->several = !plan->few && m <= kernels->mc && hn_gemm_along_k(&plan->args.b);
    plan->squares = kernels->squares && args->blocks && !plan->few;
    plan->may_dot = kernels->dots && !plan->few &&
                    (args->blocks || (!args->accumulate && may_hold_bf16(&plan->args.a) && may_hold_bf16(&plan->args.b)));
    if (plan->squares) {
        cut_for_squares(plan, want);
        return;
    }
    /* Columns first: a unit packs its part of B once, and A once for every unit of columns. */
    int64_t n_units = cuts(n, kernels->nc);
    if (threads > 1 && n_units % want && n_units < 8 * want)
        n_units = least(cuts(n_units, want) * want, cuts(n, 128));
    if (plan->few)
        n_units = least(threads > 1 ? 8 * want : 1, cuts(n, 64));
    plan->n_block = cuts(cuts(n, n_units), nr) * nr;
    const hn_gemm_operand *b = &plan->args.b;
    const bool in_blocks = hn_elem_block(b->type) > 1 && hn_gemm_along_outer(b);
    if (plan->n_block > 128 && (plan->few || in_blocks)) /* whole ones; else units of one size */
        plan->n_block =
            least(cuts(plan->n_block, 256) * 256, plan->few ? INT64_MAX : kernels->nc);
    plan->n_units = cuts(n, plan->n_block);
    int64_t m_units = 1;
    if (!plan->few && threads > 1 && plan->n_units % want && plan->n_units < 4 * want)
        m_units = least(cuts(4 * want, plan->n_units), cuts(m, 8 * kernels->mr));
    plan->m_block = cuts(cuts(m, m_units), kernels->mr) * kernels->mr;
    plan->m_units = cuts(m, plan->m_block);
    plan->units = plan->m_units * plan->n_units;
}

/* Whether it is worth to look at all elements: those of the first row, or some of them. */
static bool looks_like_bf16(const hn_gemm_operand *x, int64_t outer, int64_t n_k)
{
    const char *row = (const char *)x->data + outer * x->outer_stride;
    uint32_t bits, all = 0;
    for (int64_t k = 0; k < least(n_k, 64) && x->type == HN_ELEM_f32; k++) {
        memcpy(&bits, row + k * x->k_stride, sizeof bits);
        all |= bits;
    }
    return !(all & 0xffff);
}

/* Rows that are packed together: whole panels, all of one height but the last. */
static int64_t rows_at(const hn_gemm_kernels *g, int64_t height, int64_t left)
{
    const int64_t rows = least(left, height * (g->mc / g->mr));
    return rows > height ? rows / height * height : rows;
}

void hn_gemm_run_fmas(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t i0, int64_t i1, int64_t j0,
                     int64_t j1, int64_t k0, int64_t k1)
{
    const hn_gemm_args *x = &plan->args;
    const hn_gemm_kernels *g = plan->kernels;
    const int64_t height = cuts(i1 - i0, cuts(i1 - i0, plan->kernels->mr));
    for (int64_t k = k0; k < k1; k += g->kc) {
        const int64_t depth = least(k1 - k, g->kc);
        const hn_gemm_side b = hn_gemm_side_of(plan, s, false, j0, j1, k, depth);
        for (int64_t i = i0, rows; i < i1; i += rows) {
            rows = rows_at(g, height, i1 - i);
            hn_gemm_pack(plan, &x->a, i, rows, k, depth, least(rows, height), s->a, s->room);
            hn_gemm_put_tiles(plan, s, false, &b, depth, i, rows, least(rows, height), j0, j1, x->accumulate || k > 0);
        }
    }
}

/* One depth of k by dots. Returns the row that it came to, where elements are no bf16 or too small. */
static int64_t run_dots(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t i0, int64_t i1, int64_t j0,
                        int64_t j1, int64_t k, int64_t depth)
{
    const hn_gemm_args *x = &plan->args;
    const hn_gemm_kernels *g = plan->kernels;
    const bool goes_on = x->accumulate || k > 0;
    const int64_t height = cuts(i1 - i0, cuts(i1 - i0, plan->kernels->mr));
    const hn_gemm_side b = hn_gemm_side_of(plan, s, true, j0, j1, k, depth);
    int64_t i = i0;
    for (int64_t rows; i < i1; i += rows) {
        rows = rows_at(g, height, i1 - i);
        if (hn_gemm_pack_pairs(plan, s, &x->a, i, rows, k, depth, least(rows, height), s->a) + b.lowest <
            HN_GEMM_DOTS_LEAST)
            break;
        hn_gemm_put_tiles(plan, s, true, &b, depth, i, rows, least(rows, height), j0, j1, goes_on);
    }
    return i;
}

/* E and O begin anew in every block: where dots fail in one depth they may do in the next. What is no whole block is for
 * fmas. */
static void run_blocks(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    const int64_t whole = plan->may_dot ? plan->args.k / BLOCK * BLOCK : 0;
    if (plan->several) {
        hn_gemm_run_several(plan, s, true, j0, j1, 0, whole);
        hn_gemm_run_several(plan, s, false, j0, j1, whole, plan->args.k);
        return;
    }
    for (int64_t k = 0, depth; k < whole; k += depth) {
        depth = least(whole - k, 2 * (int64_t)plan->kernels->kc);
        const int64_t row = run_dots(plan, s, i0, i1, j0, j1, k, depth);
        if (row < i1)
            hn_gemm_run_fmas(plan, s, row, i1, j0, j1, k, k + depth);
    }
    hn_gemm_run_fmas(plan, s, i0, i1, j0, j1, whole, plan->args.k);
}

/* A matrix unit for as many rows as it may, and what is left of neighbouring groups at once. */
static void run_squares(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    hn_gemm_region region = hn_gemm_region_of(plan, s->squares, i0, i1, j0, j1);
    for (int64_t k = 0, depth; k < plan->args.k; k += depth) {
        depth = hn_gemm_region_pass(&region, k, s->room);
        int64_t left = i1, from = j0; /* rows, from that column on */
        for (int64_t j = j0, end; j < j1; j = end) {
            const int64_t row = hn_gemm_region_columns(&region, j, &end, s->room);
            if (row != left || end - from > plan->kernels->nc) {
                if (left < i1)
                    hn_gemm_run_fmas(plan, s, left, i1, from, j, k, k + depth);
                left = row, from = j;
            }
        }
        if (left < i1)
            hn_gemm_run_fmas(plan, s, left, i1, from, j1, k, k + depth);
    }
}

/* Once dots have failed for some row, sums may have become too small for them: it is fmas from
 * there on. */
static void run_many(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t i0, int64_t i1,
                     int64_t j0, int64_t j1)
{
    const hn_gemm_args *x = &plan->args;
    if (plan->squares) {
        run_squares(plan, s, i0, i1, j0, j1);
        return;
    }
    if (x->blocks) {
        run_blocks(plan, s, i0, i1, j0, j1);
        return;
    }
    bool dots = plan->may_dot && looks_like_bf16(&x->a, i0, x->k) && looks_like_bf16(&x->b, j0, x->k);
    int64_t k = 0;
    for (int64_t depth; dots && k < x->k; k += depth) {
        depth = least(x->k - k, 2 * (int64_t)plan->kernels->kc);
        const int64_t row = run_dots(plan, s, i0, i1, j0, j1, k, depth);
        dots = row == i1;
        if (!dots)
            hn_gemm_run_fmas(plan, s, row, i1, j0, j1, k, k + depth);
    }
    if (plan->several)
        hn_gemm_run_several(plan, s, false, j0, j1, k, x->k);
    else
        hn_gemm_run_fmas(plan, s, i0, i1, j0, j1, k, x->k);
}

/* A[m, depth] as panels of at most mr rows, one after another. */
static void few_tiles(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t k, int64_t depth,
                      int64_t a_depth, int64_t a_from, hn_gemm_columns b, int64_t j, int64_t cols)
{
    const int64_t m = plan->args.m, panels = cuts(m, plan->kernels->mr);
    const bool accumulate = plan->args.accumulate || k > 0;
    for (int64_t p = 0, i = 0; p < panels; p++) {
        const int64_t rows = (m - i + panels - p - 1) / (panels - p);
        hn_gemm_put_tile(plan, s, false, depth, s->a + i * a_depth + a_from * rows, b, i, j, (int)rows,
                 (int)cols, accumulate);
        i += rows;
    }
}

static void pack_few(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t k, int64_t depth)
{
    const int64_t m = plan->args.m, panels = cuts(m, plan->kernels->mr);
    for (int64_t p = 0, i = 0; p < panels; p++) {
        const int64_t rows = (m - i + panels - p - 1) / (panels - p);
        hn_gemm_pack(plan, &plan->args.a, i, rows, k, depth, rows, s->a + i * depth, s->room);
        i += rows;
    }
}

static void lanes_of(const hn_gemm_plan *plan, bool plain, bool paired, HN_PARAMS_gemv)
{
    const hn_gemv_kernels *lanes = plan->kernels->lanes;
    const hn_elem type = plan->args.b.type;
    if (paired)
        (plain ? lanes->pair_plain : lanes->pair_panel)(type, rows, groups, k, x, w, stride, y, ldy, accumulate, room);
    else if (plan->args.blocks)
        (plain ? lanes->block_plain : lanes->block_panel)(type, rows, groups, k, x, w, stride, y, ldy, accumulate, room);
    else
        (plain ? lanes->plain : lanes->panel)[type](rows, groups, k, x, w, stride, y, ldy, accumulate, room);
}

/* Rows of weights in lanes, straight from memory: whole groups of sixteen from column j on.
 * Returns the column it came to. */
static int64_t run_lanes(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t k0, int64_t deep,
                         int64_t j, int64_t j1)
{
    const hn_gemm_args *x = &plan->args;
    const hn_gemm_operand *b = &x->b;
    const bool plain = !b->is_panel16 && hn_gemm_along_k(b);
    if ((!plain && !b->is_panel16) || x->c_col_stride != 4 || j % 16)
        return j;
    const int64_t m = x->m, height = HN_GEMV_ROWS;
    const int64_t row_bytes = hn_elem_span(b->type, b->row_elems);
    const int64_t half = b->pairs / 2, step = half ? 2 * b->outer_stride : b->outer_stride;
    if (half % 16 || (half && !plain))
        return j;
    _Static_assert((int)HN_GEMM_FEW == (int)HN_GEMV_ROWS, "rows of x are one panel");
    const hn_gemv_kernels *lanes = plan->kernels->lanes;
    const bool paired = x->blocks && plan->kernels->dots && lanes->pair_up && hn_elem_block(b->type) > 1 &&
                        lanes->pair_up(deep, (int)m, s->a);
    const int64_t end = j + (j1 - j) / 16 * 16;
    for (int64_t groups; j < end; j += 16 * groups) {
        const int64_t left = half ? least(end - j, half - j % half) : end - j;
        groups = left >= 64 ? 4 : left >= 32 ? 2 : 1;
        const char *w = hn_elem_span(b->type, k0) * (plain ? 1 : 16) +
                        (const char *)b->data + (plain ? hn_gemm_row(b->pairs, j) * b->outer_stride : j * row_bytes);
        for (int64_t i = 0; i < m; i += height)
            lanes_of(plan, plain, paired, (int)least(m - i, height), (int)groups, deep, s->a + i * deep, w,
                     plain ? step : 16 * row_bytes, (float *)(void *)((char *)x->c + i * x->c_row_stride + 4 * j),
                     x->c_row_stride / 4, x->accumulate || k0 > 0, s->room);
    }
    return j;
}

static void run_few(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t j0, int64_t j1)
{
    const hn_gemm_args *x = &plan->args;
    const hn_gemm_kernels *g = plan->kernels;
    const int64_t most_deep = HN_GEMM_FEW * HN_GEMM_KF / x->m / 256 * 256;
    for (int64_t k0 = 0; k0 < x->k; k0 += most_deep) {
        const int64_t deep = least(x->k - k0, most_deep);
        hn_gemm_pack(plan, &x->a, 0, x->m, k0, deep, x->m, s->a, s->room);
        const int64_t from = run_lanes(plan, s, k0, deep, j0, j1);
        if (from < j1)
            pack_few(plan, s, k0, deep);
        for (int64_t j = from; j < j1; j += g->nr)
            for (int64_t k = 0; k < deep; k += g->kc) {
                const int64_t depth = least(deep - k, g->kc), cols = least(g->nr, j1 - j);
                hn_gemm_pack(plan, &x->b, j, cols, k0 + k, depth, g->nr, s->b, s->room);
                few_tiles(plan, s, k0 + k, depth, deep, k, (hn_gemm_columns){ s->b, g->nr, 16 }, j, cols);
            }
    }
}

/* Few rows by weights that are contiguous along n: HN_GEMM_DEEP rows of weights at a time, read side by
 * side, each one in order. */
static void run_few_along_n(const hn_gemm_plan *plan, const hn_gemm_areas *s, int64_t j0, int64_t j1)
{
    const hn_gemm_args *x = &plan->args;
    const hn_gemm_kernels *g = plan->kernels;
    const bool in_place =
        !x->blocks && x->b.type == HN_ELEM_f32 && !x->b.is_panel16 && !x->b.pairs && x->b.k_stride % 4 == 0;
    for (int64_t k0 = 0; k0 < x->k; k0 += HN_GEMM_KF) {
        const int64_t deep = least(x->k - k0, HN_GEMM_KF);
        pack_few(plan, s, k0, deep);
        for (int64_t k = 0; k < deep; k += HN_GEMM_DEEP) {
            const int64_t depth = least(deep - k, HN_GEMM_DEEP);
            for (int64_t wide = j0; wide < j1; wide += HN_GEMM_WIDE) {
                const int64_t n = least(j1 - wide, HN_GEMM_WIDE);
                hn_gemm_columns b = { s->b, HN_GEMM_WIDE, 16 };
                if (in_place) {
                    b.at = (const float *)(const void *)((const char *)x->b.data +
                                                         (k0 + k) * x->b.k_stride + 4 * wide);
                    b.row = x->b.k_stride / 4;
                } else {
                    g->rows(&x->b, wide, n, k0 + k, depth, s->b, HN_GEMM_WIDE, s->room);
                    if (x->blocks && x->b.type != HN_ELEM_bf16)
                        g->round(depth * HN_GEMM_WIDE, s->b);
                }
                for (int64_t j = 0; j < n; j += g->nr, b.at += g->nr)
                    few_tiles(plan, s, k0 + k, depth, deep, k, b, wide + j, least(g->nr, n - j));
            }
        }
    }
}

void hn_gemm_run(const hn_gemm_plan *plan, int64_t first, int64_t end, void *scratch)
{
    const hn_gemm_areas s = hn_gemm_areas_of(plan->kernels, scratch);
    const hn_gemm_args *x = &plan->args;
    for (int64_t unit = first; unit < end; unit++) {
        const int64_t i0 = unit % plan->m_units * plan->m_block;
        const int64_t j0 = unit / plan->m_units * plan->n_block;
        const int64_t i1 = least(i0 + plan->m_block, x->m),
                      j1 = least(j0 + plan->n_block, x->n);
        if (!plan->few)
            run_many(plan, &s, i0, i1, j0, j1);
        else if (hn_gemm_along_outer(&x->b))
            run_few_along_n(plan, &s, j0, j1);
        else
            run_few(plan, &s, j0, j1);
    }
}
