/* One way is the base: every node its own memory, one thread, one micro-batch, nothing recomputed.
 * Loss, gradients and updated weights of every other way must have its bits. A device of another backend has a base of its own,
 * which must be the CPU's where it promises that. */
#include "prove/check_model.h"

#include <stdio.h>

static hn_status compare(hn_prove_env *env, hn_instance *instance, hn_check_kind kind,
                         const char *what, const hn_model_way *way, const hn_model_outcome *base)
{
    hn_model_outcome got;
    const hn_status status = hn_model_run(instance, way, &got);
    if (hn_is_no_answer(status))
        return status;
    if (status != HN_OK) {
        hn_report_note(env->report, instance->spec.name, kind, 1, 0, "%s: %s", what, hn_error_message());
        return HN_OK;
    }
    int which = 0;
    int64_t element = 0;
    char name[64];
    const bool same = hn_same_results(&base->values, &got.values, &which, &element);
    hn_model_value_name(base, which, name, sizeof name);
    if (same)
        hn_report_note(env->report, instance->spec.name, kind, 0, 0, "%s", what);
    else
        hn_report_note(env->report, instance->spec.name, kind, 1, 0,
                       "%s: %s, element %lld: %.9g where a separate run gives %.9g", what, name,
                       (long long)element, hn_get(&got.values.at[which], element),
                       hn_get(&base->values.at[which], element));
    hn_results_free(&got.values);
    return HN_OK;
}

static hn_status check_plans(hn_prove_env *env, hn_instance *instance,
                             const hn_model_outcome *base)
{
    static const hn_plan_mode modes[] = { HN_PLAN_REUSE, HN_PLAN_INPLACE, HN_PLAN_POISON };
    for (int m = 0; m < 3; m++) {
        const hn_model_way way = { .n_devices = 1, .devices = &env->one, .mode = modes[m] };
        HN_TRY(compare(env, instance, HN_CHECK_PLANS, hn_plan_mode_name(modes[m]), &way, base));
    }
    return HN_OK;
}

static hn_status check_devices(hn_prove_env *env, hn_instance *instance,
                               const hn_model_outcome *base)
{
    char text[64];
    for (int i = 0; i < env->n_threads; i++) {
        const hn_model_way way = { .n_devices = 1, .devices = &env->threads[i],
                                   .shuffle = i % 2 ? 0 : env->seed + 1 };
        snprintf(text, sizeof text, "%d threads", env->threads[i]->n_threads);
        HN_TRY(compare(env, instance, HN_CHECK_THREADS, text, &way, base));
    }
    for (int i = 0; i < env->n_levels; i++) {
        const hn_model_way way = { .n_devices = 1, .devices = &env->levels[i] };
        env->levels[i]->backend->describe(env->levels[i], text, sizeof text);
        HN_TRY(compare(env, instance, HN_CHECK_LEVELS, text, &way, base));
    }
    const hn_model_way pair = { .n_devices = 2, .devices = env->pair, .mode = HN_PLAN_POISON };
    return compare(env, instance, HN_CHECK_DEVICES, "layers on two devices", &pair, base);
}

static hn_status check_recompute(hn_prove_env *env, hn_instance *instance,
                                 const hn_model_outcome *base)
{
    for (int every = 1; every <= 3; every++) {
        char text[64];
        const hn_model_way way = { .n_devices = 1, .devices = &env->one,
                                   .mode = every == 1 ? HN_PLAN_POISON : HN_PLAN_INPLACE,
                                   .recompute_every = every };
        snprintf(text, sizeof text, "every %d layers kept", every);
        HN_TRY(compare(env, instance, HN_CHECK_RECOMPUTE, text, &way, base));
    }
    return HN_OK;
}

/* Micro-batches as small as they can be, and of some sequences. */
static hn_status check_cuts(hn_prove_env *env, hn_instance *instance, const hn_model_outcome *base)
{
    char text[64];
    const hn_batch *batch = &instance->batch;
    int64_t longest = 1;
    for (size_t i = 0; i < batch->n_examples; i++)
        longest = batch->tokens[i] > longest ? batch->tokens[i] : longest;
    const int64_t sizes[] = { longest, longest + 2, ((int64_t)batch->n_tokens + longest) / 2 };
    for (int i = 0; i < 3 && batch->n_examples > 1; i++) {
        const hn_model_way way = { .n_devices = 1, .devices = &env->one, .micro = sizes[i],
                                   .recompute_every = i % 2, .mode = i % 2 ? HN_PLAN_POISON : HN_PLAN_INPLACE };
        snprintf(text, sizeof text, "%lld tokens a micro-batch%s", (long long)sizes[i],
                 i % 2 ? ", recomputed, poisoned" : "");
        HN_TRY(compare(env, instance, HN_CHECK_MICRO_BATCHES, text, &way, base));
    }
    return HN_OK;
}

static hn_status check_promise(hn_prove_env *env, hn_instance *instance, const hn_model_outcome *base)
{
    const hn_model_way way = { .n_devices = 1, .devices = &env->cpu, .mode = HN_PLAN_SEPARATE };
    return env->cpu && env->one->backend->gives_cpu_bits ? compare(env, instance, HN_CHECK_DEVICES, "the CPU", &way, base) : HN_OK;
}

static hn_status check(hn_prove_env *env, hn_instance *instance)
{
    const hn_model_way way = { .n_devices = 1, .devices = &env->one, .mode = HN_PLAN_SEPARATE };
    hn_model_outcome base;
    HN_TRY(hn_model_run(instance, &way, &base));
    hn_report_note(env->report, instance->spec.name, HN_CHECK_RUNS, 0, 0, "%d tensors", base.n_params);
    hn_status status = hn_check_model_gradient(env, instance, &base);
    if (status == HN_OK)
        status = check_promise(env, instance, &base);
    if (status == HN_OK)
        status = check_plans(env, instance, &base);
    if (status == HN_OK)
        status = check_devices(env, instance, &base);
    if (status == HN_OK)
        status = check_recompute(env, instance, &base);
    if (status == HN_OK)
        status = check_cuts(env, instance, &base);
    hn_results_free(&base.values);
    return status;
}

hn_status hn_check_model(hn_prove_env *env, const hn_instance_spec *spec)
{
    hn_instance instance;
    hn_status status = hn_instance_open(&instance, env->heap, spec);
    if (status == HN_OK)
        status = check(env, &instance);
    for (int i = 0; i < env->n_others && status == HN_OK; i++) {
        hn_prove_env on = hn_prove_on_begin(env, i);
        status = check(&on, &instance);
        if (status != HN_OK && !hn_is_no_answer(status)) {
            hn_report_note(env->report, spec->name, HN_CHECK_RUNS, 1, 0, "%s", hn_error_message());
            status = HN_OK;
        }
        hn_prove_on_end(&on);
    }
    hn_instance_close(&instance);
    if (status == HN_OK || hn_is_no_answer(status))
        return status;
    hn_report_note(env->report, spec->name, HN_CHECK_RUNS, 1, 0, "%s", hn_error_message());
    return HN_OK;
}
