/* Every op with a kink: a watched evaluation tells when a value has crossed it since the last one that was not watched,
 * and tells nothing while all stay on their sides. */
#include "ops/ops.h"
#include "prove/oracle.h"
#include "tests/harness/check.h"

#include <string.h>

static hn_heap heap;

typedef struct turn {
    const char *op;
    hn_node *(*apply)(hn_graph *g, hn_node *a, hn_node *b);
    double near, across; /* b is 0.25 */
} turn;

static hn_node *relu(hn_graph *g, hn_node *a, hn_node *b) { return (void)b, hn_relu(g, a); }
static hn_node *absolute(hn_graph *g, hn_node *a, hn_node *b) { return (void)b, hn_abs(g, a); }
static hn_node *clamped(hn_graph *g, hn_node *a, hn_node *b) { return (void)b, hn_clamp(g, a, -0.5f, 0.75f); }

static const turn turns[] = {
    { "relu", relu, 1e-9, -1e-9 },         { "abs", absolute, -1e-9, 1e-9 },
    { "clamp", clamped, -0.499, -0.501 },  { "clamp", clamped, 0.749, 0.751 },
    { "max", hn_max, 0.2499, 0.2501 },     { "min", hn_min, 0.2499, 0.2501 },
    { "greater", hn_greater, 0.26, 0.24 },
};
enum { N_TURNS = sizeof turns / sizeof *turns };

static void check_every_op_is_here(void)
{
    for (int i = 0; hn_ops[i]; i++) {
        bool is_here = !hn_ops[i]->kinks && !hn_ops[i]->kink_where_equal;
        for (int k = 0; k < N_TURNS; k++)
            is_here = is_here || !strcmp(turns[k].op, hn_ops[i]->name);
        CHECK_THAT(is_here, "%s has a kink that no row of this test crosses", hn_ops[i]->name);
    }
}

/* The 4th of five numbers is moved; the others lie far from every kink. */
static bool is_told(hn_oracle *o, const hn_leaf *leaf, double value)
{
    bool moved;
    hn_set(hn_oracle_leaf(o, leaf), 3, value);
    return CHECK_OK(hn_oracle_run(o, true, &moved)) && moved;
}

static void check_turn(const turn *t)
{
    static const int64_t five[] = { 5 }, one[] = { 1 };
    hn_graph *g;
    hn_oracle *o;
    if (!CHECK_OK(hn_graph_new(&g, &heap)))
        return;
    hn_node *a = hn_graph_leaf(g, HN_LEAF_INPUT, "a", HN_F32, 1, five);
    hn_node *b = hn_graph_leaf(g, HN_LEAF_INPUT, "b", HN_F32, 1, one);
    hn_node *y = t->apply(g, a, b);
    if (CHECK_OK(hn_oracle_new(&o, g, 1, &y))) {
        for (int i = 0; i < 5; i++)
            hn_set(hn_oracle_leaf(o, a->leaf), i, i == 3 ? t->near : 0.1 + 0.01 * i);
        if (hn_oracle_leaf(o, b->leaf))
            hn_set(hn_oracle_leaf(o, b->leaf), 0, 0.25);
        CHECK_OK(hn_oracle_run(o, false, NULL));
        CHECK_THAT(!is_told(o, a->leaf, t->near), "nothing moved");
        CHECK_THAT(!is_told(o, a->leaf, t->near + (t->near - t->across) * 1e-3), "its side is kept");
        CHECK_THAT(is_told(o, a->leaf, t->across), "%g to %g crosses", t->near, t->across);
        CHECK_THAT(!is_told(o, a->leaf, t->near), "what is watched is compared with what was not");
        hn_oracle_free(o);
    }
    hn_graph_free(g);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    check_every_op_is_here();
    for (int i = 0; i < N_TURNS; i++) {
        check_group(turns[i].op);
        check_turn(&turns[i]);
    }
    check_group(NULL);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
