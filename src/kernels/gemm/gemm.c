/* The driver above the micro-kernels: how a call is cut into units, and the two loop orders.
 *
 * Many rows (per unit of m_block x n_block):         Few rows:
 *   for k by kc                                        for k by KF, pack the few rows of A
 *     pack B[kc, n_block]            stays in L2         for n by nr
 *     for m by mc: pack A[mc, kc]    mr rows in L1         for k by kc: pack B[kc, nr]  in L1,
 *       for m by mr                                                     tile; used once, gone
 *         for n by nr: tile
 *
 * Many rows in blocks take squares (squares.h) where there is a matrix unit.
 * Many rows whose elements are all bf16 take dots (dots.h) in the first order, as long as they may. In blocks (blocks.h)
 * panels are rounded to bf16 when they are packed, and every depth begins at a block. */
#include "kernels/gemm/gemm.h"

#include <limits.h>
#include <string.h>

enum {
    KF = 2048,   /* depth of A's panels in the streaming order */
    WIDE = 1024, /* columns decoded at once when weights are contiguous along n */
    DEEP = 32,
    BLOCK = HN_SUM_BLOCK,
};
_Static_assert(KF % BLOCK == 0 && DEEP % BLOCK == 0, "every depth begins at a block");

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static inline int64_t cuts(int64_t n, int64_t step) { return (n + step - 1) / step; }

static inline int64_t up_to(int64_t n, int64_t step) { return cuts(n, step) * step; }

/* Scratch: room | A panels | B panels | one tile of C | a panel to be joined into pairs | what a matrix unit reads and writes. */
typedef struct areas {
    float *room, *a, *b, *tile, *panel, *squares;
} areas;

static int64_t a_floats(const hn_gemm_kernels *g)
{
    return most((int64_t)g->mc * g->kc, (int64_t)HN_GEMM_FEW * KF) + 64;
}

static int64_t b_floats(const hn_gemm_kernels *g)
{
    return most((int64_t)g->nc * g->kc, (int64_t)DEEP * WIDE) + 64;
}

static int64_t panel_floats(const hn_gemm_kernels *g) { return g->dots ? (int64_t)g->nr * g->kc + 64 : 0; }

/* Either side may turn out to be the rows. */
static int64_t squares_floats(const hn_gemm_kernels *g, const hn_gemm_args *x)
{
    if (!g->squares || !x->blocks)
        return 0;
    return most(hn_gemm_region_floats(x->m, x->n, x->k), hn_gemm_region_floats(x->n, x->m, x->k));
}

size_t hn_gemm_chain_scratch_bytes(const hn_gemm_kernels *g)
{
    return sizeof(float) * (size_t)(HN_GEMM_ROOM + a_floats(g) + b_floats(g) + g->mr * g->nr + panel_floats(g));
}

size_t hn_gemm_scratch_bytes(const hn_gemm_kernels *g, const hn_gemm_args *largest)
{
    return hn_gemm_chain_scratch_bytes(g) + sizeof(float) * (size_t)squares_floats(g, largest);
}

static areas areas_of(const hn_gemm_kernels *g, void *scratch)
{
    areas s = { .room = scratch };
    s.a = s.room + HN_GEMM_ROOM;
    s.b = s.a + a_floats(g);
    s.tile = s.b + b_floats(g);
    s.panel = s.tile + g->mr * g->nr;
    s.squares = s.panel + panel_floats(g);
    return s;
}

static hn_gemm_tile tile_of(const hn_gemm_plan *plan, bool dots)
{
    const hn_gemm_kernels *g = plan->kernels;
    if (dots)
        return plan->args.blocks ? g->dots->block_tile : g->dots->tile;
    return plan->args.blocks ? g->block_tile : g->tile;
}

/* Panels of f32, rounded where they are multiplied in blocks. */
static void pack(const hn_gemm_plan *plan, const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k,
                 int64_t n_k, int64_t width, float *dst, float *room)
{
    plan->kernels->pack(x, outer, n_outer, k, n_k, width, dst, room);
    if (plan->args.blocks && x->type != HN_ELEM_bf16)
        plan->kernels->round(cuts(n_outer, width) * width * n_k, dst);
}

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
    plan->few = m <= HN_GEMM_FEW;
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

/* One tile, straight to C or by way of scratch when C's columns are strided too. */
static void put_tile(const hn_gemm_plan *plan, const areas *s, bool dots, int64_t k,
                     const float *a, const float *b, int64_t ldb, int64_t i, int64_t j, int rows,
                     int cols, bool accumulate)
{
    const hn_gemm_args *x = &plan->args;
    const hn_gemm_kernels *g = plan->kernels;
    char *c = (char *)x->c + i * x->c_row_stride + j * x->c_col_stride;
    const bool direct = x->c_col_stride == 4;
    float *to = direct ? (float *)(void *)c : s->tile;
    const int64_t ld = direct ? x->c_row_stride / 4 : g->nr;
    for (int r = 0; r < rows && accumulate && !direct; r++)
        for (int q = 0; q < cols; q++)
            to[r * ld + q] =
                *(const float *)(const void *)(c + r * x->c_row_stride + q * x->c_col_stride);
    tile_of(plan, dots)(k, a, b, ldb, to, ld, rows, cols, accumulate);
    for (int r = 0; r < rows && !direct; r++)
        for (int q = 0; q < cols; q++)
            *(float *)(void *)(c + r * x->c_row_stride + q * x->c_col_stride) = to[r * ld + q];
}

/* Panels whose rows are pairs of k: twice the depth in as much memory. The lowest exponent. */
static int pack_pairs(const hn_gemm_plan *plan, const areas *s, const hn_gemm_operand *x,
                      int64_t outer, int64_t n_outer, int64_t k, int64_t depth, int64_t width,
                      float *dst)
{
    const hn_gemm_kernels *g = plan->kernels;
    int lowest = INT_MAX;
    if (g->dots->pack(x, outer, n_outer, k, depth, width, plan->args.blocks, dst, &lowest) &&
        !(plan->args.blocks && lowest == HN_GEMM_NO_DOTS && x->type != HN_ELEM_bf16)) /* not rounded, perhaps */
        return lowest;
    lowest = INT_MAX;
    for (int64_t o = 0; o < n_outer; o += width)
        for (int64_t at = 0; at < depth; at += g->kc) {
            const int64_t deep = least(depth - at, g->kc);
            pack(plan, x, outer + o, least(width, n_outer - o), k + at, deep, width, s->panel, s->room);
            const int exponent = g->dots->join(deep, width, s->panel, dst);
            lowest = exponent < lowest ? exponent : lowest;
            if (plan->args.blocks)
                g->dots->regroup(deep, width, dst);
            dst += (deep + 1) / 2 * width;
        }
    return lowest;
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

/* Panels of A by panels of B, both `depth` of k in as many rows of f32, or in half as many of pairs. */
static void put_tiles(const hn_gemm_plan *plan, const areas *s, bool dots, int64_t depth, int64_t i,
                      int64_t rows, int64_t height, int64_t j0, int64_t j1, bool accumulate)
{
    const int64_t nr = plan->kernels->nr, deep = dots ? (depth + 1) / 2 : depth;
    const int64_t n_p = cuts(rows, height), n_j = cuts(j1 - j0, nr);
    for (int64_t at = 0; at < n_p * n_j; at++) {
        const int64_t p = (at / n_j) * height;
        const int64_t j = (at % n_j) * nr;
        put_tile(plan, s, dots, plan->args.blocks ? depth : deep, s->a + p * deep, s->b + j * deep, nr, i + p, j0 + j,
                 (int)least(rows - p, height), (int)least(nr, j1 - j0 - j), accumulate);
    }
}

/* Rows that are packed together: whole panels, all of one height but the last. */
static int64_t rows_at(const hn_gemm_kernels *g, int64_t height, int64_t left)
{
    const int64_t rows = least(left, height * (g->mc / g->mr));
    return rows > height ? rows / height * height : rows;
}

static void run_fmas(const hn_gemm_plan *plan, const areas *s, int64_t i0, int64_t i1, int64_t j0,
                     int64_t j1, int64_t k0, int64_t k1)
{
    const hn_gemm_args *x = &plan->args;
    const hn_gemm_kernels *g = plan->kernels;
    const int64_t height = cuts(i1 - i0, cuts(i1 - i0, plan->kernels->mr));
    for (int64_t k = k0; k < k1; k += g->kc) {
        const int64_t depth = least(k1 - k, g->kc);
        pack(plan, &x->b, j0, j1 - j0, k, depth, g->nr, s->b, s->room);
        for (int64_t i = i0, rows; i < i1; i += rows) {
            rows = rows_at(g, height, i1 - i);
            pack(plan, &x->a, i, rows, k, depth, least(rows, height), s->a, s->room);
            put_tiles(plan, s, false, depth, i, rows, least(rows, height), j0, j1,
                      x->accumulate || k > 0);
        }
    }
}

/* One depth of k by dots. Returns the row that it came to, where elements are no bf16 or too small. */
static int64_t run_dots(const hn_gemm_plan *plan, const areas *s, int64_t i0, int64_t i1, int64_t j0,
                        int64_t j1, int64_t k, int64_t depth)
{
    const hn_gemm_args *x = &plan->args;
    const hn_gemm_kernels *g = plan->kernels;
    const bool goes_on = x->accumulate || k > 0;
    const int64_t height = cuts(i1 - i0, cuts(i1 - i0, plan->kernels->mr));
    const int of_b = pack_pairs(plan, s, &x->b, j0, j1 - j0, k, depth, g->nr, s->b);
    int64_t i = i0;
    for (int64_t rows; i < i1; i += rows) {
        rows = rows_at(g, height, i1 - i);
        if (pack_pairs(plan, s, &x->a, i, rows, k, depth, least(rows, height), s->a) + of_b <
            HN_GEMM_DOTS_LEAST)
            break;
        put_tiles(plan, s, true, depth, i, rows, least(rows, height), j0, j1, goes_on);
    }
    return i;
}

/* E and O begin anew in every block: where dots fail in one depth they may do in the next. What is no whole block is for
 * fmas. */
static void run_blocks(const hn_gemm_plan *plan, const areas *s, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    const int64_t whole = plan->may_dot ? plan->args.k / BLOCK * BLOCK : 0;
    for (int64_t k = 0, depth; k < whole; k += depth) {
        depth = least(whole - k, 2 * (int64_t)plan->kernels->kc);
        const int64_t row = run_dots(plan, s, i0, i1, j0, j1, k, depth);
        if (row < i1)
            run_fmas(plan, s, row, i1, j0, j1, k, k + depth);
    }
    run_fmas(plan, s, i0, i1, j0, j1, whole, plan->args.k);
}

/* A matrix unit for as many rows as it may, and what is left of neighbouring groups at once. */
static void run_squares(const hn_gemm_plan *plan, const areas *s, int64_t i0, int64_t i1, int64_t j0, int64_t j1)
{
    hn_gemm_region region = hn_gemm_region_of(plan, s->squares, i0, i1, j0, j1);
    for (int64_t k = 0, depth; k < plan->args.k; k += depth) {
        depth = hn_gemm_region_pass(&region, k, s->room);
        int64_t left = i1, from = j0; /* rows, from that column on */
        for (int64_t j = j0, end; j < j1; j = end) {
            const int64_t row = hn_gemm_region_columns(&region, j, &end, s->room);
            if (row != left || end - from > plan->kernels->nc) {
                if (left < i1)
                    run_fmas(plan, s, left, i1, from, j, k, k + depth);
                left = row, from = j;
            }
        }
        if (left < i1)
            run_fmas(plan, s, left, i1, from, j1, k, k + depth);
    }
}

/* Once dots have failed for some row, sums may have become too small for them: it is fmas from
 * there on. */
static void run_many(const hn_gemm_plan *plan, const areas *s, int64_t i0, int64_t i1,
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
            run_fmas(plan, s, row, i1, j0, j1, k, k + depth);
    }
    run_fmas(plan, s, i0, i1, j0, j1, k, x->k);
}

/* A[m, depth] as panels of at most mr rows, one after another. */
static void few_tiles(const hn_gemm_plan *plan, const areas *s, int64_t k, int64_t depth,
                      int64_t a_depth, int64_t a_from, const float *b, int64_t ldb, int64_t j,
                      int64_t cols)
{
    const int64_t m = plan->args.m, panels = cuts(m, plan->kernels->mr);
    const bool accumulate = plan->args.accumulate || k > 0;
    for (int64_t p = 0, i = 0; p < panels; p++) {
        const int64_t rows = (m - i + panels - p - 1) / (panels - p);
        put_tile(plan, s, false, depth, s->a + i * a_depth + a_from * rows, b, ldb, i, j, (int)rows,
                 (int)cols, accumulate);
        i += rows;
    }
}

static void pack_few(const hn_gemm_plan *plan, const areas *s, int64_t k, int64_t depth)
{
    const int64_t m = plan->args.m, panels = cuts(m, plan->kernels->mr);
    for (int64_t p = 0, i = 0; p < panels; p++) {
        const int64_t rows = (m - i + panels - p - 1) / (panels - p);
        pack(plan, &plan->args.a, i, rows, k, depth, rows, s->a + i * depth, s->room);
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
static int64_t run_lanes(const hn_gemm_plan *plan, const areas *s, int64_t k0, int64_t deep,
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

static void run_few(const hn_gemm_plan *plan, const areas *s, int64_t j0, int64_t j1)
{
    const hn_gemm_args *x = &plan->args;
    const hn_gemm_kernels *g = plan->kernels;
    const int64_t most_deep = HN_GEMM_FEW * KF / x->m / 256 * 256;
    for (int64_t k0 = 0; k0 < x->k; k0 += most_deep) {
        const int64_t deep = least(x->k - k0, most_deep);
        pack(plan, &x->a, 0, x->m, k0, deep, x->m, s->a, s->room);
        const int64_t from = run_lanes(plan, s, k0, deep, j0, j1);
        if (from < j1)
            pack_few(plan, s, k0, deep);
        for (int64_t j = from; j < j1; j += g->nr)
            for (int64_t k = 0; k < deep; k += g->kc) {
                const int64_t depth = least(deep - k, g->kc), cols = least(g->nr, j1 - j);
                pack(plan, &x->b, j, cols, k0 + k, depth, g->nr, s->b, s->room);
                few_tiles(plan, s, k0 + k, depth, deep, k, s->b, g->nr, j, cols);
            }
    }
}

/* Few rows by weights that are contiguous along n: DEEP rows of weights at a time, read side by
 * side, each one in order. */
static void run_few_along_n(const hn_gemm_plan *plan, const areas *s, int64_t j0, int64_t j1)
{
    const hn_gemm_args *x = &plan->args;
    const hn_gemm_kernels *g = plan->kernels;
    const bool in_place =
        !x->blocks && x->b.type == HN_ELEM_f32 && !x->b.is_panel16 && !x->b.pairs && x->b.k_stride % 4 == 0;
    for (int64_t k0 = 0; k0 < x->k; k0 += KF) {
        const int64_t deep = least(x->k - k0, KF);
        pack_few(plan, s, k0, deep);
        for (int64_t k = 0; k < deep; k += DEEP) {
            const int64_t depth = least(deep - k, DEEP);
            for (int64_t wide = j0; wide < j1; wide += WIDE) {
                const int64_t n = least(j1 - wide, WIDE);
                const float *b = s->b;
                int64_t ldb = WIDE;
                if (in_place) {
                    b = (const float *)(const void *)((const char *)x->b.data +
                                                      (k0 + k) * x->b.k_stride + 4 * wide);
                    ldb = x->b.k_stride / 4;
                } else {
                    g->rows(&x->b, wide, n, k0 + k, depth, s->b, WIDE, s->room);
                    if (x->blocks && x->b.type != HN_ELEM_bf16)
                        g->round(depth * WIDE, s->b);
                }
                for (int64_t j = 0; j < n; j += g->nr)
                    few_tiles(plan, s, k0 + k, depth, deep, k, b + j, ldb, wide + j,
                              least(g->nr, n - j));
            }
        }
    }
}

void hn_gemm_run(const hn_gemm_plan *plan, int64_t first, int64_t end, void *scratch)
{
    const areas s = areas_of(plan->kernels, scratch);
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
