/* A cache that is read, gets a row, is read, gets another, is read: each reader must see its own
 * version, under every plan. */
#include "prove/check_state.h"

#include "ops/ops.h"
#include "prove/runner.h"

enum { ROWS = 4, WIDTH = 3, READS = 3 };

static void build(hn_graph *g, hn_node *wanted[READS])
{
    hn_node *cache = hn_graph_leaf(g, HN_LEAF_STATE, "cache", HN_F32, 2, (int64_t[]){ ROWS, WIDTH });
    wanted[0] = hn_scale(g, cache, 2, 0);
    for (int i = 1; i < READS; i++) {
        const float row[WIDTH] = { (float)i, (float)(10 * i), (float)(100 * i) };
        const hn_type type = { .dtype = HN_F32, .rank = 2, .dim = { 1, WIDTH },
                               .stride = { 4 * WIDTH, 4 } };
        hn_node *x = hn_graph_constant(g, "row", &type, row);
        cache = hn_apply_named(g, "set_rows", NULL, 3,
                               (hn_node *[]){ cache, x, hn_graph_ints(g, 1, (int32_t[]){ i }) });
        wanted[i] = hn_scale(g, cache, 2, 0);
    }
}

/* Twice the zeros of the fresh cache, and twice each row once it is there. */
static bool is_right(const hn_results *got)
{
    static const float digit[WIDTH] = { 1, 10, 100 };
    for (int read = 0; read < READS; read++)
        for (int64_t row = 0; row < ROWS; row++)
            for (int64_t i = 0; i < WIDTH; i++) {
                const double want = row >= 1 && row <= read ? 2.0 * (double)row * (double)digit[i] : 0;
                if (hn_get(&got->at[read], row * WIDTH + i) != want)
                    return false;
            }
    return true;
}

static hn_status check_plan(hn_prove_env *env, hn_plan_mode mode, const hn_leaf_values *values,
                            const hn_graph *g, hn_node *const *wanted)
{
    hn_run_setup setup = { .n_devices = 1, .devices = &env->one, .mode = mode };
    hn_results got;
    const hn_status status = hn_run_graph(g, READS, wanted, values, &setup, &got);
    if (hn_is_no_answer(status))
        return status;
    const bool right = status == HN_OK && is_right(&got);
    hn_report_note(env->report, "state", HN_CHECK_STATES, right ? 0 : 1, 0, "%s: %s",
                   hn_plan_mode_name(mode), status == HN_OK ? "a cache read, updated, read again"
                                                            : hn_error_message());
    hn_results_free(&got);
    return HN_OK;
}

hn_status hn_check_state(hn_prove_env *env)
{
    hn_graph *g;
    hn_node *wanted[READS];
    hn_leaf_values values = { 0 };
    HN_TRY(hn_graph_new(&g, env->heap));
    build(g, wanted);
    hn_status status = hn_graph_finish(g);
    if (status == HN_OK)
        status = hn_leaf_values_new(&values, g);
    for (int mode = 0; mode < HN_N_PLAN_MODES && status == HN_OK; mode++)
        status = check_plan(env, (hn_plan_mode)mode, &values, g, wanted);
    hn_leaf_values_free(&values, env->heap);
    hn_graph_free(g);
    return status;
}
