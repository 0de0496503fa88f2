/* Mixed numerics: a product by a matrix in BF16 is that of the rounded activation, and its gradient
 * that of the rounded gradient, to the bit, for as many products as share an activation; by a matrix of
 * any other type it is what it was. */
#include "nn/build.h"
#include "nn/rounding.h"
#include "tests/failures/bench.h"

#include <string.h>

static bench b;

enum { TOKENS = 37, IN = 48, OUT = 40, PRODUCTS = 2 };

typedef hn_node *(*product)(nn_build *n, hn_node *x, const nn_weight *w, hn_node *leaf);

static hn_node *by_verbs(nn_build *n, hn_node *x, const nn_weight *w, hn_node *leaf)
{
    x = nn_product_in(n, x, w);
    return nn_product_out(n, hn_linear(n->g, x, leaf), w);
}

static hn_node *of_rounded(nn_build *n, hn_node *x, const nn_weight *w, hn_node *leaf)
{
    (void)w;
    return hn_linear(n->g, hn_round_to(n->g, x, HN_BF16), leaf);
}

static hn_node *plain(nn_build *n, hn_node *x, const nn_weight *w, hn_node *leaf)
{
    (void)w;
    return hn_linear(n->g, x, leaf);
}

/* Outputs and the gradient of x, of <factors, x w^T> summed over products. `rounds`: the gradients are
 * rounded by hand, and so the products' transposes are taken by hand as well. */
static void build(nn_build *n, product make, bool rounds, hn_dtype type, hn_node *x, hn_node *const *leaves,
                  hn_node *const *factors, hn_node **wanted)
{
    hn_graph *g = n->g;
    nn_weight w = { .name = "w", .type = { .dtype = type } };
    hn_node *loss = NULL, *dx = NULL;
    for (int i = 0; i < PRODUCTS; i++) {
        hn_node *y = make(n, x, &w, leaves[i]);
        hn_node *part = hn_sum_to(g, hn_mul(g, factors[i], y), hn_graph_scalar(g, 0), NULL);
        loss = loss ? hn_add(g, loss, part) : part;
        hn_node *own = hn_linear_back(g, hn_round_to(g, factors[i], HN_BF16), leaves[i]);
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

static void check_type(hn_dtype type, hn_numerics numerics)
{
    enum { EACH = PRODUCTS + 1 };
    const bool is_narrow = type == HN_BF16 && numerics == HN_NUMERICS_MIXED;
    hn_graph *g = bench_graph(&b);
    nn_build n = { .g = g, .o = { .numerics = numerics } };
    hn_node *x = bench_leaf(&b, HN_LEAF_INPUT, "x", 2, TOKENS, IN, 0), *wanted[2 * EACH];
    hn_node *leaves[PRODUCTS], *factors[PRODUCTS];
    for (int i = 0; i < PRODUCTS; i++) {
        leaves[i] = hn_graph_leaf(g, HN_LEAF_WEIGHT, i ? "w1" : "w0", type, 2, (int64_t[]){ OUT, IN });
        factors[i] = bench_leaf(&b, HN_LEAF_INPUT, i ? "f1" : "f0", 2, TOKENS, OUT, 0);
    }
    build(&n, by_verbs, false, type, x, leaves, factors, wanted);
    const int rounded = count(g, &hn_op_round_to);
    CHECK_INT(is_narrow ? 1 + 2 * PRODUCTS : PRODUCTS, rounded); /* PRODUCTS are build's own */
    CHECK(n.has_narrow == is_narrow);
    build(&n, is_narrow ? of_rounded : plain, is_narrow, type, x, leaves, factors, wanted + EACH);
    hn_leaf_values values;
    hn_results got;
    if (!CHECK_OK(hn_graph_finish(g)) || !CHECK_OK(hn_leaf_values_new(&values, g)))
        return;
    bench_fill(&b, &values);
    if (CHECK_OK(bench_run(&b, 2 * EACH, wanted, &values, HN_PLAN_INPLACE, &got))) {
        for (int i = 0; i < EACH; i++)
            CHECK_THAT(!memcmp(got.at[i].data, got.at[EACH + i].data, hn_type_bytes(&got.at[i].type)),
                       "%s by %s: result %d", hn_numerics_name(numerics), hn_dtype_name(type), i);
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
        check_type(HN_BF16, HN_NUMERICS_MIXED);
        check_type(HN_F32, HN_NUMERICS_MIXED);
        check_type(HN_F16, HN_NUMERICS_MIXED);
        check_type(HN_BF16, HN_NUMERICS_F32);
        check_linear("alone", NULL, HN_NUMERICS_MIXED, 1);
        check_linear("low-rank", &change, HN_NUMERICS_MIXED, 1);
        check_linear("low-rank in f32", &change, HN_NUMERICS_F32, 0);
        change.magnitude = &sizes;
        check_linear("with a magnitude", &change, HN_NUMERICS_MIXED, 1);
        bench_close(&b);
    }
    return check_close();
}
