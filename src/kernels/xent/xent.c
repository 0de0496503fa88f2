/* Tiles, blocks and phases of fused cross-entropy.
 *
 *   forward    0: (tile, block of rows) -> partial m, l; the label's logit
 *              1: fold, per block
 *   backward   for each tile  2i: ds of the tile, per block of rows
 *                             2i+1: dx per block of rows goes on; dw of the tile, whole chains
 *   both       for each block of rows  4i: logits of every tile, kept; partial m, l
 *                                      4i+1: fold     4i+2: ds of every tile     4i+3: dx
 *              or, where too few rows could be kept: forward, then backward */
#include "kernels/xent/xent.h"

_Static_assert(HN_XENT_TILE % HN_SUM_BLOCK == 0, "a tile is whole blocks of the vocabulary");

typedef struct tile {
    int64_t from, cols;
} tile;

/* Of a block's logits: what nobody minds, or little beside the weights, of which every block reads all. Where a matrix unit multiplies,
 * unpacking weights for few rows takes longer than to multiply by them: fewer are not kept there. */
enum { KEPT_BYTES = 8 << 20, MOST_KEPT_BYTES = 128 << 20, KEPT_PER_CENT = 18, LEAST_KEPT = 32, LEAST_KEPT_BY_UNIT = 128 };

static int64_t cuts(int64_t n, int64_t step) { return (n + step - 1) / step; }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static tile tile_at(const hn_xent_plan *plan, int64_t i)
{
    const int64_t from = i * HN_XENT_TILE;
    return (tile){ from, least(HN_XENT_TILE, plan->args.v - from) };
}

/* Rows [from, from + cols) of w, as an operand whose outer is the tile's column. */
static hn_gemm_operand weights_of(const hn_gemm_operand *w, int64_t from) { return hn_gemm_rows_from(*w, from, w->outer_stride); }

static void multiply(const hn_xent_plan *plan, const hn_gemm_args *args, void *scratch)
{
    hn_gemm_plan gemm;
    hn_gemm_plan_make(&gemm, plan->gemm, args, 1);
    hn_gemm_run(&gemm, 0, gemm.units, scratch);
}

/* s[rows, cols] = x[row, rows] w[tile]^T, rows `stride` apart. */
static hn_gemm_args logits_args(const hn_xent_plan *plan, tile t, int64_t row, int64_t rows, float *s, int64_t stride)
{
    const hn_xent_args *x = &plan->args;
    return (hn_gemm_args){
        .m = rows,
        .n = t.cols,
        .k = x->c,
        .a = { .data = (const char *)x->x + row * x->x_stride,
               .outer_stride = x->x_stride,
               .k_stride = 4 },
        .b = weights_of(&x->w, t.from),
        .c = s,
        .c_row_stride = 4 * stride,
        .c_col_stride = 4,
        .blocks = x->narrow,
    };
}

static void logits(const hn_xent_plan *plan, tile t, int64_t row, int64_t rows, float *s,
                   int64_t stride, void *scratch)
{
    const hn_gemm_args args = logits_args(plan, t, row, rows, s, stride);
    multiply(plan, &args, scratch);
}

/* Shared, forward: picked [n] | m [tiles][n] | l [tiles][n]. Backward: ds [n][tile]. */
static void forward_tile(const hn_xent_plan *plan, int64_t unit, void *scratch, float *shared)
{
    const hn_xent_args *x = &plan->args;
    const int64_t i = unit / plan->n_blocks, row = unit % plan->n_blocks * HN_XENT_ROWS;
    const int64_t rows = least(HN_XENT_ROWS, x->n - row);
    const tile t = tile_at(plan, i);
    float *s = scratch, *m = shared + x->n * (1 + i), *l = m + x->n * plan->n_tiles;
    logits(plan, t, row, rows, s, HN_XENT_TILE, s + HN_XENT_ROWS * HN_XENT_TILE);
    plan->kernels->stats(rows, t.cols, s, HN_XENT_TILE, x->scale, x->cap, x->label + row,
                         (int32_t)t.from, m + row, l + row, shared + row);
}

static void fold_rows(const hn_xent_plan *plan, int64_t row, int64_t rows, float *shared)
{
    const hn_xent_args *x = &plan->args;
    float *m = shared + x->n + row, *l = m + x->n * plan->n_tiles;
    for (int64_t i = 1; i < plan->n_tiles; i++)
        plan->kernels->fold(rows, m + i * x->n, l + i * x->n, m, l);
    plan->kernels->loss(rows, m, l, shared + row, x->label + row,
                        x->weight ? x->weight + row : NULL, x->lse + row, x->nll + row);
}

static void forward_fold(const hn_xent_plan *plan, int64_t unit, float *shared)
{
    const int64_t row = unit * HN_XENT_ROWS;
    fold_rows(plan, row, least(HN_XENT_ROWS, plan->args.n - row), shared);
}

static void backward_tile(const hn_xent_plan *plan, int64_t i, int64_t unit, void *scratch,
                          float *shared)
{
    const hn_xent_args *x = &plan->args;
    const int64_t row = unit * HN_XENT_ROWS, rows = least(HN_XENT_ROWS, x->n - row);
    const tile t = tile_at(plan, i);
    float *s = shared + row * HN_XENT_TILE;
    logits(plan, t, row, rows, s, HN_XENT_TILE, scratch);
    plan->kernels->grad(rows, t.cols, s, HN_XENT_TILE, x->scale, x->cap, x->narrow,
                        x->label + row, (int32_t)t.from, x->lse + row, x->weight ? x->weight + row : NULL,
                        x->grad ? x->grad + row : NULL);
}

/* Rows [from, from + cols) of w, as an operand whose k is the row. */
static hn_gemm_operand weights_summed(const hn_gemm_operand *w, int64_t from)
{
    hn_gemm_operand part = weights_of(w, from);
    part.outer_stride = w->k_stride;
    part.k_stride = w->outer_stride;
    part.rows_are_k = true;
    return part;
}

static hn_gemm_args dx_args(const hn_xent_plan *plan, int64_t i, int64_t unit, const float *shared)
{
    const hn_xent_args *x = &plan->args;
    const int64_t row = unit * HN_XENT_ROWS;
    const tile t = tile_at(plan, i);
    return (hn_gemm_args){
        .m = least(HN_XENT_ROWS, x->n - row),
        .n = x->c,
        .k = t.cols,
        .a = { .data = shared + row * HN_XENT_TILE,
               .outer_stride = 4 * HN_XENT_TILE,
               .k_stride = 4 },
        .b = weights_summed(&x->w, t.from),
        .c = (float *)(void *)((char *)x->dx + row * x->dx_stride),
        .c_row_stride = x->dx_stride,
        .c_col_stride = 4,
        .accumulate = i > 0,
        .blocks = x->narrow,
    };
}

static void add_dx(const hn_xent_plan *plan, int64_t i, int64_t unit, void *scratch,
                   const float *shared)
{
    const hn_gemm_args args = dx_args(plan, i, unit, shared);
    multiply(plan, &args, scratch);
}

/* The tile's rows of dw, all tokens: a plan of its own, whose units are ours. */
static void plan_dw(const hn_xent_plan *plan, int64_t i, const float *shared,
                    hn_gemm_plan *gemm)
{
    const hn_xent_args *x = &plan->args;
    const tile t = tile_at(plan, i);
    const hn_gemm_args args = {
        .m = t.cols,
        .n = x->c,
        .k = x->n,
        .a = { .data = shared, .outer_stride = 4, .k_stride = 4 * HN_XENT_TILE },
        .b = { .data = x->x, .outer_stride = 4, .k_stride = x->x_stride },
        .c = (float *)(void *)((char *)x->dw + t.from * x->dw_stride),
        .c_row_stride = x->dw_stride,
        .c_col_stride = 4,
        .accumulate = x->accumulate,
    };
    hn_gemm_plan_make(gemm, plan->gemm, &args, plan->threads);
}

/* ---- both at once, a block's logits kept ---- */

/* 0: too few to be worth it; of a matrix unit, which has the logits again sooner than memory has, more are too few. */
static int64_t rows_kept(int64_t v, int64_t row_bytes, bool by_unit)
{
    const int64_t beside = least(MOST_KEPT_BYTES, v * row_bytes * KEPT_PER_CENT / 100);
    const int64_t room = beside > KEPT_BYTES ? beside : KEPT_BYTES;
    const int64_t fit = room / (4 * cuts(v, HN_XENT_TILE) * HN_XENT_TILE) / 16 * 16;
    return fit < (by_unit ? LEAST_KEPT_BY_UNIT : LEAST_KEPT) ? 0 : least(fit, HN_XENT_ROWS);
}

static int64_t forward_floats(int64_t n, int64_t v) { return n * (1 + 2 * cuts(v, HN_XENT_TILE)); }

/* Shared: as forward, then the logits of a block, [rows][whole tiles]. */
static int64_t kept_stride(const hn_xent_plan *plan) { return plan->n_tiles * HN_XENT_TILE; }

static float *kept(const hn_xent_plan *plan, float *shared, int64_t column)
{
    return shared + forward_floats(plan->args.n, plan->args.v) + column;
}

static void kept_logits(const hn_xent_plan *plan, int64_t row, int64_t i, void *scratch,
                        float *shared)
{
    const hn_xent_args *x = &plan->args;
    const int64_t rows = least(plan->rows, x->n - row), stride = kept_stride(plan);
    const tile t = tile_at(plan, i);
    float *s = kept(plan, shared, t.from);
    float *m = shared + x->n * (1 + i), *l = m + x->n * plan->n_tiles;
    logits(plan, t, row, rows, s, stride, scratch);
    plan->kernels->stats(rows, t.cols, s, stride, x->scale, x->cap, x->label + row,
                         (int32_t)t.from, m + row, l + row, shared + row);
}

static void kept_slopes(const hn_xent_plan *plan, int64_t row, int64_t i, float *shared)
{
    const hn_xent_args *x = &plan->args;
    const tile t = tile_at(plan, i);
    plan->kernels->grad(least(plan->rows, x->n - row), t.cols, kept(plan, shared, t.from),
                        kept_stride(plan), x->scale, x->cap, x->narrow, x->label + row,
                        (int32_t)t.from, x->lse + row, x->weight ? x->weight + row : NULL,
                        x->grad ? x->grad + row : NULL);
}

/* The block's rows of dx, whole chains: a plan of its own, whose units are ours. */
static hn_gemm_args kept_dx_args(const hn_xent_plan *plan, int64_t row, float *shared)
{
    const hn_xent_args *x = &plan->args;
    return (hn_gemm_args){
        .m = least(plan->rows, x->n - row),
        .n = x->c,
        .k = x->v,
        .a = { .data = shared ? kept(plan, shared, 0) : NULL, .outer_stride = 4 * kept_stride(plan),
               .k_stride = 4 },
        .b = weights_summed(&x->w, 0),
        .c = (float *)(void *)((char *)x->dx + row * x->dx_stride),
        .c_row_stride = x->dx_stride,
        .c_col_stride = 4,
        .blocks = x->narrow,
    };
}

static void plan_dx(const hn_xent_plan *plan, int64_t row, float *shared, hn_gemm_plan *gemm)
{
    const hn_gemm_args args = kept_dx_args(plan, row, shared);
    hn_gemm_plan_make(gemm, plan->gemm, &args, plan->threads);
}

static int64_t kept_units(const hn_xent_plan *plan, int64_t phase)
{
    hn_gemm_plan gemm;
    if (phase % 4 != 3)
        return phase % 4 == 1 ? 1 : plan->n_tiles;
    plan_dx(plan, phase / 4 * plan->rows, NULL, &gemm);
    return gemm.units;
}

static void run_kept(const hn_xent_plan *plan, int64_t phase, int64_t unit, void *scratch,
                     float *shared)
{
    const int64_t row = phase / 4 * plan->rows;
    hn_gemm_plan gemm;
    switch (phase % 4) {
    case 0:
        kept_logits(plan, row, unit, scratch, shared);
        break;
    case 1:
        fold_rows(plan, row, least(plan->rows, plan->args.n - row), shared);
        break;
    case 2:
        kept_slopes(plan, row, unit, shared);
        break;
    default:
        plan_dx(plan, row, shared, &gemm);
        hn_gemm_run(&gemm, unit, unit + 1, scratch);
    }
}

void hn_xent_plan_make(hn_xent_plan *plan, const hn_xent_kernels *kernels,
                       const hn_gemm_kernels *gemm, const hn_xent_args *args, bool backward,
                       int threads)
{
    *plan = (hn_xent_plan){
        .args = *args, .kernels = kernels, .gemm = gemm, .threads = threads, .is_backward = backward
    };
    const int64_t row_bytes = hn_elem_span(args->w.type, args->c);
    const int64_t kept_rows = !backward && args->dx ? rows_kept(args->v, row_bytes, args->narrow && gemm->squares) : 0;
    plan->n_tiles = cuts(args->v, HN_XENT_TILE);
    plan->keeps = kept_rows > 0;
    plan->goes_back = !backward && args->dx && !plan->keeps;
    plan->rows = plan->keeps ? kept_rows : HN_XENT_ROWS;
    plan->n_blocks = cuts(args->n, plan->rows);
    plan->n_phases = backward ? 2 * plan->n_tiles : plan->keeps ? 4 * plan->n_blocks : 2;
    if (plan->goes_back)
        plan->n_phases += 2 * plan->n_tiles;
}

/* Which phase of the backward this is; negative: one of the forward. */
static int64_t phase_back(const hn_xent_plan *plan, int64_t phase)
{
    return plan->is_backward ? phase : phase - 2;
}

int64_t hn_xent_units(const hn_xent_plan *plan, int64_t phase)
{
    if (plan->keeps)
        return kept_units(plan, phase);
    const int64_t back = phase_back(plan, phase);
    if (back < 0)
        return phase == 0 ? plan->n_tiles * plan->n_blocks : plan->n_blocks;
    if (back % 2 == 0)
        return plan->n_blocks;
    int64_t units = plan->args.dx ? plan->n_blocks : 0;
    if (plan->args.dw) {
        hn_gemm_plan gemm;
        plan_dw(plan, back / 2, NULL, &gemm);
        units += gemm.units;
    }
    return units;
}

static void run_back(const hn_xent_plan *plan, int64_t phase, int64_t unit, void *scratch,
                     float *shared)
{
    const int64_t n_dx = plan->args.dx ? plan->n_blocks : 0;
    if (phase % 2 == 0) {
        backward_tile(plan, phase / 2, unit, scratch, shared);
    } else if (unit < n_dx) {
        add_dx(plan, phase / 2, unit, scratch, shared);
    } else {
        hn_gemm_plan gemm;
        plan_dw(plan, phase / 2, shared, &gemm);
        hn_gemm_run(&gemm, unit - n_dx, unit - n_dx + 1, scratch);
    }
}

void hn_xent_run(const hn_xent_plan *plan, int64_t phase, int64_t first, int64_t end,
                 void *scratch, void *shared)
{
    const int64_t back = phase_back(plan, phase);
    float *slopes = (float *)shared + (plan->goes_back ? forward_floats(plan->args.n, plan->args.v) : 0);
    for (int64_t unit = first; unit < end; unit++)
        if (plan->keeps)
            run_kept(plan, phase, unit, scratch, shared);
        else if (back >= 0)
            run_back(plan, back, unit, scratch, slopes);
        else if (phase == 0)
            forward_tile(plan, unit, scratch, shared);
        else
            forward_fold(plan, unit, shared);
}

/* First blocks and tiles are the largest. */
size_t hn_xent_scratch_bytes(const hn_xent_plan *plan)
{
    const hn_gemm_args dx = plan->keeps ? kept_dx_args(plan, 0, NULL) : dx_args(plan, 0, 0, NULL),
                       forward = logits_args(plan, tile_at(plan, 0), 0, HN_XENT_ROWS, NULL, 0);
    const size_t of_dx = hn_gemm_scratch_bytes(plan->gemm, &dx), of_forward = hn_gemm_scratch_bytes(plan->gemm, &forward);
    return sizeof(float) * HN_XENT_ROWS * HN_XENT_TILE + (of_dx > of_forward ? of_dx : of_forward);
}

size_t hn_xent_shared_bytes(const hn_xent_plan *plan)
{
    const hn_xent_args *x = &plan->args;
    int64_t floats = plan->is_backward ? 0 : forward_floats(x->n, x->v);
    if (plan->is_backward || plan->goes_back)
        floats += x->n * HN_XENT_TILE;
    if (plan->keeps)
        floats += plan->rows * kept_stride(plan);
    return sizeof(float) * (size_t)floats;
}
