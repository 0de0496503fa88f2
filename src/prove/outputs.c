/* What nobody reads of an op has no memory (op.h), so that each op has to ask for every output but its first. Here every
 * choice of outputs is read in turn, by the meaning in double and by kernels on one thread, on several, and at every
 * level: what is read has the bits that it has beside all the others. */
#include "prove/check_op.h"

#include <stdio.h>
#include <string.h>

/* The outputs of `mask` that there are, in their order. */
typedef struct choice {
    int n, which[HN_MAX_OUT];
    hn_node *wanted[HN_MAX_OUT];
    char text[64];
} choice;

static choice choose(const hn_trial *t, unsigned mask)
{
    choice c = { 0 };
    size_t at = 0;
    for (int o = 0; o < t->n_outputs; o++)
        if (mask >> o & 1) {
            c.which[c.n] = o;
            c.wanted[c.n++] = t->wanted[o];
            at += (size_t)snprintf(c.text + at, sizeof c.text - at, " %d", o);
        }
    return c;
}

static hn_status meaning(const hn_trial *t, int n, hn_node *const *wanted, hn_oracle **out)
{
    HN_TRY(hn_oracle_new(out, t->g, n, wanted));
    hn_status status = hn_trial_give(t, *out);
    if (status == HN_OK)
        status = hn_oracle_run(*out, false, NULL);
    return status;
}

static void check_meaning(hn_prove_env *env, const hn_trial *t, const choice *c, const hn_oracle *all, const hn_oracle *own)
{
    for (int k = 0; k < c->n; k++) {
        const hn_tensor *want = hn_oracle_value(all, c->wanted[k]), *got = hn_oracle_value(own, c->wanted[k]);
        const bool same = !memcmp(want->data, got->data, hn_type_bytes(&want->type));
        hn_report_note(env->report, t->c->op->name, HN_CHECK_OUTPUTS, !same, 0, "%s: in double, output %d, reading%s alone",
                       t->c->text, c->which[k], c->text);
    }
}

static hn_status check_kernels(hn_prove_env *env, const hn_trial *t, const choice *c, hn_device **on, const hn_results *all)
{
    char device[64];
    hn_run_setup setup = { .n_devices = 1, .devices = on, .mode = HN_PLAN_POISON };
    hn_results got;
    (*on)->backend->describe(*on, device, sizeof device);
    HN_TRY(hn_run_graph(t->g, c->n, c->wanted, &t->values, &setup, &got));
    hn_tensor chosen[HN_MAX_OUT];
    for (int k = 0; k < c->n; k++)
        chosen[k] = all->at[c->which[k]];
    const hn_results want = { .n = c->n, .at = chosen };
    int which = 0;
    int64_t element = 0;
    const bool same = hn_same_results(&want, &got, &which, &element);
    hn_report_note(env->report, t->c->op->name, HN_CHECK_OUTPUTS, !same, 0,
                   "%s: %s, output %d, element %lld, reading%s alone: %.9g where reading all gives %.9g", t->c->text, device,
                   c->which[which], (long long)element, c->text, hn_get(&got.at[which], element),
                   hn_get(&chosen[which], element));
    hn_results_free(&got);
    return HN_OK;
}

static hn_status check_choice(hn_prove_env *env, const hn_trial *t, const choice *c, const hn_oracle *all,
                              const hn_results *results)
{
    hn_oracle *own = NULL;
    hn_status status = meaning(t, c->n, c->wanted, &own);
    if (status == HN_OK)
        check_meaning(env, t, c, all, own);
    hn_oracle_free(own);
    if (status == HN_OK)
        status = check_kernels(env, t, c, &env->one, results);
    if (status == HN_OK && env->n_threads)
        status = check_kernels(env, t, c, &env->threads[0], results);
    for (int i = 0; i < env->n_levels && status == HN_OK; i++)
        status = check_kernels(env, t, c, &env->levels[i], results);
    return status;
}

static hn_status check_choices(hn_prove_env *env, const hn_trial *t)
{
    hn_run_setup setup = { .n_devices = 1, .devices = &env->one, .mode = HN_PLAN_SEPARATE };
    hn_results results;
    HN_TRY(hn_run_graph(t->g, t->n_outputs, t->wanted, &t->values, &setup, &results));
    hn_oracle *all = NULL;
    hn_status status = meaning(t, t->n_outputs, t->wanted, &all);
    for (unsigned mask = 1; mask + 1 < 1u << t->n_outputs && status == HN_OK; mask++) {
        const choice c = choose(t, mask);
        status = check_choice(env, t, &c, all, &results);
    }
    hn_oracle_free(all);
    hn_results_free(&results);
    return status;
}

hn_status hn_check_outputs(hn_prove_env *env, const hn_case *c)
{
    const hn_trial_options plain = { 0 };
    hn_trial t;
    HN_TRY(hn_trial_new(&t, env->heap, c, env->seed, &plain));
    const hn_status status = t.n_outputs > 1 ? check_choices(env, &t) : HN_OK;
    hn_trial_free(&t);
    return status;
}
