/* Angles are made once a step and kind of layer, whatever reads them: queries, keys, their gradients, a second
 * build of the model beside the first, layers on another device; where layers are computed again, once more. And
 * every layer turns by its own kind's. */
#include "nn/rounding.h"
#include "ops/rope_table.h"
#include "tests/failures/steps.h"

static bench b;
static hn_instance instance;
static hn_tuning *tuning;

/* A model of `n_kinds` kinds of layers. */
typedef struct kind_of_model {
    const char *arch;
    int n_kinds;
    int64_t window;
} kind_of_model;

static int count(const hn_plan *plan, const hn_op *op)
{
    int n = 0;
    for (int i = 0; i < plan->n_steps; i++)
        n += plan->steps[i].op == op;
    return n;
}

static void check_plan(const kind_of_model *of, hn_goal goal, int recompute, hn_run_spec run)
{
    hn_learner *l;
    const hn_learner_options o = { .objective = { .goal = goal, .kl_weight = 0.5f, .max_tokens = 16, .max_rows = 16, .max_pairs = 1 },
                                   .descent = { .clip_norm = 1, .recompute_every = recompute } };
    if (!CHECK_OK(hn_learner_plan(&l, &b.heap, instance.model, tuning, run, &o)))
        return;
    const hn_plan *plan = hn_descent_plan(hn_learner_descent(l));
    CHECK_INT(of->n_kinds * (recompute ? 2 : 1), count(plan, &hn_op_rope_angles));
    CHECK(count(plan, &hn_op_rope) >= 2 * 2 * (int)hn_model_hparams(instance.model)->n_layer); /* q and k, there and back */
    hn_learner_free(l);
}

/* The angles of the first build's layers: queries and keys come layer by layer. */
static void check_kinds(void)
{
    hn_learner *l;
    const hn_hparams *hp = hn_model_hparams(instance.model);
    const hn_learner_options o = { .objective = { .max_tokens = 16, .max_rows = 16 }, .descent = { .clip_norm = 1 } };
    if (!CHECK_OK(hn_learner_plan(&l, &b.heap, instance.model, tuning, hn_run_on(&b.env.one), &o)))
        return;
    const hn_graph *g = hn_descent_plan(hn_learner_descent(l))->g;
    int n = 0;
    for (int i = 0; i < g->n_applies && n < 2 * hp->n_layer; i++) {
        if (g->applies[i]->op != &hn_op_rope)
            continue;
        const int layer = n++ / 2;
        const hn_rope_spec *spec = g->applies[i]->in[1]->by->attrs;
        const double own = hp->is_sliding[layer] && hp->rope_base_swa > 0 ? hp->rope_base_swa : hp->rope_base;
        CHECK_THAT(spec->base == (float)own, "layer %d turns by base %g, its own is %g", layer, (double)spec->base, own);
    }
    CHECK_INT(2 * hp->n_layer, n);
    hn_learner_free(l);
}

/* Of one build: what differs in the spec or its divisors is another's. */
static void check_distinct(void)
{
    check_group("distinct");
    const hn_rope_spec one = { .width = 8, .base = 500 }, other = { .width = 8, .base = 501 };
    const nn_build_options o = { .max_tokens = 4 };
    hn_hparams *hp = hn_alloc(&b.heap, HN_TAG_PROVE, sizeof *hp);
    hn_graph *g = bench_graph(&b);
    hn_node *x = bench_leaf(&b, HN_LEAF_INPUT, "x", 3, 4, 2, 8);
    hn_node *d[3] = { NULL, bench_leaf(&b, HN_LEAF_WEIGHT, "d1", 1, 4, 0, 0), bench_leaf(&b, HN_LEAF_WEIGHT, "d2", 1, 4, 0, 0) };
    nn_build build = { 0 };
    if (!CHECK(hp != NULL))
        return;
    nn_build_begin(&build, g, hp, &o);
    build.positions = hn_graph_ints(g, 4, (int32_t[]){ 0, 1, 2, 3 });
    const hn_node *angles[6];
    for (int i = 0; i < 12; i++) { /* each twice */
        const hn_node *y = nn_rope(&build, x, d[i % 3], i % 6 < 3 ? &one : &other);
        if (!CHECK_OK(hn_graph_finish(g)))
            break;
        if (i < 6)
            angles[i] = y->by->in[1];
        CHECK(y->by->in[1] == angles[i % 6] && y->by->in[1]->by->in[1] == d[i % 3]);
        for (int j = 0; j < i && i < 6; j++)
            CHECK(angles[i] != angles[j]);
    }
    hn_free(&b.heap, hp);
}

static void check_model(const kind_of_model *of)
{
    hn_instance_spec spec = steps_dense;
    spec.n_layer = 7; /* gemma 3: six of a window, and one that sees all */
    spec.window = of->window;
    check_group(of->arch);
    if (!CHECK_OK(hn_arch_named(of->arch, &spec.arch)) || !CHECK_OK(hn_instance_open(&instance, &b.heap, &spec)) ||
        !CHECK_OK(hn_instance_tune(&instance, &tuning)))
        return;
    const hn_run_spec one = hn_run_on(&b.env.one), two = { .n_devices = 2, .devices = b.env.pair, .numerics = HN_NUMERICS_F32 };
    for (int recompute = 0; recompute <= 3; recompute++) {
        check_plan(of, HN_GOAL_SFT, recompute, one);
        check_plan(of, HN_GOAL_KL, recompute, one);
        check_plan(of, HN_GOAL_SFT, recompute, two);
    }
    check_kinds();
    hn_tuning_free(tuning);
    hn_instance_close(&instance);
}

int main(int argc, char **argv)
{
    static const kind_of_model models[] = { { "llama", 1, 0 }, { "gemma3", 2, 4 } };
    check_open(argc, argv);
    if (!bench_open(&b))
        return check_close();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check_model(&models[i]);
    check_distinct();
    bench_close(&b);
    return check_close();
}
