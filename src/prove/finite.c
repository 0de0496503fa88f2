/* What must be finite and is not (hn_op.finite): every way of running refuses it, and names the row. */
#include "prove/check_op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two rows at once: the first of them is named, whichever is met first. */
typedef struct planted {
    int64_t row, other;
    double value;
} planted;

static void plant(const hn_tensor *t, const planted *p)
{
    const int64_t n = hn_last_dim(&t->type);
    hn_set(t, p->row * n + n - 1, p->value);
    hn_set(t, p->other * n, NAN);
}

static void expect(hn_prove_env *env, const hn_trial *t, const planted *p, hn_device *const *device, const char *how)
{
    hn_results got;
    hn_run_setup setup = { .n_devices = 1, .devices = device, .mode = HN_PLAN_INPLACE };
    char named[64];
    snprintf(named, sizeof named, ": row %lld of ", (long long)p->row);
    const hn_status status = hn_run_graph(t->g, t->n_wanted, t->wanted, &t->values, &setup, &got);
    const bool refuses = status == HN_ERR_NUMERIC && strstr(hn_error_message(), named);
    hn_report_note(env->report, t->c->op->name, HN_CHECK_FINITE, refuses ? 0 : 1, 0, "%s: %s: %g in row %lld: %s", t->c->text, how,
                   p->value, (long long)p->row, status == HN_OK ? "it ran" : hn_error_message());
    if (status == HN_OK)
        hn_results_free(&got);
}

static void check_devices(hn_prove_env *env, const hn_trial *t, const planted *p)
{
    char text[64];
    expect(env, t, p, &env->one, "one thread");
    for (int i = 0; i < env->n_threads; i++) {
        snprintf(text, sizeof text, "%d threads", env->threads[i]->n_threads);
        expect(env, t, p, &env->threads[i], text);
    }
    for (int i = 0; i < env->n_levels; i++) {
        env->levels[i]->backend->describe(env->levels[i], text, sizeof text);
        expect(env, t, p, &env->levels[i], text);
    }
}

static hn_status check_value(hn_prove_env *env, const hn_case *c, const hn_trial_options *options, const planted *p)
{
    hn_trial t;
    HN_TRY(hn_trial_new(&t, env->heap, c, env->seed, options));
    plant(&t.values.at[t.leaf[c->op->finite - 1]->leaf->id], p);
    check_devices(env, &t, p);
    hn_trial_free(&t);
    return HN_OK;
}

hn_status hn_check_finite(hn_prove_env *env, const hn_case *c)
{
    const int input = c->op->finite - 1;
    if (input < 0)
        return HN_OK;
    const int64_t rows = hn_rows(&c->in[input].type);
    static const double values[] = { NAN, INFINITY, -INFINITY };
    for (int i = 0; i < 3; i++) {
        const planted p = { .row = i * (rows - 1) / 2, .other = rows - 1, .value = values[i] };
        const hn_trial_options plain = { 0 };
        HN_TRY(check_value(env, c, &plain, &p));
    }
    return HN_OK;
}
