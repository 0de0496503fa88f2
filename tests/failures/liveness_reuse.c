/* LIVENESS-REUSE: a gradient's memory is given away while it still has a reader (ggml issue 1501: a
 * 30-layer graph 10 to 7500 times wrong). Chains of 2, 8, 30 and 80 layers under every plan; plans
 * that were tampered with must be refused by the verifier. */
#include "tests/failures/bench.h"

#include <stdio.h>

enum { WIDTH = 6, ROWS = 3 };

static void chain(bench *b, int n_layers)
{
    char name[32];
    check_group("chain");
    hn_graph *g = bench_graph(b);
    hn_node *params[81], *grads[81];
    hn_node *x = bench_leaf(b, HN_LEAF_INPUT, "x", 2, ROWS, WIDTH, 0);
    hn_node *embed = bench_leaf(b, HN_LEAF_WEIGHT, "embed", 2, WIDTH, WIDTH, 0);
    params[0] = embed;
    hn_node *y = hn_linear(g, x, embed);
    for (int i = 0; i < n_layers; i++) {
        snprintf(name, sizeof name, "w.%d", i);
        params[1 + i] = bench_leaf(b, HN_LEAF_WEIGHT, name, 2, WIDTH, WIDTH, 0);
        hn_node *h = hn_linear(g, hn_rms_norm(g, y, NULL, 1e-5f), params[1 + i]);
        y = hn_add(g, y, hn_apply_named(g, "silu", NULL, 1, &h));
    }
    y = hn_linear(g, y, embed); /* tied */
    hn_node *loss = hn_sum_to(g, hn_mul(g, y, y), hn_graph_scalar(g, 0), NULL);
    CHECK_OK(hn_diff(g, loss, n_layers + 1, params, NULL, grads));
    hn_leaf_values values;
    CHECK_OK(hn_leaf_values_new(&values, g));
    bench_fill(b, &values);
    bench_same_under_all_plans(b, n_layers + 1, grads, &values);
    hn_run_setup inplace = { .n_devices = 1, .devices = &b->env.one, .mode = HN_PLAN_INPLACE };
    hn_run_setup separate = { .n_devices = 1, .devices = &b->env.one, .mode = HN_PLAN_SEPARATE };
    hn_results got;
    if (CHECK_OK(hn_run_graph(g, n_layers + 1, grads, &values, &inplace, &got)))
        hn_results_free(&got);
    if (CHECK_OK(hn_run_graph(g, n_layers + 1, grads, &values, &separate, &got)))
        hn_results_free(&got);
    CHECK_THAT(inplace.workspace * 2 < separate.workspace, "%d layers: %zu bytes of %zu", n_layers,
               inplace.workspace, separate.workspace);
    hn_leaf_values_free(&values, &b->heap);
}

/* Every root is ended one step before its last reader, one at a time. */
static void early_release_is_found(bench *b)
{
    check_group("released early");
    hn_graph *g = bench_graph(b);
    hn_node *x = bench_leaf(b, HN_LEAF_WEIGHT, "x", 2, 4, 4, 0);
    hn_node *a = hn_scale(g, x, 2, 0);
    hn_node *y = a;
    for (int i = 0; i < 4; i++)
        y = hn_apply_named(g, "silu", NULL, 1, &y);
    y = hn_add(g, y, a); /* a is read again at the end */
    const hn_target target = hn_device_target(b->env.one->host);
    const hn_plan_options options = { .mode = HN_PLAN_REUSE, .copy = &hn_op_contiguous };
    hn_plan *plan;
    if (!CHECK_OK(hn_plan_new(&plan, g, 1, &y, 1, &target, &options)))
        return;
    CHECK_OK(hn_plan_verify(plan, 1, &y));
    /* A planner that thought `a` dead after its first reader would put something on it. */
    const int early = plan->values[plan->steps[0].out[0]].root;
    const int late = plan->values[plan->steps[3].out[0]].root;
    plan->roots[late].offset = plan->roots[early].offset;
    CHECK_FAILS(hn_plan_verify(plan, 1, &y), HN_ERR_PROOF, "which hold the result of scale#0");
    hn_plan_free(plan);
}

int main(int argc, char **argv)
{
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        static const int layers[] = { 2, 8, 30, 80 };
        for (int i = 0; i < 4; i++)
            chain(&b, layers[i]);
        early_release_is_found(&b);
        bench_close(&b);
    }
    return check_close();
}
