/* low_rank: y[t] + scale * b (a x[t]) of the adapter that row t has, and y[t] where it has none: many adapters
 * in one step, each with the bits of its own model.
 *
 *     ids     i32 [T]    the adapter of each token, or -1
 *     ranks   i32 [S]    of each adapter, at most R; 0: it has nothing here. What a and b hold past its rank
 *     scales  f32 [S]    is not read
 *     a       [S, R, K], of experts [S, E, R, K]
 *     b       [S, N, R], of experts [S, E, N, R]
 *
 * With experts i32 [T, U], y is [T, U, N], x [T, K] or [T, U, K], and row t, u goes by expert [t, u].
 * The order of sums is that of two products, a scale and an add. Rows without an adapter are left alone:
 * adding zeros would turn -0 into +0. */
#include "ops/ids.h"
#include "ops/low_rank.h"
#include "ops/ops.h"

#include <string.h>

enum { Y = HN_LOW_RANK_Y, X, IDS, RANKS, SCALES, A, B, EXPERTS };

static hn_status expect_bank(const hn_call *call, int input, int64_t rows, int64_t width)
{
    const bool has_experts = call->in[EXPERTS];
    HN_TRY(hn_expect_dtype(call, input, HN_F32));
    HN_TRY(hn_expect_rank(call, input, has_experts ? 4 : 3));
    HN_TRY(hn_expect_dim(call, input, 0, call->in[RANKS]->type.dim[0]));
    const int last = has_experts ? 3 : 2;
    HN_TRY(hn_expect_dim(call, input, last - 1, rows));
    return hn_expect_dim(call, input, last, width);
}

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *y = &call->in[Y]->type, *x = &call->in[X]->type;
    HN_TRY(hn_expect_float(call, Y));
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(hn_expect_rank(call, Y, call->in[EXPERTS] ? 3 : 2));
    HN_TRY(hn_expect_rank_between(call, X, 2, y->rank));
    for (int i = 0; i < x->rank - 1; i++)
        HN_TRY(hn_expect_dim(call, X, i, y->dim[i]));
    HN_TRY(hn_expect_integer(call, IDS));
    HN_TRY(hn_expect_vector(call, IDS, y->dim[0]));
    HN_TRY(hn_expect_integer(call, RANKS));
    HN_TRY(hn_expect_rank(call, RANKS, 1));
    HN_TRY(hn_expect_dtype(call, SCALES, HN_F32));
    HN_TRY(hn_expect_vector(call, SCALES, call->in[RANKS]->type.dim[0]));
    HN_TRY(hn_expect_rank_between(call, A, 3, 4));
    const int64_t most = call->in[A]->type.dim[call->in[A]->type.rank - 2];
    HN_TRY(expect_bank(call, A, most, hn_last_dim(x)));
    HN_TRY(expect_bank(call, B, hn_last_dim(y), most));
    if (call->in[EXPERTS]) {
        HN_TRY(hn_expect_integer(call, EXPERTS));
        HN_TRY(hn_expect_rank(call, EXPERTS, 2));
        HN_TRY(hn_expect_dim(call, EXPERTS, 0, y->dim[0]));
        HN_TRY(hn_expect_dim(call, EXPERTS, 1, y->dim[1]));
        HN_TRY(hn_expect_dim(call, B, 1, call->in[A]->type.dim[1]));
    }
    *out = *y;
    hn_type_pack(out);
    return HN_OK;
}

static hn_status check(const hn_call *call)
{
    const hn_type *a = &call->in[A]->type;
    HN_TRY(hn_check_ids(call, IDS, -1, a->dim[0]));
    HN_TRY(hn_check_ids(call, RANKS, 0, a->dim[a->rank - 2] + 1));
    return call->in[EXPERTS] ? hn_check_ids(call, EXPERTS, -1, a->dim[1]) : HN_OK;
}

bool hn_low_rank_row(const hn_call *call, int64_t row, hn_low_rank_of *out)
{
    const hn_type *y = &call->in[Y]->type, *a = &call->in[A]->type;
    const int64_t used = y->rank == 3 ? y->dim[1] : 1, adapter = hn_get_int(call->in[IDS], row / used);
    const int64_t expert = call->in[EXPERTS] ? hn_get_int(call->in[EXPERTS], row) : 0;
    if (adapter < 0 || expert < 0 || !hn_get_int(call->in[RANKS], adapter))
        return false;
    *out = (hn_low_rank_of){ .adapter = adapter, .rank = hn_get_int(call->in[RANKS], adapter),
                             .matrix = a->rank == 4 ? adapter * a->dim[1] + expert : adapter,
                             .x = call->in[X]->type.rank == 3 || used == 1 ? row : row / used };
    return true;
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *a = call->in[A], *b = call->in[B], *y = call->out[0];
    const int64_t k = hn_last_dim(&x->type), n = hn_last_dim(&y->type), most = hn_last_dim(&b->type);
    for (int64_t row = 0; row < hn_rows(&y->type); row++) {
        hn_low_rank_of of;
        const bool has = hn_low_rank_row(call, row, &of);
        for (int64_t col = 0; col < n; col++) {
            double sum = 0;
            for (int64_t r = 0; has && r < of.rank; r++) {
                double low = 0;
                for (int64_t i = 0; i < k; i++)
                    low += hn_get(x, of.x * k + i) * hn_get(a, (of.matrix * most + r) * k + i);
                sum += low * hn_get(call->in[SCALES], of.adapter) * hn_get(b, (of.matrix * n + col) * most + r);
            }
            const double was = hn_get(call->in[Y], row * n + col);
            hn_set(y, row * n + col, has ? was + sum : was);
        }
    }
}

/* Of every row with an adapter of the largest rank: which have one is known only while running. */
static double flops(const hn_call *call)
{
    const double rows = (double)hn_rows(&call->in[Y]->type), most = (double)hn_last_dim(&call->in[B]->type);
    return 2 * rows * most * (double)(hn_last_dim(&call->in[X]->type) + hn_last_dim(&call->in[Y]->type));
}

static const char *const cases[] = {
    "f32[1,1] f32[1,1] i32[1]{0:1} i32[1]{1:2} f32[1] f32[1,1,1] f32[1,1,1]",
    "f32[9,17] f32[9,33] i32[9]{-1:3} i32[3]{0:6} f32[3] f32[3,5,33] f32[3,17,5]",
    "f32[70,40] f32[70,64] i32[70]{seg} i32[70]{1:9} f32[70] f32[70,8,64] f32[70,40,8]",
    "f32[5,2,12] f32[5,20] i32[5]{-1:2} i32[2]{1:5} f32[2] f32[2,3,4,20] f32[2,3,12,4] i32[5,2]{0:3}",
    "f32[4,3,8] f32[4,3,10] i32[4]{-1:2} i32[2]{0:4} f32[2] f32[2,2,3,10] f32[2,2,8,3] i32[4,3]{-1:2}", NULL
};
/* clang-format off */
const hn_op hn_op_low_rank = {
    .name = "low_rank", .summary = "y + scale * b (a x) of each row's own adapter",
    .inputs = "y x ids! ranks! scales! a b experts?!", .infer = infer, .forward = forward,
    .no_gradient = "adapters of single rows are run, not trained",
    .may_overwrite = { HN_IN(Y) }, .check = check, .checks = HN_IN(IDS) | HN_IN(RANKS) | HN_IN(EXPERTS),
    .flops = flops, .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_low_rank(hn_graph *g, hn_node *y, hn_node *x, hn_node *ids, hn_node *ranks, hn_node *scales, hn_node *a,
                     hn_node *b, hn_node *experts)
{
    return HN_APPLY(g, &hn_op_low_rank, NULL, y, x, ids, ranks, scales, a, b, experts);
}
