/* attention_eager gives the bits of what it fuses, matmul, scale, softmax and roundings one
 * after the other, also past the 4,096 keys after which a row's sum is cut; and keys in blocks
 * give the bits of keys in order. */
#include "ops/attention_span.h"
#include "tests/failures/bench.h"

#include <stdio.h>
#include <string.h>

static bench b;

typedef struct shape {
    int64_t n_q, n_k, heads, kv_heads, d, d_v, window;
    float scale, softcap;
    bool has_sinks;
    hn_dtype cache;
    int64_t first[2], self[2]; /* of the first half of the queries and of the second */
} shape;

static hn_node *narrow(hn_node *x) { return hn_round_to(b.g, x, HN_BF16); }

static hn_node *swapped(hn_node *x) { return hn_contiguous(b.g, hn_transpose(b.g, x, 0, 1)); }

static hn_node *composed(const shape *s, hn_node *q, hn_node *k, hn_node *v, hn_node *sinks,
                         hn_node *spans)
{
    hn_graph *g = b.g;
    hn_node *mask = hn_attention_mask(g, q, k, spans, true, s->window);
    hn_node *scores =
                narrow(hn_matmul(g, swapped(q), swapped(hn_cast(g, k, HN_F32)), false, true)),
            *p;
    scores = narrow(hn_scale(g, scores, s->scale, 0));
    if (s->softcap > 0) {
        scores = narrow(hn_tanh(g, narrow(hn_div(g, scores, hn_graph_scalar(g, s->softcap)))));
        scores = narrow(hn_scale(g, scores, s->softcap, 0));
    }
    if (sinks) {
        hn_node *sink = hn_reshape(g, sinks, (hn_ints){ 3, { -1, 1, 1 } });
        scores = hn_add(g, scores, mask);
        hn_node *most = hn_max(g, hn_reduce_max(g, scores, 2, true), sink);
        hn_node *left = narrow(hn_sub(g, sink, most));
        p = hn_softmax(g, narrow(hn_sub(g, scores, most)), NULL,
                       hn_reshape(g, left, (hn_ints){ 2, { 0, -1 } }), 1);
    } else {
        p = hn_softmax(g, scores, mask, NULL, 1);
    }
    return swapped(
        narrow(hn_matmul(g, narrow(p), swapped(hn_cast(g, v, HN_F32)), false, false)));
}

static void set_spans(hn_tensor *t, const shape *s)
{
    for (int64_t i = 0; i < s->n_q; i++) {
        const int half = i >= (s->n_q + 1) / 2;
        const int64_t at = half ? i - (s->n_q + 1) / 2 : i;
        hn_set_int(t, 3 * i, s->first[half]);
        hn_set_int(t, 3 * i + 1, s->self[half] + at);
        hn_set_int(t, 3 * i + 2, s->n_k);
    }
}

static void check_composed(const char *what, shape s)
{
    hn_graph *g = bench_graph(&b);
    check_group(what);
    hn_node *q = narrow(bench_leaf(&b, HN_LEAF_INPUT, "q", 3, s.n_q, s.heads, s.d));
    hn_node *k =
        hn_cast(g, bench_leaf(&b, HN_LEAF_INPUT, "k", 3, s.n_k, s.kv_heads, s.d), s.cache);
    hn_node *v =
        hn_cast(g, bench_leaf(&b, HN_LEAF_INPUT, "v", 3, s.n_k, s.kv_heads, s.d_v), s.cache);
    hn_node *sinks =
        s.has_sinks ? narrow(bench_leaf(&b, HN_LEAF_INPUT, "sinks", 1, s.heads, 0, 0)) : NULL;
    hn_node *spans =
        hn_graph_leaf(g, HN_LEAF_INPUT, "spans", HN_I32, 2, (int64_t[]){ s.n_q, 3 });
    hn_node *wanted[2] = { hn_attention_eager(g, q, k, v, sinks, spans, NULL, s.window,
                                              s.scale, s.softcap),
                           composed(&s, q, k, v, sinks, spans) };
    hn_leaf_values values;
    hn_results got;
    if (!CHECK_OK(hn_graph_finish(g)) || !CHECK_OK(hn_leaf_values_new(&values, g)))
        return;
    hn_tensor *t = hn_leaf_values_make(&values, &b.heap, spans->leaf);
    if (CHECK(t != NULL))
        set_spans(t, &s);
    bench_fill(&b, &values);
    if (CHECK_OK(bench_run(&b, 2, wanted, &values, HN_PLAN_INPLACE, &got))) {
        const int64_t n = hn_count(&got.at[0].type);
        int64_t n_other = 0;
        double size = 0;
        for (int64_t i = 0; i < n; i++) {
            n_other += memcmp((float *)got.at[0].data + i, (float *)got.at[1].data + i,
                              sizeof(float)) != 0;
            size += fabs(hn_get(&got.at[0], i));
        }
        CHECK_THAT(n_other == 0, "%lld of %lld elements differ", (long long)n_other,
                   (long long)n);
        CHECK(size > 0.001 * (double)n);
        hn_results_free(&got);
    }
    hn_leaf_values_free(&values, &b.heap);
}

/* Queries at `self`, `self + 1`, ... of a sequence, their last keys in blocks of a store of so many rows. */
static void check_blocks(int64_t n_q, int64_t self, int64_t window, int64_t rows)
{
    enum { HEADS = 4, KV = 2, D = 24 };
    const int64_t n_k = self + n_q, each = (n_k + HN_KEY_BLOCK - 1) / HN_KEY_BLOCK, n = rows / HN_KEY_BLOCK;
    hn_graph *g = bench_graph(&b);
    hn_node *q = narrow(bench_leaf(&b, HN_LEAF_INPUT, "q", 3, n_q, HEADS, D));
    hn_node *k = bench_leaf(&b, HN_LEAF_INPUT, "k", 3, n_k, KV, D);
    hn_node *store = bench_leaf(&b, HN_LEAF_INPUT, "store", 3, rows, KV, D);
    hn_node *spans = hn_graph_leaf(g, HN_LEAF_INPUT, "spans", HN_I32, 2, (int64_t[]){ n_q, 3 });
    hn_node *table = hn_graph_leaf(g, HN_LEAF_INPUT, "table", HN_I32, 2, (int64_t[]){ 1, each });
    hn_node *wanted[2] = { hn_attention_eager(g, q, k, k, NULL, spans, NULL, window, 0, 0),
                           hn_attention_eager(g, q, store, store, NULL, spans, table, window, 0, 0) };
    hn_leaf_values values;
    hn_results got;
    if (!CHECK_OK(hn_graph_finish(g)) || !CHECK_OK(hn_leaf_values_new(&values, g)))
        return;
    hn_tensor *t = hn_leaf_values_make(&values, &b.heap, spans->leaf);
    hn_tensor *all = hn_leaf_values_make(&values, &b.heap, k->leaf);
    hn_tensor *kept = hn_leaf_values_make(&values, &b.heap, store->leaf);
    hn_tensor *where = hn_leaf_values_make(&values, &b.heap, table->leaf);
    if (CHECK(t && all && kept && where)) {
        const shape s = { .n_q = n_q, .n_k = n_k, .self = { self, self + (n_q + 1) / 2 } };
        set_spans(t, &s);
        CHECK_OK(hn_random_data(b.env.seed, -1, 1, &b.heap, all));
        for (int64_t i = 0; i < each; i++) /* the last blocks, in another order than theirs */
            hn_set_int(where, i, i < each - n ? -1 : (i * 7 + 3) % n);
        for (int64_t j = each > n ? (each - n) * HN_KEY_BLOCK : 0; j < n_k; j++)
            memcpy((float *)kept->data +
                       (hn_get_int(where, j / HN_KEY_BLOCK) * HN_KEY_BLOCK + j % HN_KEY_BLOCK) * KV * D,
                   (float *)all->data + j * KV * D, KV * D * sizeof(float));
    }
    bench_fill(&b, &values);
    if (CHECK_OK(bench_run(&b, 2, wanted, &values, HN_PLAN_INPLACE, &got))) {
        CHECK_THAT(!memcmp(got.at[0].data, got.at[1].data, hn_type_bytes(&got.at[0].type)),
                   "a window of %lld at key %lld: another answer from blocks in %lld rows",
                   (long long)window, (long long)self, (long long)rows);
        hn_results_free(&got);
    }
    hn_leaf_values_free(&values, &b.heap);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    if (bench_open(&b)) {
        check_composed(
            "one query",
            (shape){ 1, 40, 4, 2, 64, 64, 0, 0.125f, 0, false, HN_BF16, { 0 }, { 39 } });
        check_composed(
            "a soft cap and sinks",
            (shape){ 70, 90, 6, 2, 40, 24, 0, 0.3f, 2, true, HN_BF16, { 0 }, { 10, 45 } });
        check_composed(
            "sinks",
            (shape){ 9, 300, 8, 1, 16, 16, 33, 1, 0, true, HN_F32, { 0 }, { 200, 260 } });
        check_composed(
            "a window past a cut of the sum",
            (shape){ 400, 9000, 4, 2, 16, 20, 5000, 4, 0, false, HN_F16, { 0 }, { 7000, 8800 } });
        check_composed(
            "a short window far out",
            (shape){ 5, 9000, 2, 1, 16, 16, 100, 2, 0, false, HN_BF16, { 0 }, { 4120, 8000 } });
        check_composed(
            "all of a long row",
            (shape){ 2, 5000, 3, 3, 8, 8, 0, 3, 1.5f, false, HN_BF16, { 0 }, { 4998, 4999 } });
        check_group("blocks");
        check_blocks(1, 5000, 100, 192);
        check_blocks(28, 300, 100, 192);
        check_blocks(64, 4090, 64, 192);
        check_blocks(3, 9000, 4200, 4352);
        check_blocks(5, 20, 40, 64);
        bench_close(&b);
    }
    return check_close();
}
