/* One separate run on one thread at the best level; every other way must give its bits. Of another device the one is its own,
 * and where it promises the CPU's bits it is beside the CPU's that it stands first. */
#include "graph/layout.h"
#include "prove/check_op.h"

#include <stdio.h>

/* One way to run, compared with `base`. */
typedef struct variant {
    hn_check_kind kind;
    const char *what;
    hn_run_setup setup;
} variant;

static hn_status compare(hn_prove_env *env, const hn_trial *t, variant *v, const hn_results *base,
                         int first)
{
    hn_results got;
    v->setup.watch = t->c->op;
    HN_TRY(hn_run_graph(t->g, t->n_wanted, t->wanted, &t->values, &v->setup, &got));
    int which = 0;
    int64_t element = 0;
    const bool same = hn_same_results(base, &got, &which, &element);
    if (same)
        hn_report_note(env->report, t->c->op->name, v->kind, 0, 0, "%s: %s", t->c->text, v->what);
    else
        hn_report_note(env->report, t->c->op->name, v->kind, 1, 0,
                       "%s: %s: %s %d, element %lld: %.9g where a separate run gives %.9g", t->c->text,
                       v->what, which < first ? "output" : "gradient", which, (long long)element,
                       hn_get(&got.at[which], element), hn_get(&base->at[which], element));
    hn_results_free(&got);
    return HN_OK;
}

static hn_status base_run(hn_prove_env *env, const hn_trial *t, hn_results *base)
{
    hn_run_setup setup = { .n_devices = 1, .devices = &env->one, .mode = HN_PLAN_SEPARATE };
    return hn_run_graph(t->g, t->n_wanted, t->wanted, &t->values, &setup, base);
}

/* A device that promises the CPU's bits. Others are held to double precision alone, as the CPU is (gradient.c). */
static hn_status check_promise(hn_prove_env *env, const hn_trial *t, const hn_results *base)
{
    hn_results want;
    int which = 0;
    int64_t element = 0;
    if (!env->cpu || !env->one->backend->gives_cpu_bits)
        return HN_OK;
    hn_run_setup setup = { .n_devices = 1, .devices = &env->cpu, .mode = HN_PLAN_SEPARATE };
    HN_TRY(hn_run_graph(t->g, t->n_wanted, t->wanted, &t->values, &setup, &want));
    const bool same = hn_same_results(&want, base, &which, &element);
    hn_report_note(env->report, t->c->op->name, HN_CHECK_DEVICES, !same, 0, "%s: %s %d, element %lld: %.9g where the CPU gives %.9g",
                   t->c->text, which < t->n_outputs ? "output" : "gradient", which, (long long)element,
                   hn_get(&base->at[which], element), hn_get(&want.at[which], element));
    hn_results_free(&want);
    return HN_OK;
}

static hn_status check_plans(hn_prove_env *env, const hn_trial *t, const hn_results *base,
                             hn_check_kind kind, const char *what)
{
    static const hn_plan_mode modes[] = { HN_PLAN_REUSE, HN_PLAN_INPLACE, HN_PLAN_POISON };
    for (int m = 0; m < 3; m++) {
        char text[96];
        snprintf(text, sizeof text, "%s%s", what, hn_plan_mode_name(modes[m]));
        variant v = { .kind = kind, .what = text,
                      .setup = { .n_devices = 1, .devices = &env->one, .mode = modes[m] } };
        HN_TRY(compare(env, t, &v, base, t->n_outputs));
    }
    return HN_OK;
}

/* Threads, levels, shuffled chunks; all with memory taken over where it may be. */
static hn_status check_devices(hn_prove_env *env, const hn_trial *t, const hn_results *base)
{
    char text[64];
    for (int i = 0; i < env->n_threads; i++)
        for (int shuffled = 0; shuffled < 2; shuffled++) {
            snprintf(text, sizeof text, "%d threads%s", env->threads[i]->n_threads,
                     shuffled ? ", units shuffled" : "");
            variant v = { .kind = HN_CHECK_THREADS, .what = text,
                          .setup = { .n_devices = 1, .devices = &env->threads[i],
                                     .mode = HN_PLAN_POISON, .shuffle = shuffled ? env->seed + 1 : 0 } };
            HN_TRY(compare(env, t, &v, base, t->n_outputs));
        }
    for (int i = 0; i < env->n_levels; i++) {
        env->levels[i]->backend->describe(env->levels[i], text, sizeof text);
        variant v = { .kind = HN_CHECK_LEVELS, .what = text,
                      .setup = { .n_devices = 1, .devices = &env->levels[i] } };
        HN_TRY(compare(env, t, &v, base, t->n_outputs));
    }
    return HN_OK;
}

/* The same case with other wrapping must give the same bits as `base`. */
static hn_status check_variant(hn_prove_env *env, const hn_case *c, const hn_trial_options *options,
                               variant *v, const hn_results *base)
{
    hn_trial t;
    HN_TRY(hn_trial_new(&t, env->heap, c, env->seed, options));
    hn_status status = HN_OK;
    if (t.n_wanted == base->n)
        status = compare(env, &t, v, base, t.n_outputs);
    else
        hn_report_skip(env->report, c->op->name, "another number of results when wrapped");
    hn_trial_free(&t);
    return status;
}

/* Only input `i` lies in memory that may be taken: the planner has no other choice. */
static hn_status check_alias(hn_prove_env *env, const hn_case *c, int i, hn_alias_tally *tally)
{
    static const hn_plan_mode modes[] = { HN_PLAN_INPLACE, HN_PLAN_POISON };
    hn_trial_options options = { 0 };
    options.wrap[i] = HN_WRAP_COPY;
    options.stays = true;
    hn_trial t;
    HN_TRY(hn_trial_new(&t, env->heap, c, env->seed, &options));
    hn_results base;
    hn_status status = base_run(env, &t, &base);
    char text[64];
    for (int m = 0; m < 2 && status == HN_OK; m++)
        for (int n = 0; n < 2 && status == HN_OK; n++) {
            hn_device **device = n && env->n_threads ? &env->threads[0] : &env->one;
            snprintf(text, sizeof text, "input %d may be overwritten, %s", i,
                     hn_plan_mode_name(modes[m]));
            variant v = { .kind = HN_CHECK_ALIASES, .what = text,
                          .setup = { .n_devices = 1, .devices = device, .mode = modes[m],
                                     .shuffle = n ? env->seed + 3 : 0 } };
            status = compare(env, &t, &v, &base, t.n_outputs);
            if (v.setup.n_taken[i])
                tally->taken |= HN_IN(i);
        }
    hn_results_free(&base);
    hn_trial_free(&t);
    return status;
}

/* The case's call as a device sees it, without data. */
typedef struct shown_call {
    hn_tensor in[HN_MAX_IN], out[HN_MAX_OUT];
    hn_call call;
} shown_call;

static void show_call(const hn_trial *t, shown_call *s)
{
    const hn_apply *a = t->wanted[0]->by;
    s->call = (hn_call){ .op = a->op, .attrs = a->attrs, .n_in = a->n_in, .n_out = a->n_out };
    for (int i = 0; i < a->n_in; i++)
        if (a->in[i]) {
            s->in[i] = hn_tensor_at(&a->in[i]->type, NULL);
            s->call.in[i] = &s->in[i];
        }
    for (int o = 0; o < a->n_out; o++) {
        s->out[o] = hn_tensor_at(&a->out[o]->type, NULL);
        s->call.out[o] = &s->out[o];
    }
}

/* Which inputs op and kernel allow to be overwritten, for this case's types. */
static unsigned allowed_aliases(const hn_prove_env *env, const hn_trial *t)
{
    const hn_apply *a = t->wanted[0]->by;
    unsigned mask = 0;
    shown_call shown;
    hn_support support;
    show_call(t, &shown);
    env->one->backend->supports(env->one, &shown.call, &support);
    for (int o = 0; support.runs && o < a->n_out; o++)
        for (int i = 0; i < a->n_in; i++)
            if (a->in[i] && hn_same_shape(&a->in[i]->type, &a->out[o]->type) &&
                hn_dtype_bytes(a->in[i]->type.dtype) == hn_dtype_bytes(a->out[o]->type.dtype))
                mask |= a->op->may_overwrite[o] & support.may_overwrite[o] & HN_IN(i);
    return mask;
}

/* Inputs that a kernel takes in a layout, for this case's types. */
static unsigned packable(const hn_prove_env *env, const hn_trial *t, const hn_layout *layout)
{
    unsigned mask = 0;
    shown_call shown;
    for (int i = 0; i < t->c->n_in; i++) {
        hn_support support;
        show_call(t, &shown);
        if (!shown.call.in[i] || t->c->op->view_of || t->c->in[i].same_as >= 0 ||
            !hn_layout_takes(layout, shown.in[i].type.dtype, shown.in[i].type.rank) ||
            hn_type_set_layout(&shown.in[i].type, layout) != HN_OK)
            continue;
        shown.in[i].is_packed = false;
        env->one->backend->supports(env->one, &shown.call, &support);
        if (support.has_kernel && support.packed & HN_IN(i))
            mask |= HN_IN(i);
    }
    return mask;
}

/* Elements of a packed copy of input `i`, one by one. */
static hn_status check_elements(hn_prove_env *env, const hn_trial *t, int i, const hn_layout *layout)
{
    const hn_tensor *plain = &t->values.at[t->leaf[i]->leaf->id];
    hn_type type = plain->type;
    HN_TRY(hn_type_set_layout(&type, layout));
    void *data = hn_alloc(env->heap, HN_TAG_PROVE, hn_type_bytes(&type));
    if (!data)
        return HN_ERR_MEMORY;
    const hn_tensor packed = hn_tensor_at(&type, data);
    hn_tensor_copy(&packed, plain);
    int64_t at = 0;
    while (at < hn_count(&type) && hn_get(&packed, at) == hn_get(plain, at))
        at++;
    const bool same = at == hn_count(&type);
    hn_report_note(env->report, t->c->op->name, HN_CHECK_LAYOUTS, !same, 0,
                   "%s: element %lld of input %d, packed: %.9g", t->c->text, (long long)at, i,
                   same ? 0 : hn_get(&packed, at));
    hn_free(env->heap, data);
    return HN_OK;
}

/* The bits of `base` with input `i` packed: on every level, on several threads, poisoned. */
static hn_status check_layout(hn_prove_env *env, const hn_case *c, int i, const hn_layout *layout, const hn_results *base)
{
    hn_trial_options options = { .with_gradients = true, .layout = layout };
    char text[96], device[64];
    options.wrap[i] = HN_WRAP_PACKED;
    hn_trial t;
    HN_TRY(hn_trial_new(&t, env->heap, c, env->seed, &options));
    hn_status status = check_elements(env, &t, i, layout);
    for (int k = 0; k < 2 + env->n_levels && status == HN_OK; k++) {
        hn_device **on = k == 0 ? &env->one : k == 1 ? env->threads : &env->levels[k - 2];
        if (!*on)
            continue;
        (*on)->backend->describe(*on, device, sizeof device);
        snprintf(text, sizeof text, "input %d as %s, %s", i, layout->name, device);
        variant v = { .kind = HN_CHECK_LAYOUTS, .what = text,
                      .setup = { .n_devices = 1, .devices = on, .mode = HN_PLAN_POISON,
                                 .shuffle = k == 1 ? env->seed + 5 : 0 } };
        status = compare(env, &t, &v, base, t.n_outputs);
    }
    hn_trial_free(&t);
    return status;
}

static hn_status check_layouts(hn_prove_env *env, const hn_case *c, const hn_trial *t, const hn_results *base)
{
    for (const hn_layout *const *layout = env->one->backend->layouts; *layout; layout++) {
        const unsigned packed = packable(env, t, *layout);
        for (int i = 0; i < c->n_in; i++)
            if (packed >> i & 1)
                HN_TRY(check_layout(env, c, i, *layout, base));
    }
    return HN_OK;
}

/* Two inputs that are the very same tensor. */
static hn_status check_duplicates(hn_prove_env *env, const hn_case *c)
{
    for (int i = 1; i < c->n_in; i++) {
        const hn_case_input *a = &c->in[0], *b = &c->in[i];
        if (!a->is_given || !b->is_given || b->same_as >= 0 || a->fill != b->fill ||
            a->type.dtype != b->type.dtype || !hn_same_shape(&a->type, &b->type))
            continue;
        hn_trial_options options = { .wrap = { HN_WRAP_COPY } };
        options.same_as[i] = 1;
        hn_trial t;
        if (hn_trial_new(&t, env->heap, c, env->seed, &options) != HN_OK) {
            hn_report_skip(env->report, c->op->name, hn_error_message());
            continue;
        }
        hn_results base;
        hn_status status = base_run(env, &t, &base);
        if (status == HN_OK)
            status = check_plans(env, &t, &base, HN_CHECK_DUPLICATES, "one tensor twice, ");
        hn_results_free(&base);
        hn_trial_free(&t);
        HN_TRY(status);
    }
    return HN_OK;
}

static hn_status check_views(hn_prove_env *env, const hn_case *c, const hn_results *base, hn_wrap wrap, const char *what)
{
    hn_trial_options options = { .with_gradients = true };
    for (int i = 0; i < c->n_in; i++)
        options.wrap[i] = wrap;
    variant views = { .kind = HN_CHECK_STRIDES, .what = what, .setup = { .n_devices = 1, .devices = &env->one } };
    return c->op->needs_contiguous ? HN_OK : check_variant(env, c, &options, &views, base);
}

static hn_status check_wraps(hn_prove_env *env, const hn_case *c, const hn_results *base)
{
    HN_TRY(check_views(env, c, base, HN_WRAP_STRIDED, "strided views"));
    HN_TRY(check_views(env, c, base, HN_WRAP_APART, "rows that lie apart"));
    hn_trial_options split = { .with_gradients = true, .on_two_devices = true };
    variant devices = { .kind = HN_CHECK_DEVICES, .what = "two devices",
                        .setup = { .n_devices = 2, .devices = env->pair } };
    return check_variant(env, c, &split, &devices, base);
}

hn_status hn_check_bits(hn_prove_env *env, const hn_case *c, hn_alias_tally *tally)
{
    const hn_trial_options plain = { .with_gradients = true };
    hn_trial t;
    HN_TRY(hn_trial_new(&t, env->heap, c, env->seed, &plain));
    hn_results base;
    hn_status status = base_run(env, &t, &base);
    if (status != HN_OK) {
        hn_trial_free(&t);
        return status;
    }
    const unsigned allowed = allowed_aliases(env, &t);
    status = check_promise(env, &t, &base);
    if (status == HN_OK)
        status = check_plans(env, &t, &base, HN_CHECK_PLANS, "");
    if (status == HN_OK)
        status = check_devices(env, &t, &base);
    if (status == HN_OK)
        status = check_wraps(env, c, &base);
    tally->allowed |= allowed;
    for (int i = 0; i < c->n_in && status == HN_OK; i++)
        if (allowed >> i & 1)
            status = check_alias(env, c, i, tally);
    if (status == HN_OK)
        status = check_layouts(env, c, &t, &base);
    if (status == HN_OK)
        status = check_duplicates(env, c);
    hn_results_free(&base);
    hn_trial_free(&t);
    return status;
}
