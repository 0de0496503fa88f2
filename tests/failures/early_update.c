/* A state that is updated before its last reader: refused while the graph is built, and, in a plan
 * that was tampered with, by the verifier. */
#include "tests/failures/bench.h"

static void reader_after_the_update(bench *b)
{
    check_group("graph");
    hn_graph *g = bench_graph(b);
    hn_node *cache = bench_leaf(b, HN_LEAF_STATE, "cache", 2, 8, 4, 0);
    hn_node *row = bench_leaf(b, HN_LEAF_INPUT, "row", 2, 1, 4, 0);
    hn_node *at = hn_graph_ints(g, 1, (int32_t[]){ 3 });
    hn_node *updated = hn_apply_named(g, "set_rows", NULL, 3, (hn_node *[]){ cache, row, at });
    CHECK_OK(hn_graph_finish(g));
    hn_scale(g, updated, 2, 0); /* the new version: fine */
    CHECK_OK(hn_graph_finish(g));
    hn_scale(g, cache, 2, 0); /* the old one is gone */
    CHECK_FAILS(hn_graph_finish(g), HN_ERR_ARGUMENT, "reads cache at version 0");
}

static void update_moved_forward_in_a_plan(bench *b)
{
    check_group("plan");
    hn_graph *g = bench_graph(b);
    hn_node *cache = bench_leaf(b, HN_LEAF_STATE, "cache", 2, 8, 4, 0);
    hn_node *row = bench_leaf(b, HN_LEAF_INPUT, "row", 2, 1, 4, 0);
    hn_node *before = hn_scale(g, cache, 2, 0);
    hn_node *at = hn_graph_ints(g, 1, (int32_t[]){ 3 });
    hn_node *updated = hn_apply_named(g, "set_rows", NULL, 3, (hn_node *[]){ cache, row, at });
    hn_node *wanted[2] = { before, updated };
    const hn_target target = hn_device_target(b->env.one->host);
    const hn_plan_options options = { .copy = &hn_op_contiguous };
    hn_plan *plan;
    if (!CHECK_OK(hn_plan_new(&plan, g, 2, wanted, 1, &target, &options)))
        return;
    CHECK_OK(hn_plan_verify(plan, 2, wanted));
    const hn_step first = plan->steps[0];
    plan->steps[0] = plan->steps[1];
    plan->steps[1] = first;
    CHECK_FAILS(hn_plan_verify(plan, 2, wanted), HN_ERR_PROOF, "before its last reader");
    hn_plan_free(plan);
}

static void only_states_can_be_updated(bench *b)
{
    check_group("what is no state");
    hn_graph *g = bench_graph(b);
    hn_node *x = bench_leaf(b, HN_LEAF_INPUT, "x", 2, 8, 4, 0);
    hn_node *row = bench_leaf(b, HN_LEAF_INPUT, "row", 2, 1, 4, 0);
    hn_apply_named(g, "set_rows", NULL, 3, (hn_node *[]){ x, row, hn_graph_ints(g, 1, (int32_t[]){ 3 }) });
    CHECK_FAILS(hn_graph_finish(g), HN_ERR_ARGUMENT, "expected a weight or a state");
}

int main(int argc, char **argv)
{
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        reader_after_the_update(&b);
        update_moved_forward_in_a_plan(&b);
        only_states_can_be_updated(&b);
        bench_close(&b);
    }
    return check_close();
}
