/* What a step computes is counted for sizes that a plan was not made for: as many operations as the plan of that very size has, whatever
 * the goal; more for longer examples, for more labels, and where values are computed twice. */
#include "graph/plan_work.h"
#include "tests/failures/steps.h"

static bench b;
static hn_instance instance;
static hn_tuning *tuning;

typedef struct counted {
    double example, once;
} counted;

/* Of a learner that was planned for so many. `most` counts what its plan has at its bounds. */
static counted count(hn_goal goal, int recompute, int64_t max_tokens, int64_t max_rows, int64_t tokens, int64_t rows, double *most)
{
    hn_learner *l;
    hn_plan_work work;
    counted c = { 0 };
    const hn_learner_options o = { .objective = { .goal = goal, .kl_weight = 0.5f, .max_tokens = max_tokens, .max_rows = max_rows, .max_pairs = 1 },
                                   .descent = { .clip_norm = 1, .recompute_every = recompute } };
    if (!CHECK_OK(hn_learner_plan(&l, &b.heap, instance.model, tuning, hn_run_on(&b.env.one), &o)))
        return c;
    CHECK_OK(hn_learner_operations(l, tokens, rows, &c.example, &c.once));
    if (most && CHECK_OK(hn_plan_work_new(hn_descent_plan(hn_learner_descent(l)), &b.heap, NULL, &work))) {
        *most = work.all.flops;
        hn_plan_work_free(&work, &b.heap);
    }
    hn_learner_free(l);
    return c;
}

static void check_sizes(hn_goal goal, bool has_anchor)
{
    static const int64_t sizes[][2] = { { 2, 1 }, { 5, 5 }, { 12, 3 }, { 31, 30 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t tokens = sizes[i][0], rows = sizes[i][1];
        double most = 0;
        const counted own = count(goal, 0, tokens, rows, tokens, rows, &most), of_more = count(goal, 0, 64, 64, tokens, rows, NULL);
        CHECK_THAT(own.example > 0 && own.example == of_more.example, "%lld tokens, %lld rows: %.17g and %.17g operations", (long long)tokens,
                   (long long)rows, own.example, of_more.example);
        CHECK_THAT(has_anchor ? own.example > most : own.example == most, "%.17g operations, %.17g of its plan", own.example, most);
        CHECK_THAT(own.once == of_more.once && own.once >= (double)tuning->n_params * 14, "%.17g and %.17g once a step, %lld numbers by AdamW",
                   own.once, of_more.once, (long long)tuning->n_params);
    }
}

static void check_order(void)
{
    check_group("more");
    const counted few = count(HN_GOAL_SFT, 0, 64, 64, 12, 4, NULL), longer = count(HN_GOAL_SFT, 0, 64, 64, 24, 4, NULL),
                  labelled = count(HN_GOAL_SFT, 0, 64, 64, 12, 8, NULL), again = count(HN_GOAL_SFT, 1, 64, 64, 12, 4, NULL),
                  based = count(HN_GOAL_KL, 0, 64, 64, 12, 4, NULL), past = count(HN_GOAL_SFT, 0, 64, 64, 99, 99, NULL),
                  whole = count(HN_GOAL_SFT, 0, 64, 64, 64, 64, NULL);
    CHECK(longer.example > 1.5 * few.example);
    CHECK(labelled.example > few.example && again.example > few.example && based.example > few.example);
    CHECK(past.example == whole.example);
}

int main(int argc, char **argv)
{
    static const char *const archs[] = { "llama", "gemma3" };
    check_open(argc, argv);
    if (!bench_open(&b))
        return check_close();
    for (size_t a = 0; a < sizeof archs / sizeof *archs; a++) {
        hn_instance_spec spec = steps_dense;
        check_group(archs[a]);
        if (!CHECK_OK(hn_arch_named(archs[a], &spec.arch)) || !CHECK_OK(hn_instance_open(&instance, &b.heap, &spec)) ||
            !CHECK_OK(hn_instance_tune(&instance, &tuning)))
            break;
        check_sizes(HN_GOAL_SFT, false);
        check_sizes(HN_GOAL_KL, false);
        check_sizes(HN_GOAL_DPO, false);
        check_sizes(HN_GOAL_KTO, true);
        check_order();
        hn_tuning_free(tuning);
        hn_instance_close(&instance);
    }
    bench_close(&b);
    return check_close();
}
