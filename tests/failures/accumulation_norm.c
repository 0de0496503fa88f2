/* ACCUMULATION-NORM: the loss or gradient depends on how a batch is cut into micro-batches. Every
 * cut of ragged sequences, with labels that are ignored: the same bits of loss and gradient. What
 * needs the whole batch at once is refused. And ZERO-GRADIENT: every trainable tensor of every cut
 * has a gradient that is not zero. */
#include "tests/failures/steps.h"

#include <stdio.h>

static void every_cut(bench *b, const hn_instance_spec *spec, const char *arch)
{
    static const int cuts[][3] = { { 3 }, { 1, 2 }, { 2, 1 }, { 1, 1, 1 } };
    check_group(spec->name);
    steps s;
    const hn_descent_options options = { .recompute_every = 1 };
    uint64_t want = 0;
    if (steps_open(&s, b, spec, arch, &options))
        for (int c = 0; c < 4; c++) {
            size_t from = 0;
            CHECK_OK(hn_descent_begin(s.descent));
            for (int m = 0; m < 3 && cuts[c][m]; from += (size_t)cuts[c][m++])
                CHECK_OK(steps_micro(&s, from, from + (size_t)cuts[c][m], NULL));
            const uint64_t got = steps_digest(&s);
            want = want ? want : got;
            CHECK_THAT(got && got == want, "cut %d", c);
            for (int p = 0; p < s.n_params; p++) {
                hn_tensor t;
                double sum = 0;
                CHECK_OK(hn_descent_gradient(s.descent, p, &t));
                for (int64_t i = 0; i < hn_count(&t.type); i++)
                    sum += hn_get(&t, i) * hn_get(&t, i);
                CHECK_THAT(sum > 0, "%s has no gradient", s.tuning->tensors[p].name);
            }
        }
    steps_close(&s);
}

/* The loss of a whole batch of labels that are all ignored in one of the micro-batches. */
static void empty_mask(bench *b)
{
    check_group("a micro-batch without labels");
    steps s;
    const hn_descent_options options = { 0 };
    if (steps_open(&s, b, &steps_dense, "llama", &options)) {
        for (int64_t i = 0; i < steps_dense.length[0]; i++)
            s.instance.batch.weights[i] = 0;
        CHECK_OK(hn_descent_begin(s.descent));
        CHECK_OK(steps_all(&s, NULL));
        const uint64_t whole = steps_digest(&s);
        CHECK_OK(hn_descent_begin(s.descent));
        CHECK_OK(steps_micro(&s, 0, 1, NULL));
        CHECK_OK(steps_micro(&s, 1, 3, NULL));
        CHECK(whole && steps_digest(&s) == whole);
    }
    steps_close(&s);
}

static void whole_batch_losses_are_refused(bench *b)
{
    check_group("batch-wide balance");
    hn_graph *g = bench_graph(b);
    hn_node *x = bench_leaf(b, HN_LEAF_INPUT, "x", 2, 6, 4, 0);
    hn_node *w = bench_leaf(b, HN_LEAF_WEIGHT, "router", 2, 3, 4, 0);
    hn_node *logits = hn_linear(g, x, w);
    hn_node *weights = hn_apply_named(g, "router", "k=1", 1, &logits);
    hn_node *loss = hn_apply_named(g, "router_balance_batch", NULL, 2,
                                   (hn_node *[]){ logits, hn_output(weights, 1) });
    hn_node *grad;
    CHECK_OK(hn_graph_finish(g));
    CHECK_FAILS(hn_diff(g, loss, 1, &w, &(hn_diff_options){ .accumulate = true }, &grad),
                HN_ERR_UNSUPPORTED, "router_balance_batch");
    hn_graph *again = bench_graph(b); /* alone in its step it is fine */
    x = bench_leaf(b, HN_LEAF_INPUT, "x", 2, 6, 4, 0);
    w = bench_leaf(b, HN_LEAF_WEIGHT, "router", 2, 3, 4, 0);
    logits = hn_linear(again, x, w);
    weights = hn_apply_named(again, "router", "k=1", 1, &logits);
    loss = hn_apply_named(again, "router_balance_batch", NULL, 2,
                          (hn_node *[]){ logits, hn_output(weights, 1) });
    CHECK_OK(hn_diff(again, loss, 1, &w, NULL, &grad));
}

int main(int argc, char **argv)
{
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        every_cut(&b, &steps_dense, "llama");
        every_cut(&b, &steps_experts, "qwen3moe");
        empty_mask(&b);
        whole_batch_losses_are_refused(&b);
        bench_close(&b);
    }
    return check_close();
}
