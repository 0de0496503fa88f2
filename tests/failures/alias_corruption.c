/* ALIAS-CORRUPTION: an output takes the memory of an input that is still needed.
 * ggml issue 1491 (rms_norm_back: -3.9976 for 0.000799), PR 1521 (softmax), and the two that are
 * wrong in it to this day: softmax's backward over its *second* input, rope's backward with an
 * offset. */
#include "tests/failures/bench.h"

#include <math.h>

static void rms_norm_of_issue_1491(bench *b)
{
    static const float one[4] = { 1, 0, 0, 0 };
    check_group("issue 1491");
    hn_graph *g = bench_graph(b);
    hn_node *a = bench_leaf(b, HN_LEAF_WEIGHT, "a", 2, 1, 4, 0);
    hn_node *w = bench_leaf(b, HN_LEAF_INPUT, "b", 2, 1, 4, 0);
    /* Copies on both sides, so that dx has dying inputs to take. */
    hn_node *y = hn_rms_norm(g, hn_scale(g, a, 1, 0), NULL, 1e-4f);
    hn_node *loss = hn_sum_to(g, hn_mul(g, y, hn_scale(g, w, 1, 0)), hn_graph_scalar(g, 0), NULL);
    hn_node *grad;
    CHECK_OK(hn_diff(g, loss, 1, &a, NULL, &grad));
    hn_leaf_values values;
    CHECK_OK(hn_leaf_values_new(&values, g));
    for (int i = 0; i < 2; i++) {
        hn_tensor *t = hn_leaf_values_make(&values, &b->heap, i ? w->leaf : a->leaf);
        for (int k = 0; k < 4; k++)
            hn_set(t, k, (double)one[k]);
    }
    for (int mode = 0; mode < HN_N_PLAN_MODES; mode++) {
        hn_results got;
        if (!CHECK_OK(bench_run(b, 1, &grad, &values, (hn_plan_mode)mode, &got)))
            continue;
        const double first = hn_get(&got.at[0], 0);
        CHECK_THAT(first > 0.000799 && first < 0.0008, "%s: %.9g", hn_plan_mode_name((hn_plan_mode)mode), first);
        for (int k = 1; k < 4; k++)
            CHECK(hn_get(&got.at[0], k) == 0);
        hn_results_free(&got);
    }
    bench_same_under_all_plans(b, 1, &grad, &values);
    hn_leaf_values_free(&values, &b->heap);
}

/* softmax -> reshape, as in a router: dy is still needed, so only y may be taken. */
static void softmax_over_its_second_input(bench *b)
{
    check_group("softmax's backward may take only its result");
    hn_graph *g = bench_graph(b);
    hn_node *x = bench_leaf(b, HN_LEAF_WEIGHT, "x", 2, 6, 5, 0);
    hn_node *w = bench_leaf(b, HN_LEAF_INPUT, "w", 1, 30, 0, 0);
    hn_node *y = hn_apply_named(g, "softmax", NULL, 1, &x);
    hn_node *flat = hn_reshape(g, y, (hn_ints){ 1, { -1 } });
    hn_node *loss = hn_sum_to(g, hn_mul(g, flat, w), hn_graph_scalar(g, 0), NULL);
    hn_node *grad;
    CHECK_OK(hn_diff(g, loss, 1, &x, NULL, &grad));
    hn_leaf_values values;
    CHECK_OK(hn_leaf_values_new(&values, g));
    bench_fill(b, &values);
    bench_same_under_all_plans(b, 1, &grad, &values);
    hn_run_setup setup = { .n_devices = 1, .devices = &b->env.one, .mode = HN_PLAN_POISON,
                           .watch = hn_op_find("softmax_grad") };
    hn_results got;
    if (CHECK_OK(hn_run_graph(g, 1, &grad, &values, &setup, &got))) {
        CHECK_INT(1, setup.n_taken[0]); /* y, the result: nothing else dies here */
        CHECK_INT(0, setup.n_taken[1]);
        hn_results_free(&got);
    }
    hn_leaf_values_free(&values, &b->heap);
}

/* Rotated part behind an offset: the turn back must leave the first columns alone. */
static void rope_behind_an_offset(bench *b)
{
    check_group("rope's backward keeps the offset");
    hn_graph *g = bench_graph(b);
    hn_node *x = bench_leaf(b, HN_LEAF_WEIGHT, "x", 3, 3, 2, 8);
    hn_node *w = bench_leaf(b, HN_LEAF_INPUT, "w", 3, 3, 2, 8);
    hn_node *angles = hn_apply_named(g, "rope_angles", "width=4", 3, (hn_node *[]){ NULL, NULL, x });
    hn_node *y = hn_apply_named(g, "rope", "offset=4", 2, (hn_node *[]){ x, angles });
    hn_node *loss = hn_sum_to(g, hn_mul(g, y, w), hn_graph_scalar(g, 0), NULL);
    hn_node *grad;
    CHECK_OK(hn_diff(g, loss, 1, &x, NULL, &grad));
    hn_leaf_values values;
    CHECK_OK(hn_leaf_values_new(&values, g));
    bench_fill(b, &values);
    hn_results got;
    if (CHECK_OK(bench_run(b, 1, &grad, &values, HN_PLAN_POISON, &got))) {
        const hn_tensor *dy = &values.at[w->leaf->id];
        double turned = 0;
        for (int64_t row = 0; row < 6; row++)
            for (int64_t i = 0; i < 8; i++) {
                const double d = hn_get(&got.at[0], row * 8 + i) - hn_get(dy, row * 8 + i);
                CHECK(i >= 4 || d == 0);
                turned += fabs(d);
            }
        CHECK(turned > 0.1);
        hn_results_free(&got);
    }
    bench_same_under_all_plans(b, 1, &grad, &values);
    hn_leaf_values_free(&values, &b->heap);
}

/* What is not exactly the input's memory may never be taken: the verifier says so. */
static void overlap_with_an_offset_is_refused(bench *b)
{
    check_group("partial overlap");
    hn_graph *g = bench_graph(b);
    hn_node *x = bench_leaf(b, HN_LEAF_INPUT, "x", 1, 64, 0, 0);
    hn_node *y = hn_scale(g, hn_scale(g, x, 2, 0), 3, 0);
    const hn_target target = hn_device_target(b->env.one->host);
    const hn_plan_options options = { .mode = HN_PLAN_INPLACE, .copy = &hn_op_contiguous };
    hn_plan *plan;
    if (!CHECK_OK(hn_plan_new(&plan, g, 1, &y, 1, &target, &options)))
        return;
    CHECK_OK(hn_plan_verify(plan, 1, &y));
    CHECK_INT(0, plan->steps[1].took[0]);
    hn_value *out = &plan->values[plan->steps[1].out[0]];
    plan->workspace[0] += 64;
    plan->roots[out->root].bytes += 64;
    out->at = 4; /* one element further */
    CHECK_FAILS(hn_plan_verify(plan, 1, &y), HN_ERR_PROOF, "which hold the result of");
    hn_plan_free(plan);
}

int main(int argc, char **argv)
{
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        rms_norm_of_issue_1491(&b);
        softmax_over_its_second_input(&b);
        rope_behind_an_offset(&b);
        overlap_with_an_offset_is_refused(&b);
        bench_close(&b);
    }
    return check_close();
}
