/* First everything that is fixed, which always runs whole; then random shapes while time lasts. */
#include "prove/prove.h"

#include "base/file.h"
#include "base/os/clock.h"
#include "base/os/process.h"
#include "base/pattern.h"
#include "ops/ops.h"
#include "prove/check_model.h"
#include "prove/check_op.h"
#include "prove/check_state.h"

#include <stdio.h>
#include <string.h>

static hn_status report_progress(const hn_prove_options *o, double done, const char *what)
{
    if (o->progress && !o->progress(o->progress_context, done, what))
        return hn_fail(HN_ERR_CANCELLED, "stopped while proving %s", what);
    return HN_OK;
}

/* Of what ended within a check. */
static hn_status stopped(hn_status status, const char *what)
{
    return status == HN_ERR_CANCELLED ? hn_fail(status, "stopped while proving %s", what) : status;
}

static int count_ops(const char *pattern)
{
    int n = 0;
    for (int i = 0; hn_ops[i]; i++)
        n += !pattern || hn_pattern_matches(pattern, hn_ops[i]->name);
    return n;
}

static hn_status prove_ops(hn_prove_env *env, const hn_prove_options *o, double share)
{
    const int n = count_ops(o->ops);
    HN_REQUIRE(n, HN_ERR_ARGUMENT, "no op matches '%.60s'", o->ops ? o->ops : "");
    for (int i = 0, k = 0; hn_ops[i]; i++) {
        if (o->ops && !hn_pattern_matches(o->ops, hn_ops[i]->name))
            continue;
        HN_TRY(report_progress(o, share * k++ / n, hn_ops[i]->name));
        HN_TRY(stopped(hn_check_op(env, hn_ops[i]), hn_ops[i]->name));
    }
    return HN_OK;
}

static hn_status prove_state(hn_prove_env *env)
{
    hn_status status = hn_check_state(env);
    for (int i = 0; i < env->n_others && status == HN_OK; i++) {
        hn_prove_env on = hn_prove_on_begin(env, i);
        status = hn_check_state(&on);
        hn_prove_on_end(&on);
    }
    return status;
}

static hn_status prove_models(hn_prove_env *env, const hn_prove_options *o, double from, double to)
{
    const int n = hn_instance_count();
    hn_instance_spec spec;
    for (int i = 0; i < n; i++) {
        hn_instance_at(i, env->seed, &spec);
        HN_TRY(report_progress(o, from + (to - from) * i / n, spec.name));
        HN_TRY(stopped(hn_check_model(env, &spec), spec.name));
    }
    return HN_OK;
}

static hn_status prove_random(hn_prove_env *env, const hn_prove_options *o, int64_t start_ns)
{
    hn_instance_spec spec;
    for (int i = hn_instance_count(); !hn_prove_is_late(env); i++) {
        const double done = (double)(hn_clock_ns() - start_ns) / (double)(env->deadline_ns - start_ns);
        hn_instance_at(i, env->seed, &spec);
        HN_TRY(report_progress(o, done < 0.9 ? 0.9 : done, spec.name));
        HN_TRY(hn_check_model(env, &spec));
    }
    return HN_OK;
}

hn_status hn_prove(hn_heap *heap, const hn_prove_options *o, hn_report *report)
{
    hn_prove_env env = { .seed = o->seed ? o->seed : 1, .n_others = o->n_others, .others = o->others };
    const int64_t start = hn_clock_ns();
    const int online = hn_os_processors();
    const int threads = o->max_threads ? o->max_threads : (online > 6 ? 6 : online) + 1;
    /* The last shapes begun must end in time too: a fifth is kept for them. */
    if (o->time_s > 0)
        env.deadline_ns = start + (int64_t)(o->time_s * 0.8e9);
    HN_TRY(hn_prove_env_open(&env, heap, report, threads < 2 ? 2 : threads, o->isa));
    hn_status status = prove_ops(&env, o, o->ops ? 1 : 0.4);
    if (status == HN_OK && !o->ops)
        status = prove_state(&env);
    if (status == HN_OK && !o->ops)
        status = prove_models(&env, o, 0.4, 0.9);
    if (status == HN_OK && !o->ops && o->time_s > 0)
        status = prove_random(&env, o, start);
    hn_prove_env_close(&env);
    if (status == HN_OK)
        status = report_progress(o, 1, "done");
    return status == HN_OK ? report->status : status;
}

void hn_processor_name(char *text, size_t bytes)
{
    snprintf(text, bytes, "unknown");
    char info[4096];
    hn_file_text("/proc/cpuinfo", info, sizeof info);
    const char *line = strstr(info, "model name");
    const char *colon = line ? strchr(line, ':') : NULL;
    if (colon) {
        colon += 1 + strspn(colon + 1, " ");
        snprintf(text, bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
    }
}

/* Levels that were built, at which nothing was computed, by name: the processor lacks them, or they are masked. */
static void add_absent(hn_isa isa, hn_str *out)
{
    int n = 0;
    (void)isa, (void)n; /* where there is only `ref` */
    hn_str_add(out, "[");
#define HN_BUILT(level, made_of)                                                               \
    if (!(isa & HN_ISA(level)))                                                                \
        hn_str_print(out, "%s\"%s\"", n++ ? ", " : "", #level);
#include "base/built.def"
#undef HN_BUILT
    hn_str_add(out, "]");
}

hn_status hn_prove_certificate(const hn_report *report, const hn_prove_options *o, double seconds,
                               hn_str *out)
{
    char processor[160];
    hn_isa isa;
    hn_isa_text level;
    HN_TRY(hn_prove_levels(report->heap, o->isa, &isa));
    hn_processor_name(processor, sizeof processor);
    hn_str_add(out, "{\n  \"certificate\": \"hone prove\",\n  \"subject\": ");
    hn_report_text(o->subject ? o->subject : "this build", out);
    if (o->result && *o->result)
        hn_str_print(out, ",\n  \"result\": \"%s\"", o->result);
    hn_str_print(out, ",\n  \"build\": \"%s, %s\",\n", HN_BUILD,
                 __VERSION__);
    hn_str_print(out, "  \"cpu\": \"%s\",\n  \"isa\": \"%s\",\n  \"isa_absent\": ", processor, hn_isa_name(isa, &level));
    add_absent(isa, out);
    hn_str_print(out, ",\n  \"seed\": %llu,\n", (unsigned long long)(o->seed ? o->seed : 1));
    hn_str_print(out,
                 "  \"seconds\": %.1f,\n  \"checks\": %lld,\n  \"failed\": %lld,\n"
                 "  \"skipped\": %lld,\n  \"rows\": ",
                 seconds, (long long)hn_report_checks(report),
                 (long long)hn_report_failures(report), (long long)report->n_skipped);
    hn_report_json(report, out);
    hn_str_add(out, "\n}\n");
    return hn_str_status(out);
}
