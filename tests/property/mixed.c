/* Mixed numerics: a product by a matrix of any stored type is that of the rounded activation and the rounded matrix in
 * blocks, and its gradient that of the rounded gradient, to the bit, for as many products as share an activation; by
 * one that chooses experts, or of the mode's first definition by one that is not in BF16, it is the chain that it is
 * in f32. */
#include "nn/build.h"
#include "nn/rounding.h"
#include "ops/ops.h"
#include "tests/failures/bench.h"

#include <string.h>

static bench b;

enum { TOKENS = 37, IN = 48, OUT = 40, PRODUCTS = 2 };

typedef hn_node *(*product)(nn_build *n, hn_node *x, const nn_weight *w, hn_node *leaf);

static hn_node *linear(nn_build *n, hn_node *x, hn_node *leaf, hn_sums sums)
{
    return HN_APPLY(n->g, &hn_op_linear, &((linear_attrs){ 0, (int)sums }), x, leaf);
}

static hn_node *by_verbs(nn_build *n, hn_node *x, const nn_weight *w, hn_node *leaf)
{
    x = nn_product_in(n, x, w);
    return nn_product_out(n, linear(n, x, leaf, nn_sums(n, w)), w);
}

/* By hand: the matrix too. */
static hn_node *narrow_leaf(nn_build *n, hn_node *leaf)
{
    return leaf->type.dtype == HN_F32 ? hn_round_to(n->g, leaf, HN_BF16) : leaf;
}

static hn_node *of_rounded(nn_build *n, hn_node *x, const nn_weight *w, hn_node *leaf)
{
    (void)w;
    return linear(n, hn_round_to(n->g, x, HN_BF16), narrow_leaf(n, leaf), HN_SUMS_BLOCKS);
}

/* The first definition. */
static hn_node *of_chains(nn_build *n, hn_node *x, const nn_weight *w, hn_node *leaf)
{
    (void)w;
    return linear(n, hn_round_to(n->g, x, HN_BF16), leaf, HN_SUMS_CHAIN);
}

static hn_node *plain(nn_build *n, hn_node *x, const nn_weight *w, hn_node *leaf)
{
    (void)w;
    return linear(n, x, leaf, HN_SUMS_CHAIN);
}

/* Outputs and the gradient of x, of <factors, x w^T> summed over products. `rounds`: the gradients are
 * rounded by hand, and so the products' transposes are taken by hand as well. */
static void build(nn_build *n, product make, bool rounds, const nn_weight *w, hn_node *x, hn_node *const *leaves,
                  hn_node *const *factors, hn_node **wanted)
{
    hn_graph *g = n->g;
    hn_node *loss = NULL, *dx = NULL;
    for (int i = 0; i < PRODUCTS; i++) {
        hn_node *y = make(n, x, w, leaves[i]);
        hn_node *part = hn_sum_to(g, hn_mul(g, factors[i], y), hn_graph_scalar(g, 0), NULL);
        loss = loss ? hn_add(g, loss, part) : part;
        hn_node *own = HN_APPLY(g, &hn_op_linear_back, &((linear_attrs){ 0, make == of_rounded ? HN_SUMS_BLOCKS : HN_SUMS_CHAIN }),
                                hn_round_to(g, factors[i], HN_BF16), make == of_rounded ? narrow_leaf(n, leaves[i]) : leaves[i]);
        dx = dx ? hn_add(g, dx, own) : own;
        wanted[i] = y;
    }
    wanted[PRODUCTS] = dx;
    if (!rounds && CHECK_OK(hn_graph_finish(g)))
        CHECK_OK(hn_diff(g, loss, 1, &x, NULL, &wanted[PRODUCTS]));
}

static int count(const hn_graph *g, const hn_op *op)
{
    int n = 0;
    for (int i = 0; i < g->n_applies; i++)
        n += g->applies[i]->op == op;
    return n;
}

static void check_type(hn_dtype type, const char *name, hn_numerics numerics, product by_hand)
{
    enum { EACH = PRODUCTS + 1 };
    const bool is_narrow = by_hand != plain;
    const nn_weight w = { .name = name, .type = { .dtype = type } };
    hn_graph *g = bench_graph(&b);
    nn_build n = { .g = g, .o = { .numerics = numerics } };
    hn_node *x = bench_leaf(&b, HN_LEAF_INPUT, "x", 2, TOKENS, IN, 0), *wanted[2 * EACH];
    hn_node *leaves[PRODUCTS], *factors[PRODUCTS];
    for (int i = 0; i < PRODUCTS; i++) {
        leaves[i] = hn_graph_leaf(g, HN_LEAF_WEIGHT, i ? "w1" : "w0", type, 2, (int64_t[]){ OUT, IN });
        factors[i] = bench_leaf(&b, HN_LEAF_INPUT, i ? "f1" : "f0", 2, TOKENS, OUT, 0);
    }
    build(&n, by_verbs, false, &w, x, leaves, factors, wanted);
    const int rounded = count(g, &hn_op_round_to);
    CHECK_INT(is_narrow ? 1 + 2 * PRODUCTS : PRODUCTS, rounded); /* PRODUCTS are build's own */
    build(&n, by_hand, is_narrow, &w, x, leaves, factors, wanted + EACH);
    hn_leaf_values values;
    hn_results got;
    if (!CHECK_OK(hn_graph_finish(g)) || !CHECK_OK(hn_leaf_values_new(&values, g)))
        return;
    bench_fill(&b, &values);
    if (CHECK_OK(bench_run(&b, 2 * EACH, wanted, &values, HN_PLAN_INPLACE, &got))) {
        for (int i = 0; i < EACH; i++)
            CHECK_THAT(!memcmp(got.at[i].data, got.at[EACH + i].data, hn_type_bytes(&got.at[i].type)),
                       "%s by %s: result %d", hn_numerics_definition(numerics), hn_dtype_name(type), i);
        hn_results_free(&got);
    }
    bench_same_under_all_plans(&b, EACH, wanted, &values);
    hn_leaf_values_free(&values, &b.heap);
}

/* ---- the same through nn_linear, with adapters: one rounding each way, below a magnitude ---- */

enum { RANK = 4 };
static nn_weight base = { .name = "a.weight" }, low = { .name = "low" }, high = { .name = "high" },
                 sizes = { .name = "sizes" };
static nn_lora change = { .a = &low, .b = &high, .scale = 1 };

static const nn_weight *find_weight(const void *self, const char *name)
{
    (void)self;
    return strcmp(name, base.name) ? NULL : &base;
}

static const nn_lora *find_change(const void *self, const nn_weight *w)
{
    return self && w == &base ? self : NULL;
}

static const hn_hparams no_layers;

static void check_linear(const char *what, const nn_lora *lora, hn_numerics numerics, int want)
{
    hn_graph *g = bench_graph(&b);
    const nn_adapter adapter = { lora, find_change };
    nn_build n = { .g = g, .hp = &no_layers, .model = { NULL, find_weight },
                   .o = { .numerics = numerics, .adapters = &adapter, .n_adapters = 1 } };
    CHECK_OK(hn_type_make(&base.type, HN_BF16, 2, (int64_t[]){ OUT, IN }));
    CHECK_OK(hn_type_make(&low.type, HN_F32, 2, (int64_t[]){ RANK, IN }));
    CHECK_OK(hn_type_make(&high.type, HN_F32, 2, (int64_t[]){ OUT, RANK }));
    CHECK_OK(hn_type_make(&sizes.type, HN_F32, 1, (int64_t[]){ OUT }));
    nn_linear(&n, bench_leaf(&b, HN_LEAF_INPUT, "x", 2, TOKENS, IN, 0), "a");
    if (!CHECK_OK(hn_graph_finish(g)))
        return;
    CHECK_THAT(count(g, &hn_op_round_to) == want && count(g, &hn_op_round_back) == want,
               "%s: %d and %d roundings", what, count(g, &hn_op_round_to), count(g, &hn_op_round_back));
    const hn_apply *last = g->applies[g->n_applies - 1];
    CHECK_THAT(!want || last->op == (lora && lora->magnitude ? &hn_op_mul : &hn_op_round_back),
               "%s: it ends with %s", what, last->op->name);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    if (bench_open(&b)) {
        check_type(HN_BF16, "blk.0.attn_q.weight", HN_NUMERICS_MIXED, of_rounded);
        check_type(HN_F32, "blk.0.attn_q.weight", HN_NUMERICS_MIXED, of_rounded);
        check_type(HN_F16, "blk.0.attn_q.weight", HN_NUMERICS_MIXED, of_rounded);
        check_type(HN_BF16, "blk.0.ffn_gate_inp.weight", HN_NUMERICS_MIXED, plain);
        check_type(HN_F32, "blk.0.ffn_gate_inp.weight", HN_NUMERICS_MIXED, plain);
        check_type(HN_BF16, "blk.0.attn_q.weight", HN_NUMERICS_F32, plain);
        check_type(HN_BF16, "blk.0.attn_q.weight", HN_NUMERICS_MIXED_1, of_chains);
        check_type(HN_F32, "blk.0.attn_q.weight", HN_NUMERICS_MIXED_1, plain);
        check_linear("alone", NULL, HN_NUMERICS_MIXED, 1);
        check_linear("low-rank", &change, HN_NUMERICS_MIXED, 1);
        check_linear("low-rank in f32", &change, HN_NUMERICS_F32, 0);
        change.magnitude = &sizes;
        check_linear("with a magnitude", &change, HN_NUMERICS_MIXED, 1);
        bench_close(&b);
    }
    return check_close();
}
