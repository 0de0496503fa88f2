/* All in double: the backward's gradient against differences of the forward, element by element,
 * sampled where a tensor is large; then the f32 run against the double values. */
#include "base/rng.h"
#include "prove/check_op.h"
#include "prove/oracle.h"

#include <math.h>

enum { SAMPLES = 12, REDRAWS = 8 };

static const double step = 2e-4;
static const double gradient_bound = 1e-6;

/* The loss with one element moved by `by`. */
static hn_status loss_at(hn_oracle *o, const hn_trial *t, hn_tensor *x, int64_t i, double by,
                         double *loss, bool *moved)
{
    bool choice;
    const double old = hn_get(x, i);
    hn_set(x, i, old + by);
    HN_TRY(hn_oracle_run(o, true, &choice));
    *loss = hn_get(hn_oracle_value(o, t->loss), 0);
    hn_set(x, i, old);
    *moved = *moved || choice;
    return HN_OK;
}

static hn_status slope(hn_oracle *o, const hn_trial *t, hn_tensor *x, int64_t i, double *out,
                       bool *moved)
{
    double f[4];
    static const double at[4] = { -2, -1, 1, 2 };
    for (int k = 0; k < 4; k++)
        HN_TRY(loss_at(o, t, x, i, at[k] * step, &f[k], moved));
    *out = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step);
    return HN_OK;
}

static double largest(const hn_tensor *t)
{
    double most = 0;
    for (int64_t i = 0; i < hn_count(&t->type); i++)
        if (!(fabs(hn_get(t, i)) <= most))
            most = fabs(hn_get(t, i));
    return most;
}

/* Compares one input's gradient. A discrete choice that changed asks for other data. */
static hn_status check_input(hn_prove_env *env, const hn_trial *t, hn_oracle *forward,
                             const hn_tensor *gradient, int p, bool *moved)
{
    hn_tensor *x = hn_oracle_leaf(forward, t->leaf[t->param[p]]->leaf);
    const int64_t n = hn_count(&x->type);
    const double scale = largest(gradient) + 1e-3;
    const hn_rng_key key = hn_rng_seed(env->seed + (uint64_t)p);
    for (int64_t k = 0; k < n && k < SAMPLES; k++) {
        const int64_t i = n <= SAMPLES ? k : hn_rng_below(key, (uint64_t)k, (uint32_t)n);
        double want;
        HN_TRY(slope(forward, t, x, i, &want, moved));
        if (*moved)
            return HN_OK;
        hn_report_note(env->report, t->c->op->name, HN_CHECK_GRADIENT,
                       fabs(want - hn_get(gradient, i)) / scale, gradient_bound,
                       "%s: input %d, element %lld: %.10g where differences give %.10g",
                       t->c->text, t->param[p], (long long)i, hn_get(gradient, i), want);
    }
    return HN_OK;
}

static double width_factor(const hn_trial *t)
{
    double factor = 1; /* what narrower types round away, over f32's bound */
    for (int i = 0; i < t->g->n_applies; i++) {
        const hn_apply *a = t->g->applies[i];
        if (a->op->rounding)
            factor = fmax(factor, a->op->rounding(a->attrs) * 1e6);
        for (int o = 0; o < a->n_out; o++) {
            const hn_dtype dtype = a->out[o]->type.dtype;
            const double own = dtype == HN_BF16      ? 0x1p-7
                               : dtype == HN_F16     ? 0x1p-10
                               : hn_is_block(dtype) ? hn_dtype_format(dtype)->error_bound
                                                     : 0;
            if (own > factor * 1e-6)
                factor = own * 1e6;
        }
    }
    return factor;
}

/* What the terms of every output amount to at most. */
static hn_status weigh_terms(const hn_trial *t, double terms[HN_MAX_OUT])
{
    hn_oracle *o;
    HN_TRY(hn_oracle_new(&o, t->g, t->n_outputs, t->wanted));
    hn_status status = hn_trial_give(t, o);
    for (int n = 0; n < t->g->n_leaves && status == HN_OK; n++) {
        hn_tensor *leaf = hn_oracle_leaf(o, t->g->leaves[n]);
        for (int64_t i = 0; leaf && leaf->type.dtype == HN_F64 && i < hn_count(&leaf->type); i++)
            hn_set(leaf, i, fabs(hn_get(leaf, i)));
    }
    if (status == HN_OK)
        status = hn_oracle_run(o, false, NULL);
    for (int r = 0; r < t->n_outputs && status == HN_OK; r++)
        terms[r] = largest(hn_oracle_value(o, t->wanted[r]));
    hn_oracle_free(o);
    return status;
}

static hn_status check_precision(hn_prove_env *env, const hn_trial *t, const hn_oracle *o)
{
    double terms[HN_MAX_OUT] = { 0 };
    const hn_op *op = t->c->op;
    if (op->sums_products && op->rounding && op->rounding(t->wanted[0]->by->attrs) > 0)
        HN_TRY(weigh_terms(t, terms));
    hn_results got;
    hn_run_setup setup = { .n_devices = 1, .devices = &env->one, .mode = HN_PLAN_SEPARATE };
    HN_TRY(hn_run_graph(t->g, t->n_wanted, t->wanted, &t->values, &setup, &got));
    const double own = t->c->op->tolerance > 0 ? t->c->op->tolerance : 1e-6;
    const double factor = width_factor(t);
    for (int r = 0; r < t->n_wanted; r++) {
        const hn_tensor *want = hn_oracle_value(o, t->wanted[r]);
        const bool is_float = hn_is_float(want->type.dtype);
        /* What is left where terms of order one cancel is measured against those terms. */
        const double all = fmax(largest(want), r < t->n_outputs ? terms[r] : 0);
        const double scale = is_float ? all + (r < t->n_outputs ? 0.03 : 0.1) : 1;
        const double kernel = r < t->n_outputs ? own : 8 * fmax(own, 1e-6);
        /* A gradient passes through several roundings to the narrow type. */
        const double narrow = factor * (r < t->n_outputs ? 1e-6 : 4e-6);
        const double bound = factor > 1 ? fmax(kernel, narrow) : kernel;
        double worst = 0;
        int64_t at = 0;
        for (int64_t i = 0; i < hn_count(&want->type); i++) {
            const double a = hn_get(&got.at[r], i), b = hn_get(want, i);
            const double error = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b) / scale;
            if (!(error <= worst)) {
                worst = error;
                at = i;
            }
        }
        hn_report_note(env->report, t->c->op->name, HN_CHECK_PRECISION, worst, is_float ? bound : 0,
                       "%s: %s %d, element %lld: %.9g where double gives %.9g", t->c->text,
                       r < t->n_outputs ? "output" : "gradient", r, (long long)at,
                       hn_get(&got.at[r], at), hn_get(want, at));
    }
    hn_results_free(&got);
    return HN_OK;
}

static hn_status check_differences(hn_prove_env *env, const hn_trial *t, const hn_oracle *full,
                                   bool *moved)
{
    hn_oracle *forward = NULL;
    hn_node *loss = t->loss;
    HN_TRY(hn_oracle_new(&forward, t->g, 1, &loss));
    hn_status status = hn_trial_give(t, forward);
    if (status == HN_OK)
        status = hn_oracle_run(forward, false, NULL);
    for (int p = 0; p < t->n_params && status == HN_OK && !*moved; p++)
        status = check_input(env, t, forward,
                             hn_oracle_value(full, t->wanted[t->n_outputs + p]), p, moved);
    hn_oracle_free(forward);
    return status;
}

static hn_status check_once(hn_prove_env *env, const hn_trial *t, bool *moved)
{
    hn_oracle *full = NULL;
    *moved = false;
    HN_TRY(hn_oracle_new(&full, t->g, t->n_wanted, t->wanted));
    hn_status status = hn_trial_give(t, full);
    if (status == HN_OK)
        status = hn_oracle_run(full, false, NULL);
    if (status == HN_OK && t->loss)
        status = check_differences(env, t, full, moved);
    if (status == HN_OK && !*moved)
        status = check_precision(env, t, full);
    for (int i = 0; i < env->n_others && status == HN_OK && !*moved; i++) {
        hn_prove_env on = hn_prove_on_begin(env, i);
        status = check_precision(&on, t, full);
        hn_prove_on_end(&on);
    }
    hn_oracle_free(full);
    return status;
}

hn_status hn_check_gradient(hn_prove_env *env, const hn_case *c)
{
    const hn_trial_options options = { .with_gradients = true };
    for (int draw = 0; draw < REDRAWS; draw++) {
        hn_trial t;
        bool moved;
        HN_TRY(hn_trial_new(&t, env->heap, c, env->seed + 1000 * (uint64_t)draw, &options));
        const hn_status status = check_once(env, &t, &moved);
        hn_trial_free(&t);
        if (status != HN_OK || !moved)
            return status;
    }
    return hn_fail(HN_ERR_PROOF, "%s: no data found that is clear of ties", c->text);
}
