/* LOST-BF16-UPDATE: updates below half an ulp of bf16 vanish. At a learning rate of 1e-5 a step of
 * AdamW moves a weight by as much; bf16 numbers from 1/2 to 1 are 2^-8 apart. Rounded to nearest,
 * 300 steps change nothing, and nothing says so; rounded by chance, or with an f32 master, the
 * weights go where f32 goes. */
#include "base/half.h"
#include "ops/ops.h"
#include "tests/failures/bench.h"
#include "train/descent.h"

#include <string.h>

enum { N = 4096, STEPS = 300 };
static const float rate = 1e-5f;

typedef struct way {
    const char *name;
    hn_dtype dtype;
    bool stochastic, master;
} way;

typedef struct outcome {
    double moved;    /* down the gradient, the mean of all; of the master, if there is one */
    int64_t changed; /* stored elements that differ from where they began */
} outcome;

static float begins(int i)
{
    return hn_bf16_to_f32(hn_f32_to_bf16(0.5f + 0.49f * (float)i / N));
}

static float slope(int i)
{
    return i % 2 ? 1.0f : -1.0f;
}

/* loss = w . slope, so that the gradient is the slope whatever the weights are. */
static bool descend(bench *b, const way *how, outcome *out)
{
    hn_graph *g = bench_graph(b);
    hn_node *w = hn_graph_leaf(g, HN_LEAF_WEIGHT, "w", how->dtype, 2, (int64_t[]){ 1, N });
    hn_node *x = bench_leaf(b, HN_LEAF_INPUT, "slope", 2, 1, N, 0);
    hn_node *y = hn_linear(g, x, w), *row = hn_sum(g, y, NULL, 1, false);
    hn_node *loss = hn_sum(g, row, NULL, 0, false);
    const hn_descent_options options = { .stochastic = how->stochastic, .master = how->master,
                                         .seed = 7 };
    hn_descent *descent = NULL;
    if (!CHECK_OK(hn_graph_finish(g)) ||
        !CHECK_OK(hn_descent_new(&descent, g, loss, 1, &w, 1, &b->env.one, &options)))
        return false;
    hn_storage *storage = hn_descent_storage(descent);
    static float slopes[N];
    bool ok = CHECK_OK(hn_descent_make(descent)) &&
              CHECK_OK(hn_storage_bind(storage, x->leaf, slopes, hn_type_bytes(&x->leaf->type)));
    for (int i = 0; ok && i < N; i++)
        slopes[i] = slope(i);
    static uint64_t room[2][N]; /* of any type */
    const hn_leaf *leaves[2] = { w->leaf, w->leaf };
    hn_tensor now = { 0 }, whole = { 0 };
    for (int l = 0; ok && l < g->n_leaves; l++) {
        const hn_leaf *leaf = g->leaves[l];
        if (leaf != w->leaf && strcmp(leaf->name, "w.master") != 0)
            continue;
        const hn_tensor t = hn_tensor_at(&leaf->type, room[leaf != w->leaf]);
        for (int i = 0; i < N; i++)
            hn_set(&t, i, (double)begins(i));
        ok = CHECK_OK(hn_storage_write(storage, leaf, 0, t.data, hn_type_bytes(&t.type)));
        leaves[leaf != w->leaf] = leaf;
        if (leaf == w->leaf)
            now = t;
        if (leaf != w->leaf || !how->master)
            whole = t;
    }
    for (int step = 0; ok && step < STEPS; step++) {
        hn_descent_result result;
        ok = CHECK_OK(hn_descent_begin(descent)) && CHECK_OK(hn_descent_micro(descent, NULL)) &&
             CHECK_OK(hn_descent_finish(descent, rate, &result));
    }
    for (int i = 0; ok && i < 2; i++)
        ok = CHECK_OK(hn_storage_read(storage, leaves[i], 0, room[leaves[i] != w->leaf],
                                      hn_type_bytes(&leaves[i]->type)));
    *out = (outcome){ 0 };
    for (int i = 0; ok && i < N; i++) {
        out->moved -= (hn_get(&whole, i) - (double)begins(i)) * (double)slope(i) / N;
        out->changed += hn_get(&now, i) != (double)begins(i);
    }
    hn_descent_free(descent);
    return ok;
}

int main(int argc, char **argv)
{
    static const way f32 = { "f32", HN_F32, false, false };
    static const way lost = { "bf16 to nearest", HN_BF16, false, false };
    static const way by_chance = { "bf16 by chance", HN_BF16, true, false };
    static const way with_master = { "bf16 with an f32 master", HN_BF16, false, true };
    const double all = (double)rate * STEPS;
    outcome o;
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        check_group(f32.name);
        if (descend(&b, &f32, &o)) {
            CHECK_THAT(fabs(o.moved - all) < 0.01 * all, "moved %g, not %g", o.moved, all);
            CHECK_INT(N, o.changed);
        }
        check_group(lost.name); /* the failure itself: that the test would see it */
        if (descend(&b, &lost, &o)) {
            CHECK_THAT(o.moved == 0, "moved %g", o.moved);
            CHECK_INT(0, o.changed);
        }
        /* Three in four elements go one step of 2^-8. */
        check_group(by_chance.name);
        if (descend(&b, &by_chance, &o)) {
            CHECK_THAT(fabs(o.moved - all) < 0.05 * all, "moved %g, not %g", o.moved, all);
            CHECK_THAT(o.changed > N / 2, "%lld changed", (long long)o.changed);
        }
        check_group(with_master.name); /* 3e-3 is past the middle of a step: every copy has moved */
        if (descend(&b, &with_master, &o)) {
            CHECK_THAT(fabs(o.moved - all) < 0.01 * all, "moved %g, not %g", o.moved, all);
            CHECK_INT(N, o.changed);
        }
        bench_close(&b);
    }
    return check_close();
}
