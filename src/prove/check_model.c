/* One way is the base: every node its own memory, one thread, one micro-batch, nothing recomputed.
 * Loss, gradients and updated weights of every other way must have its bits. */
#include "prove/check_model.h"

#include <stdio.h>

static hn_status compare(hn_prove_env *env, const hn_model_spec *spec, const char *kind,
                         const char *what, const hn_model_way *way, const hn_model_outcome *base)
{
    hn_model_outcome got;
    const hn_status status = hn_model_run(env->heap, spec, way, &got);
    if (status == HN_ERR_MEMORY)
        return status;
    if (status != HN_OK) {
        hn_report_note(env->report, spec->name, kind, 1, 0, "%s: %s", what, hn_error_message());
        return HN_OK;
    }
    int which = 0;
    int64_t element = 0;
    char name[64];
    const bool same = hn_same_results(&base->values, &got.values, &which, &element);
    hn_model_value_name(base, which, name, sizeof name);
    if (same)
        hn_report_note(env->report, spec->name, kind, 0, 0, "%s", what);
    else
        hn_report_note(env->report, spec->name, kind, 1, 0,
                       "%s: %s, element %lld: %.9g where a separate run gives %.9g", what, name,
                       (long long)element, hn_get(&got.values.at[which], element),
                       hn_get(&base->values.at[which], element));
    hn_results_free(&got.values);
    return HN_OK;
}

static hn_status check_plans(hn_prove_env *env, const hn_model_spec *spec,
                             const hn_model_outcome *base)
{
    static const hn_plan_mode modes[] = { HN_PLAN_REUSE, HN_PLAN_INPLACE, HN_PLAN_POISON };
    for (int m = 0; m < 3; m++) {
        const hn_model_way way = { .n_devices = 1, .devices = &env->one, .mode = modes[m] };
        HN_TRY(compare(env, spec, "plans", hn_plan_mode_name(modes[m]), &way, base));
    }
    return HN_OK;
}

static hn_status check_devices(hn_prove_env *env, const hn_model_spec *spec,
                               const hn_model_outcome *base)
{
    char text[64];
    for (int i = 0; i < env->n_threads; i++) {
        const hn_model_way way = { .n_devices = 1, .devices = &env->threads[i],
                                   .shuffle = i % 2 ? 0 : env->seed + 1 };
        snprintf(text, sizeof text, "%d threads", env->threads[i]->n_threads);
        HN_TRY(compare(env, spec, "threads", text, &way, base));
    }
    for (int i = 0; i < env->n_levels; i++) {
        const hn_model_way way = { .n_devices = 1, .devices = &env->levels[i] };
        env->levels[i]->backend->describe(env->levels[i], text, sizeof text);
        HN_TRY(compare(env, spec, "levels", text, &way, base));
    }
    const hn_model_way pair = { .n_devices = 2, .devices = env->pair, .mode = HN_PLAN_POISON };
    return compare(env, spec, "devices", "layers on two devices", &pair, base);
}

static hn_status check_recompute(hn_prove_env *env, const hn_model_spec *spec,
                                 const hn_model_outcome *base)
{
    for (int every = 1; every <= 3; every++) {
        char text[64];
        const hn_model_way way = { .n_devices = 1, .devices = &env->one,
                                   .mode = every == 1 ? HN_PLAN_POISON : HN_PLAN_INPLACE,
                                   .recompute_every = every };
        snprintf(text, sizeof text, "every %d layers kept", every);
        HN_TRY(compare(env, spec, "recompute", text, &way, base));
    }
    return HN_OK;
}

static hn_status check_cuts(hn_prove_env *env, const hn_model_spec *spec,
                            const hn_model_outcome *base)
{
    char text[64];
    for (int size = 1; size <= 2 && size < spec->n_sequences; size++) {
        hn_model_way way = { .n_devices = 1, .devices = &env->one };
        for (int m = 0, left = spec->n_sequences; left > 0; m++, left -= size)
            way.cut[m] = left < size ? left : size;
        snprintf(text, sizeof text, "%d sequence%s a micro-batch", size, size > 1 ? "s" : "");
        HN_TRY(compare(env, spec, "micro-batches", text, &way, base));
    }
    if (spec->n_sequences < 3)
        return HN_OK;
    hn_model_way ragged = { .n_devices = 1, .devices = &env->one, .recompute_every = 1,
                            .mode = HN_PLAN_POISON, .cut = { 1, spec->n_sequences - 1 } };
    return compare(env, spec, "micro-batches", "ragged, recomputed, poisoned", &ragged, base);
}

/* The bits of the same weights in plain rows. */
static hn_status check_layouts(hn_prove_env *env, const hn_model_spec *spec,
                               const hn_model_outcome *base)
{
    hn_model_spec plain = *spec;
    const hn_model_way way = { .n_devices = 1, .devices = &env->one };
    plain.o.pack = HN_LAYOUT_PLAIN;
    return spec->o.pack == HN_LAYOUT_PLAIN
               ? HN_OK
               : compare(env, &plain, "layouts", "in plain rows", &way, base);
}

hn_status hn_check_model(hn_prove_env *env, const hn_model_spec *spec)
{
    const hn_model_way way = { .n_devices = 1, .devices = &env->one, .mode = HN_PLAN_SEPARATE };
    hn_model_outcome base;
    hn_status status = hn_model_run(env->heap, spec, &way, &base);
    if (status != HN_OK) {
        hn_report_note(env->report, spec->name, "runs", 1, 0, "%s", hn_error_message());
        return status == HN_ERR_MEMORY ? status : HN_OK;
    }
    hn_report_note(env->report, spec->name, "runs", 0, 0, "%d parameters", base.n_params);
    status = hn_check_model_gradient(env, spec, &base);
    if (status == HN_OK)
        status = check_plans(env, spec, &base);
    if (status == HN_OK)
        status = check_devices(env, spec, &base);
    if (status == HN_OK)
        status = check_recompute(env, spec, &base);
    if (status == HN_OK)
        status = check_cuts(env, spec, &base);
    if (status == HN_OK)
        status = check_layouts(env, spec, &base);
    hn_results_free(&base.values);
    return status;
}
