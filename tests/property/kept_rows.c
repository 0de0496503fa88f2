/* Rows of x in blocks of whole numbers stay where they are for the next call over the same rows: of several products one after the
 * other, over the same rows, over others, and again, each has the bits that it has where nothing is kept (a plan that fills what is
 * dead between steps runs them one by one). */
#include "tests/failures/bench.h"

#include "ops/ops.h"

#include <string.h>

enum { T = 5, K = 64, N = 17, EXPERTS = 3, USED = 2, BLOCK = 34, SCALE_AT = 0x2c00 };

static hn_node *leaf_of(bench *b, const char *name, hn_dtype dtype, int rank, int64_t d0, int64_t d1, int64_t d2)
{
    return hn_graph_leaf(b->g, dtype == HN_TYPE_q8_0 ? HN_LEAF_WEIGHT : HN_LEAF_INPUT, name, dtype, rank, (int64_t[]){ d0, d1, d2 });
}

/* Blocks with a small scale; ids of experts, one of them none; the rest is bench_fill's. */
static void fill(bench *b, hn_leaf_values *values)
{
    for (int i = 0; i < b->g->n_leaves; i++) {
        const hn_leaf *leaf = b->g->leaves[i];
        const hn_dtype dtype = leaf->type.dtype;
        if (dtype != HN_TYPE_q8_0 && dtype != HN_I32)
            continue;
        hn_tensor *t = hn_leaf_values_make(values, &b->heap, leaf);
        const size_t bytes = hn_type_bytes(&leaf->type);
        uint8_t *to = t->data;
        for (size_t at = 0; at < bytes; at++)
            to[at] = (uint8_t)hn_rng_u32(hn_rng_seed(b->env.seed + (uint64_t)i), at);
        for (size_t at = 0; dtype == HN_TYPE_q8_0 && at < bytes; at += BLOCK) {
            const uint16_t scale = (uint16_t)(SCALE_AT + to[at] % 64);
            memcpy(to + at, &scale, sizeof scale);
        }
        for (size_t at = 0; dtype == HN_I32 && at < bytes / 4; at++)
            ((int32_t *)t->data)[at] = at == 3 * (size_t)i % (T * USED) ? -1 : (int32_t)((at / USED + at % USED + (size_t)i) % EXPERTS);
    }
    bench_fill(b, values);
}

static void try_graph(bench *b, int n, hn_node *const *wanted)
{
    hn_leaf_values values;
    if (!CHECK_OK(hn_leaf_values_new(&values, b->g)))
        return;
    fill(b, &values);
    bench_same_under_all_plans(b, n, wanted, &values);
    hn_leaf_values_free(&values, &b->heap);
}

static void of_matrices(bench *b)
{
    check_group("linear_int8");
    hn_graph *g = bench_graph(b);
    hn_node *x[2] = { leaf_of(b, "x0", HN_F32, 2, T, K, 0), leaf_of(b, "x1", HN_F32, 2, T, K, 0) };
    hn_node *w[2] = { leaf_of(b, "w0", HN_TYPE_q8_0, 2, N, K, 0), leaf_of(b, "w1", HN_TYPE_q8_0, 2, N, K, 0) };
    static const int of[][2] = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 }, { 0, 0 }, { 1, 0 } };
    hn_node *y[6];
    for (int i = 0; i < 6; i++)
        y[i] = hn_linear_int8(g, x[of[i][0]], w[of[i][1]], 0);
    try_graph(b, 6, y);
}

static void of_experts(bench *b)
{
    check_group("linear_id_int8");
    hn_graph *g = bench_graph(b);
    hn_node *x[2] = { leaf_of(b, "x0", HN_F32, 2, T, K, 0), leaf_of(b, "x1", HN_F32, 2, T, K, 0) };
    hn_node *w[2] = { leaf_of(b, "w0", HN_TYPE_q8_0, 3, EXPERTS, N, K), leaf_of(b, "w1", HN_TYPE_q8_0, 3, EXPERTS, N, K) };
    hn_node *ids[2] = { leaf_of(b, "ids0", HN_I32, 2, T, USED, 0), leaf_of(b, "ids1", HN_I32, 2, T, USED, 0) };
    static const int of[][3] = { { 0, 0, 0 }, { 0, 1, 0 }, { 0, 1, 1 }, { 1, 1, 1 }, { 0, 0, 1 }, { 1, 0, 0 } };
    hn_node *y[6];
    for (int i = 0; i < 6; i++)
        y[i] = hn_linear_id_int8(g, x[of[i][0]], w[of[i][1]], ids[of[i][2]]);
    try_graph(b, 6, y);
}

int main(int argc, char **argv)
{
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        of_matrices(&b);
        of_experts(&b);
        bench_close(&b);
    }
    return check_close();
}
