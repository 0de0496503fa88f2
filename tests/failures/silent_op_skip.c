/* SILENT-OP-SKIP and BACKWARD-ABORT: an op without a backward is skipped, or ends the process. Here
 * the graph is refused while it is built, naming the op, the layer and the tensors it cuts off. */
#include "tests/failures/bench.h"

static void op_without_backward(bench *b)
{
    check_group("op without a backward");
    hn_graph *g = bench_graph(b);
    hn_node *w = bench_leaf(b, HN_LEAF_WEIGHT, "blk.7.w", 2, 4, 4, 0);
    hn_node *other = bench_leaf(b, HN_LEAF_WEIGHT, "other", 2, 4, 4, 0);
    hn_graph_scope(g, "blk.7");
    /* A gradient op has no gradient of its own. */
    hn_node *y = hn_apply_named(g, "silu_grad", NULL, 2, (hn_node *[]){ w, other });
    hn_node *loss = hn_sum_to(g, y, hn_graph_scalar(g, 0), NULL);
    hn_node *params[2] = { w, other }, *grads[2];
    const hn_status status = hn_diff(g, loss, 2, params, NULL, grads);
    CHECK_FAILS(status, HN_ERR_UNSUPPORTED, "silu_grad");
    CHECK_FAILS(status, HN_ERR_UNSUPPORTED, "blk.7");
    CHECK_FAILS(status, HN_ERR_UNSUPPORTED, "blk.7.w, other");
}

static void path_through_an_input_without_gradient(bench *b)
{
    check_group("input without a gradient");
    hn_graph *g = bench_graph(b);
    hn_node *x = bench_leaf(b, HN_LEAF_WEIGHT, "x", 2, 3, 4, 0);
    hn_node *bias = bench_leaf(b, HN_LEAF_WEIGHT, "bias", 1, 4, 0, 0);
    hn_node *y = hn_apply_named(g, "softmax", NULL, 2, (hn_node *[]){ x, bias }); /* as its mask */
    hn_node *loss = hn_sum_to(g, hn_mul(g, y, y), hn_graph_scalar(g, 0), NULL);
    hn_node *params[2] = { x, bias }, *grads[2];
    CHECK_FAILS(hn_diff(g, loss, 2, params, NULL, grads), HN_ERR_UNSUPPORTED, "bias");
}

static void parameter_that_the_loss_ignores(bench *b)
{
    check_group("no path at all");
    hn_graph *g = bench_graph(b);
    hn_node *x = bench_leaf(b, HN_LEAF_WEIGHT, "x", 1, 4, 0, 0);
    hn_node *unused = bench_leaf(b, HN_LEAF_WEIGHT, "unused", 1, 4, 0, 0);
    hn_node *loss = hn_sum_to(g, hn_mul(g, x, x), hn_graph_scalar(g, 0), NULL);
    hn_node *params[2] = { x, unused }, *grads[2];
    CHECK_FAILS(hn_diff(g, loss, 2, params, NULL, grads), HN_ERR_ARGUMENT,
                "the loss does not depend on unused");
}

static void integers_and_stop_gradient_end_a_path_on_purpose(bench *b)
{
    check_group("declared stops");
    hn_graph *g = bench_graph(b);
    hn_node *x = bench_leaf(b, HN_LEAF_WEIGHT, "x", 2, 3, 4, 0);
    hn_node *ids = hn_apply_named(g, "argmax", NULL, 1, &x); /* integers: a stop */
    hn_node *table = bench_leaf(b, HN_LEAF_WEIGHT, "table", 2, 4, 2, 0);
    hn_node *rows = hn_apply_named(g, "gather", NULL, 2, (hn_node *[]){ table, ids });
    hn_node *frozen = hn_apply_named(g, "stop_gradient", NULL, 1, &x);
    hn_node *loss = hn_add(g, hn_sum_to(g, rows, hn_graph_scalar(g, 0), NULL),
                           hn_sum_to(g, hn_mul(g, x, frozen), hn_graph_scalar(g, 0), NULL));
    hn_node *params[2] = { x, table }, *grads[2];
    CHECK_OK(hn_diff(g, loss, 2, params, NULL, grads));
}

static void quantised_weights_cannot_be_trained(bench *b)
{
    check_group("blocks");
    hn_graph *g = bench_graph(b);
    hn_node *x = bench_leaf(b, HN_LEAF_INPUT, "x", 2, 2, 64, 0);
    hn_node *w = hn_graph_leaf(g, HN_LEAF_WEIGHT, "w", HN_TYPE_q8_0, 2, (int64_t[]){ 3, 64 });
    hn_node *loss = hn_sum_to(g, hn_linear(g, x, w), hn_graph_scalar(g, 0), NULL);
    hn_node *grad;
    CHECK_FAILS(hn_diff(g, loss, 1, &w, NULL, &grad), HN_ERR_UNSUPPORTED, "w is q8_0");
}

/* Every op either has a backward or says why not: silence is refused. */
static void every_op_speaks(void)
{
    check_group("coverage");
    for (int i = 0; hn_ops[i]; i++) {
        CHECK_THAT(hn_ops[i]->backward || hn_ops[i]->no_gradient, "%s is silent", hn_ops[i]->name);
        CHECK_THAT(!(hn_ops[i]->backward && hn_ops[i]->no_gradient), "%s says both", hn_ops[i]->name);
        CHECK_THAT(hn_ops[i]->cases && hn_ops[i]->cases[0], "%s has no case", hn_ops[i]->name);
    }
}

int main(int argc, char **argv)
{
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        op_without_backward(&b);
        path_through_an_input_without_gradient(&b);
        parameter_that_the_loss_ignores(&b);
        integers_and_stop_gradient_end_a_path_on_purpose(&b);
        quantised_weights_cannot_be_trained(&b);
        every_op_speaks();
        bench_close(&b);
    }
    return check_close();
}
