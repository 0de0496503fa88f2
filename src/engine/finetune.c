/* A run of src/train on an engine: its heap, its first device, its cancellation. */
#include "engine/engine.h"
#include "hone/finetune.h"
#include "train/input.h"
#include "train/run_told.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SETTINGS = 256, MOST_NAME = 64 };

/* ---- what is told ---- */

typedef struct listener {
    hn_engine *engine;
    const hn_finetune_spec *spec;
    const hn_cancel_flag *cancel;
} listener;

static bool on_look(void *context, uint64_t done, uint64_t all)
{
    const listener *to = context;
    (void)done, (void)all;
    return !hn_is_cancelled(to->cancel);
}

static void on_step(void *context, const hn_step_report *r)
{
    const listener *to = context;
    const hn_finetune_step step = {
        .step = r->step, .n_steps = r->n_steps, .loss = r->loss, .grad_norm = r->grad_norm,
        .rate = r->rate, .epoch = r->epoch, .tokens = r->tokens, .supervised = r->supervised,
        .seconds = r->seconds, .resident_bytes = r->resident_bytes,
    };
    HN_CALL_HOST();
    if (to->spec->on_step)
        to->spec->on_step(to->spec->context, &step);
    if (to->engine->progress)
        to->engine->progress(to->engine->progress_context, (double)r->step / (double)r->n_steps);
}

static void on_evaluated(void *context, int64_t at, const hn_evaluation *e, bool is_best)
{
    const listener *to = context;
    const hn_finetune_evaluation evaluation = { .step = at, .loss = e->loss, .accuracy = e->accuracy,
                                                .n = e->n, .is_best = is_best };
    HN_CALL_HOST();
    if (to->spec->on_evaluation)
        to->spec->on_evaluation(to->spec->context, &evaluation);
}

static void on_saved(void *context, const char *path)
{
    const listener *to = context;
    HN_CALL_HOST();
    if (to->spec->on_saved)
        to->spec->on_saved(to->spec->context, path);
}

/* ---- what is asked for ---- */

static hn_status check_list(const char *name, const char *const *list, int32_t n, int32_t most)
{
    HN_REQUIRE(n >= 0 && n <= most && (list || !n), HN_ERR_ARGUMENT,
               "hn_finetune_spec.%s: expected a list of at most %d, found %d%s", name, most, n,
               list ? "" : " at NULL");
    for (int32_t i = 0; i < n; i++)
        HN_REQUIRE(list[i], HN_ERR_ARGUMENT, "hn_finetune_spec.%s[%d] is NULL", name, i);
    return HN_OK;
}

/* `is_told`: by the folder, what is not said here. */
static hn_status check_spec(const hn_finetune_spec *s, bool is_told)
{
    HN_REQUIRE(s->model || is_told, HN_ERR_ARGUMENT, "hn_finetune_spec.model: expected a path, found NULL");
    HN_TRY(check_list("data", s->data, s->n_data, HN_MAX_DATA_FILES));
    HN_REQUIRE(s->n_data || is_told, HN_ERR_ARGUMENT, "hn_finetune_spec.data: expected a file, found none");
    HN_TRY(check_list("settings", s->settings, s->n_settings, MOST_SETTINGS));
    HN_TRY(check_list("variables", s->variables, s->n_variables, HN_MAX_CHAT_VARS));
    HN_TRY(check_list("ignored_fields", s->ignored_fields, s->n_ignored_fields, HN_MAX_DATA_FILES));
    HN_TRY(check_list("ignored_keys", s->ignored_keys, s->n_ignored_keys, HN_MAX_DATA_FILES));
    HN_TRY(check_list("held", s->held, s->n_held, HN_MAX_DATA_FILES));
    HN_REQUIRE(s->max_length >= 0 && s->max_length <= INT32_MAX, HN_ERR_ARGUMENT,
               "hn_finetune_spec.max_length: expected 0 to %d, found %lld", INT32_MAX,
               (long long)s->max_length);
    return HN_OK;
}

static hn_status add_settings(const hn_finetune_spec *s, hn_train_config *out)
{
    out->threads = 0; /* the engine's are used, whatever a program was told */
    for (int32_t i = 0; i < s->n_settings; i++) {
        char name[MOST_NAME];
        const char *text = s->settings[i], *equals = strchr(text, '=');
        const size_t n = equals ? (size_t)(equals - text) : strlen(text);
        HN_REQUIRE(n < sizeof name, HN_ERR_ARGUMENT, "unknown option --%.60s", text);
        memcpy(name, text, n);
        name[n] = 0;
        HN_REQUIRE(strcmp(name, "threads"), HN_ERR_ARGUMENT,
                   "--threads: the engine has them: hn_engine_options.n_threads");
        HN_TRY(hn_train_config_set(out, name, equals ? equals + 1 : NULL));
    }
    return hn_train_config_check(out);
}

static hn_status add_list(hn_run_told *told, const char *option, const char *const *list, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        HN_TRY(hn_run_told_set(told, option, list[i]));
    return HN_OK;
}

/* What the spec says, after what was told before. */
static hn_status add_spec(const hn_finetune_spec *s, hn_run_told *told)
{
    const struct {
        const char *option, *value;
    } texts[] = { { "model", s->model },      { "format", s->format },
                  { "loss", s->loss },        { "too-long", s->too_long },
                  { "template", s->template_file }, { "template-name", s->template_name } };
    const struct {
        const char *option;
        int32_t is_set;
    } flags[] = { { "plain", s->plain }, { "drop-empty", s->drop_empty },
                  { "allow-unended", s->allow_unended }, { "drop-unread", s->drop_unread } };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].value)
            HN_TRY(hn_run_told_set(told, texts[i].option, texts[i].value));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].is_set)
            HN_TRY(hn_run_told_set(told, flags[i].option, NULL));
    if (s->max_length)
        told->choice.max_length = s->max_length;
    if (s->held_fraction > 0 || s->held_fraction < 0 || isnan(s->held_fraction))
        told->choice.held_fraction = s->held_fraction;
    HN_TRY(add_list(told, "data", s->data, s->n_data));
    HN_TRY(add_list(told, "held", s->held, s->n_held));
    HN_TRY(add_list(told, "set", s->variables, s->n_variables));
    HN_TRY(add_list(told, "ignore-field", s->ignored_fields, s->n_ignored_fields));
    HN_TRY(add_list(told, "ignore", s->ignored_keys, s->n_ignored_keys));
    return add_settings(s, &told->config);
}

/* ---- a run ---- */

typedef hn_status use_run(hn_train_run *run, listener *to, const hn_train_input *in, void *out);

/* Opens what the run is told and uses it. */
static hn_status with_told(listener *to, const hn_run_told *told, use_run *use, void *out)
{
    const hn_finetune_spec *s = to->spec;
    const hn_data_choice choice = hn_run_told_choice(told);
    const hn_train_look look = { .context = to, .watch = on_look };
    hn_train_input in = { .heap = &to->engine->heap, .run = to->engine->run };
    hn_train_run *run = NULL;
    char samples[40] = ""; /* what the program's report was told stays told */
    if (told->samples >= 0)
        snprintf(samples, sizeof samples, "samples = %lld\n", (long long)told->samples);
    hn_status status = hn_train_input_open(&in, told->model, &choice, told->files, told->n_files, &look);
    if (status == HN_OK) {
        hn_train_subject subject = hn_train_input_subject(&in, &told->config, s->out);
        subject.more_told = samples;
        subject.over = s->overwrite ? HN_OVER_OLD : HN_OVER_NOTHING;
        status = hn_train_run_new(&run, &to->engine->heap, &subject);
    }
    if (status == HN_OK)
        status = use(run, to, &in, out);
    hn_train_run_free(run);
    hn_train_input_close(&in);
    return status;
}

/* `needs_folder`: for a run that writes. */
static hn_status with_run(listener *to, bool needs_folder, use_run *use, void *out)
{
    const hn_finetune_spec *s = to->spec;
    const bool is_told = needs_folder && s->resume && !s->model;
    HN_REQUIRE(s->out || !needs_folder, HN_ERR_ARGUMENT,
               "hn_finetune_spec.out: expected a folder, found NULL");
    HN_TRY(check_spec(s, is_told));
    hn_run_file *file = hn_alloc(&to->engine->heap, HN_TAG_TEXT, sizeof *file);
    hn_run_told *told = hn_alloc(&to->engine->heap, HN_TAG_TEXT, sizeof *told);
    hn_status status = file && told ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK) {
        *told = hn_run_told_nothing();
        if (is_told)
            status = hn_run_told_read(told, file, &to->engine->heap, s->out);
    }
    if (status == HN_OK)
        status = add_spec(s, told);
    if (status == HN_OK)
        status = with_told(to, told, use, out);
    if (file)
        hn_run_file_close(file);
    hn_free(&to->engine->heap, file);
    hn_free(&to->engine->heap, told);
    return status;
}

static hn_status train(hn_train_run *run, listener *to, const hn_train_input *in, void *out)
{
    hn_finetune_result *result = out;
    (void)in;
    const hn_train_watch watch = { .context = to, .step = on_step,
                                   .evaluated = on_evaluated, .saved = on_saved,
                                   .cancel = to->cancel };
    if (to->spec->resume)
        HN_TRY(hn_train_run_resume(run));
    HN_TRY(hn_train_run_go(run, &watch));
    HN_TRY(hn_train_run_finish(run, result->path, result->sha256));
    result->n_steps = hn_train_run_state(run)->step;
    result->last_loss = hn_train_run_state(run)->last_loss;
    snprintf(result->verdict, sizeof result->verdict, "%s", hn_train_run_verdict(run));
    return HN_OK;
}

hn_status hn_finetune(hn_engine *engine, const hn_finetune_spec *spec, hn_finetune_result *result)
{
    HN_ENTER();
    HN_REQUIRE(engine && spec && result, HN_ERR_ARGUMENT,
               "hn_finetune: expected engine, spec and result, found NULL");
    HN_TRY(hn_engine_check(engine));
    memset(result, 0, sizeof *result);
    hn_finetune_spec s;
    HN_TRY(hn_take_struct("hn_finetune_spec", spec, sizeof s, &s));
    listener to = { engine, &s, hn_engine_cancelled(engine) };
    const hn_status status = with_run(&to, true, train, result);
    if (status != HN_OK)
        memset(result, 0, sizeof *result);
    return status;
}

static hn_status estimate_run(hn_train_run *run, listener *to, const hn_train_input *in,
                              void *out)
{
    const hn_train_plan p = hn_train_run_plan(run);
    const hn_tuning *t = hn_train_run_tuning(run);
    (void)to;
    *(hn_finetune_estimate *)out = (hn_finetune_estimate){
        .n_steps = p.n_steps, .n_examples = (int64_t)in->preflight.n_examples,
        .n_trained = t->n_params, .n_tensors = t->n_tensors, .micro_tokens = p.micro_tokens,
        .recompute = p.recompute, .total_bytes = p.total_bytes, .weights_bytes = p.weights_bytes,
        .workspace_bytes = p.bytes.workspace,
        .trained_bytes = p.bytes.parameters + p.bytes.sums + p.bytes.moments,
        .evaluation_bytes = p.evaluation_bytes,
    };
    return HN_OK;
}

hn_status hn_finetune_plan(hn_engine *engine, const hn_finetune_spec *spec,
                           hn_finetune_estimate *estimate)
{
    HN_ENTER();
    HN_REQUIRE(engine && spec && estimate, HN_ERR_ARGUMENT,
               "hn_finetune_plan: expected engine, spec and estimate, found NULL");
    HN_TRY(hn_engine_check(engine));
    memset(estimate, 0, sizeof *estimate);
    hn_finetune_spec s;
    HN_TRY(hn_take_struct("hn_finetune_spec", spec, sizeof s, &s));
    listener to = { engine, &s, hn_engine_cancelled(engine) };
    return with_run(&to, false, estimate_run, estimate);
}
