/* The scratch of a thread, what is packed into it, and tiles (parts.h). */
#include "kernels/gemm/parts.h"

#include <limits.h>
#include <string.h>

int64_t hn_gemm_a_floats(const hn_gemm_kernels *g)
{
    return most((int64_t)g->mc * g->kc, (int64_t)HN_GEMM_FEW * HN_GEMM_KF) + 64;
}

static int64_t b_floats(const hn_gemm_kernels *g)
{
    return most((int64_t)g->nc * g->kc, (int64_t)HN_GEMM_DEEP * HN_GEMM_WIDE) + 64;
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
    return sizeof(float) * (size_t)(HN_GEMM_ROOM + hn_gemm_a_floats(g) + b_floats(g) + g->mr * g->nr + panel_floats(g));
}

size_t hn_gemm_scratch_bytes(const hn_gemm_kernels *g, const hn_gemm_args *largest)
{
    return hn_gemm_chain_scratch_bytes(g) + sizeof(float) * (size_t)squares_floats(g, largest);
}

hn_gemm_areas hn_gemm_areas_of(const hn_gemm_kernels *g, void *scratch)
{
    hn_gemm_areas s = { .room = scratch };
    s.a = s.room + HN_GEMM_ROOM;
    s.b = s.a + hn_gemm_a_floats(g);
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
void hn_gemm_pack(const hn_gemm_plan *plan, const hn_gemm_operand *x, int64_t outer, int64_t n_outer, int64_t k,
                 int64_t n_k, int64_t width, float *dst, float *room)
{
    plan->kernels->pack(x, outer, n_outer, k, n_k, width, dst, room);
    if (plan->args.blocks && x->type != HN_ELEM_bf16)
        plan->kernels->round(cuts(n_outer, width) * width * n_k, dst);
}

/* One tile, straight to C or by way of scratch when C's columns are strided too. */
void hn_gemm_put_tile(const hn_gemm_plan *plan, const hn_gemm_areas *s, bool dots, int64_t k, const float *a, hn_gemm_columns b,
                      int64_t i, int64_t j, int rows, int cols, bool accumulate)
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
    tile_of(plan, dots)(k, a, b, to, ld, rows, cols, accumulate, s->ahead);
    for (int r = 0; r < rows && !direct; r++)
        for (int q = 0; q < cols; q++)
            *(float *)(void *)(c + r * x->c_row_stride + q * x->c_col_stride) = to[r * ld + q];
}

/* Panels whose rows are pairs of k: twice the depth in as much memory. The lowest exponent. */
int hn_gemm_pack_pairs(const hn_gemm_plan *plan, const hn_gemm_areas *s, const hn_gemm_operand *x,
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
            hn_gemm_pack(plan, x, outer + o, least(width, n_outer - o), k + at, deep, width, s->panel, s->room);
            const int exponent = g->dots->join(deep, width, s->panel, dst);
            lowest = exponent < lowest ? exponent : lowest;
            if (plan->args.blocks)
                g->dots->regroup(deep, width, dst);
            dst += (deep + 1) / 2 * width;
        }
    return lowest;
}

bool hn_gemm_lies_for_tiles(const hn_gemm_args *x, bool dots)
{
    const hn_gemm_operand *b = &x->b;
    const bool reads = dots ? x->blocks && b->type == HN_ELEM_bf16 && b->lowest : !x->blocks && b->type == HN_ELEM_f32;
    return reads && b->is_panel16 && !b->rows_are_k && !b->pairs;
}

/* Of the panels that columns [j0, j1) are in, which begin with one, and the stretches that k [k0, k1) is in. */
static int lowest_of(const hn_gemm_operand *b, int64_t j0, int64_t j1, int64_t k0, int64_t k1)
{
    const int64_t stretches = hn_panel16_stretches(b->row_elems);
    int lowest = INT_MAX;
    for (int64_t panel = j0 / 16; panel < cuts(j1, 16); panel++)
        for (int64_t at = k0 / HN_PANEL16_STRETCH; at < cuts(k1, HN_PANEL16_STRETCH); at++)
            lowest = b->lowest[panel * stretches + at] < lowest ? b->lowest[panel * stretches + at] : lowest;
    return lowest ? lowest : HN_GEMM_NO_DOTS;
}

hn_gemm_side hn_gemm_side_of(const hn_gemm_plan *plan, const hn_gemm_areas *s, bool dots, int64_t j0, int64_t j1, int64_t k,
                             int64_t depth)
{
    const hn_gemm_operand *b = &plan->args.b;
    const int64_t nr = plan->kernels->nr;
    hn_gemm_side side = { { s->b, nr, 16 }, nr * (dots ? (depth + 1) / 2 : depth), INT_MAX };
    if (j0 % 16 == 0 && hn_gemm_lies_for_tiles(&plan->args, dots)) {
        const int64_t panel = 16 * hn_elem_span(b->type, b->row_elems);
        side.first.at = (const float *)(const void *)((const char *)b->data + j0 / 16 * panel + 16 * hn_elem_span(b->type, k));
        side.first.row = 16, side.first.apart = panel / (int64_t)sizeof(float);
        side.next = nr / 16 * side.first.apart;
        if (dots)
            side.lowest = lowest_of(b, j0, j1, k, k + depth);
    } else if (dots) {
        side.lowest = hn_gemm_pack_pairs(plan, s, b, j0, j1 - j0, k, depth, nr, s->b);
    } else {
        hn_gemm_pack(plan, b, j0, j1 - j0, k, depth, nr, s->b, s->room);
    }
    return side;
}

/* Panels of A by B, both `depth` of k in as many rows of f32, or in half as many of pairs. */
void hn_gemm_put_tiles(const hn_gemm_plan *plan, const hn_gemm_areas *s, bool dots, const hn_gemm_side *b, int64_t depth, int64_t i,
                       int64_t rows, int64_t height, int64_t j0, int64_t j1, bool accumulate)
{
    const int64_t nr = plan->kernels->nr, deep = dots ? (depth + 1) / 2 : depth;
    const int64_t n_p = cuts(rows, height), n_j = cuts(j1 - j0, nr);
    for (int64_t at = 0; at < n_p * n_j; at++) {
        const int64_t p = (at / n_j) * height;
        const int64_t j = (at % n_j) * nr;
        const hn_gemm_columns columns = { b->first.at + at % n_j * b->next, b->first.row, b->first.apart };
        hn_gemm_put_tile(plan, s, dots, plan->args.blocks ? depth : deep, s->a + p * deep, columns, i + p, j0 + j,
                         (int)least(rows - p, height), (int)least(nr, j1 - j0 - j), accumulate);
    }
}
