/* Rows of a tensor that no cache holds go past the caches, some of them several at once: the bits are those of
 * the same rows in tensors of half the size, which do not. */
#include "backend/cpu/rows.h"
#include "tests/failures/bench.h"

#include <stdio.h>
#include <string.h>

static bench b;

typedef struct inputs {
    hn_node *x, *dy, *gain, *bias;
} inputs;

static hn_node *softmax(const inputs *in) { return hn_softmax(b.g, in->x, NULL, NULL, 1.7f); }

static hn_node *softmax_grad(const inputs *in) { return hn_softmax_grad(b.g, in->x, in->dy, NULL, 1.7f); }

static hn_node *rms_norm(const inputs *in) { return hn_rms_norm(b.g, in->x, in->gain, 1e-5f); }

static hn_node *layer_norm(const inputs *in)
{
    return hn_layer_norm(b.g, in->x, in->gain, in->bias, 1e-5f);
}

/* Cheaper than random, and no two rows alike. */
static float *fill(hn_leaf_values *values, const hn_node *leaf)
{
    hn_tensor *t = hn_leaf_values_make(values, &b.heap, leaf->leaf);
    uint32_t state = (uint32_t)b.env.seed;
    for (int64_t i = 0; t && i < hn_count(&t->type); i++) {
        state = state * 1664525u + 1013904223u;
        ((float *)t->data)[i] = (float)(int32_t)state * 0x1p-30f;
    }
    return CHECK(t != NULL) ? t->data : NULL;
}

static hn_node *rows_of(hn_node *x, int64_t begin, int64_t end)
{
    return hn_contiguous(b.g, hn_slice(b.g, x, 0, begin, end, 1));
}

static void check(const char *what, hn_node *(*op)(const inputs *), int64_t n)
{
    const int64_t half = HN_STREAM_BYTES / 2 / 4 / n + 5;
    hn_graph *g = bench_graph(&b);
    check_group(what);
    const inputs all = { bench_leaf(&b, HN_LEAF_INPUT, "x", 2, 2 * half, n, 0),
                         bench_leaf(&b, HN_LEAF_INPUT, "dy", 2, 2 * half, n, 0),
                         bench_leaf(&b, HN_LEAF_INPUT, "gain", 1, n, 0, 0),
                         bench_leaf(&b, HN_LEAF_INPUT, "bias", 1, n, 0, 0) };
    hn_node *wanted[3] = { op(&all) };
    for (int part = 0; part < 2; part++) {
        const int64_t begin = part * half;
        wanted[1 + part] = op(&(inputs){ rows_of(all.x, begin, begin + half),
                                         rows_of(all.dy, begin, begin + half), all.gain, all.bias });
    }
    hn_leaf_values values;
    hn_results got;
    if (!CHECK_OK(hn_graph_finish(g)) || !CHECK_OK(hn_leaf_values_new(&values, g)))
        return;
    fill(&values, all.dy);
    float *x = fill(&values, all.x);
    for (int64_t i = 0; x && i < n; i++) /* a row that nothing but -inf stands in, among others */
        x[7 * n + i] = -INFINITY;
    bench_fill(&b, &values);
    if (CHECK_OK(bench_run(&b, 3, wanted, &values, HN_PLAN_INPLACE, &got))) {
        const size_t bytes = hn_type_bytes(&got.at[1].type);
        CHECK(hn_type_bytes(&got.at[0].type) >= HN_STREAM_BYTES && bytes < HN_STREAM_BYTES);
        for (int part = 0; part < 2; part++)
            CHECK_THAT(!memcmp((char *)got.at[0].data + (size_t)part * bytes, got.at[1 + part].data, bytes),
                       "%s: half %d of rows of %lld is other bits in a tensor of its own", what, part,
                       (long long)n);
        hn_results_free(&got);
    }
    hn_leaf_values_free(&values, &b.heap);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    if (bench_open(&b)) {
        check("softmax, short rows", softmax, 1040);
        check("softmax, long rows", softmax, 5008);
        check("softmax_grad", softmax_grad, 4096);
        check("rms_norm", rms_norm, 4096);
        check("layer_norm", layer_norm, 4096);
        bench_close(&b);
    }
    return check_close();
}
