/* Devices of one processor at several thread counts and instruction-set levels; and the same proof seen from another device. */
#include "prove/env.h"

#include "base/os/clock.h"

hn_status hn_prove_levels(const hn_heap *heap, hn_isa allowed, hn_isa *out)
{
    return hn_isa_allowed(allowed, !heap->asks_nothing, out);
}

static hn_status open_one(hn_prove_env *env, const char *level, int index, int threads, hn_device **out)
{
    const hn_device_options options = { .n_threads = threads, .isa = level };
    return hn_device_open(out, env->heap, index, &options);
}

hn_status hn_prove_levels_open(hn_heap *heap, hn_isa allowed, hn_device *levels[HN_N_LEVELS + 1], int *n)
{
    hn_isa host;
    HN_TRY(hn_prove_levels(heap, allowed, &host));
    for (int i = -1; i < HN_N_LEVELS; i++) {
        const hn_level level = i < 0 ? (hn_level){ "ref", 0, 0 } : hn_isa_level(i);
        if ((level.with_implied & host) != level.with_implied || level.with_implied == host)
            continue;
        const hn_device_options options = { .n_threads = 1, .isa = level.name };
        HN_TRY(hn_device_open(&levels[*n], heap, 0, &options));
        ++*n;
    }
    return HN_OK;
}

static hn_status open_beside(hn_prove_env *env, const char *level)
{
    const hn_device_options options = { .n_threads = 1, .isa = level, .beside_others = true };
    return env->n_others == 1 ? hn_device_open(&env->beside, env->heap, 0, &options) : HN_OK;
}

static hn_status open_all(hn_prove_env *env, int max_threads, hn_isa allowed)
{
    hn_isa host;
    hn_isa_text best;
    HN_TRY(hn_prove_levels(env->heap, allowed, &host));
    hn_isa_name(host, &best);
    HN_TRY(open_one(env, best.at, 0, 1, &env->one));
    for (int i = 0; i < 2; i++)
        HN_TRY(open_one(env, best.at, i, 1, &env->pair[i]));
    HN_TRY(open_beside(env, best.at));
    for (int n = 2; n <= max_threads && env->n_threads < HN_MAX_VARIANTS; n++) {
        HN_TRY(open_one(env, best.at, 0, n, &env->threads[env->n_threads]));
        env->n_threads++;
    }
    return hn_prove_levels_open(env->heap, allowed, env->levels, &env->n_levels);
}

hn_status hn_prove_env_open(hn_prove_env *env, hn_heap *heap, hn_report *report, int max_threads, hn_isa allowed)
{
    env->heap = heap;
    env->report = report;
    const hn_status status = open_all(env, max_threads, allowed);
    if (status != HN_OK)
        hn_prove_env_close(env);
    return status;
}

static void close_one(hn_device **device)
{
    if (*device)
        (*device)->backend->close(*device);
    *device = NULL;
}

void hn_prove_env_close(hn_prove_env *env)
{
    close_one(&env->one);
    close_one(&env->beside);
    close_one(&env->pair[0]);
    close_one(&env->pair[1]);
    for (int i = 0; i < env->n_threads; i++)
        close_one(&env->threads[i]);
    for (int i = 0; i < env->n_levels; i++)
        close_one(&env->levels[i]);
    env->n_threads = env->n_levels = 0;
}

hn_prove_env hn_prove_on_begin(const hn_prove_env *env, int i)
{
    hn_prove_env on = *env;
    on.cpu = env->one;
    on.one = on.pair[0] = env->others[i];
    on.pair[1] = env->n_others > 1 ? env->others[(i + 1) % env->n_others] : env->beside;
    on.n_threads = on.n_levels = on.n_others = 0;
    on.threads[0] = NULL;
    on.report->on = on.one->name;
    return on;
}

void hn_prove_on_end(const hn_prove_env *on)
{
    on->report->on = NULL;
}

bool hn_prove_is_late(const hn_prove_env *env)
{
    return env->deadline_ns && hn_clock_ns() > env->deadline_ns;
}
