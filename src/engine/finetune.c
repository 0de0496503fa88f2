/* A run in one call: what is told in a struct, or by the folder of a run that has begun. */
#include "engine/finetune_run.h"

#include <math.h>
#include <string.h>

/* ---- what is asked for ---- */

/* `is_told`: by the folder, what is not said here. */
static hn_status check_spec(const hn_finetune_spec *s, bool is_told)
{
    HN_REQUIRE(s->model || is_told, HN_ERR_ARGUMENT, "hn_finetune_spec.model: expected a path, found NULL");
    HN_TRY(hn_take_list("hn_finetune_spec.data", s->data, s->n_data, HN_MAX_DATA_FILES));
    HN_REQUIRE(s->n_data || is_told, HN_ERR_ARGUMENT, "hn_finetune_spec.data: expected a file, found none");
    HN_TRY(hn_take_list("hn_finetune_spec.settings", s->settings, s->n_settings, HN_MAX_SETTINGS));
    HN_TRY(hn_take_list("hn_finetune_spec.variables", s->variables, s->n_variables, HN_MAX_CHAT_VARS));
    HN_TRY(hn_take_list("hn_finetune_spec.ignored_fields", s->ignored_fields, s->n_ignored_fields, HN_MAX_DATA_FILES));
    HN_TRY(hn_take_list("hn_finetune_spec.ignored_keys", s->ignored_keys, s->n_ignored_keys, HN_MAX_DATA_FILES));
    HN_TRY(hn_take_list("hn_finetune_spec.held", s->held, s->n_held, HN_MAX_DATA_FILES));
    HN_REQUIRE(s->max_length >= 0 && s->max_length <= INT32_MAX, HN_ERR_ARGUMENT,
               "hn_finetune_spec.max_length: expected 0 to %d, found %lld", INT32_MAX,
               (long long)s->max_length);
    return HN_OK;
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
    told->config.threads = 0; /* the engine's are used, whatever a program was told */
    return hn_take_run_settings("hn_finetune_spec.settings", s->settings, s->n_settings, HN_SETTINGS_OF_RUN,
                                &told->config);
}

/* ---- a run ---- */

typedef hn_status use_run(hn_finetune_run *run, const hn_finetune_spec *spec, void *out);

/* Opens what the run is told and uses it. */
static hn_status with_examples(hn_examples *e, const hn_finetune_spec *s, use_run *use, void *out)
{
    const hn_finetune_run_options o = { .out = s->out, .overwrite = s->overwrite, .context = s->context,
                                        .on_step = s->on_step, .on_evaluation = s->on_evaluation,
                                        .on_saved = s->on_saved };
    hn_finetune_run *run;
    HN_TRY(hn_examples_find(e));
    HN_TRY(hn_finetune_run_make(&run, e, &o, &e->told->config, e->told->samples)); /* the program's report stays told */
    hn_status status = hn_finetune_run_plan(run);
    if (status == HN_OK)
        status = use(run, s, out);
    hn_finetune_run_free(run);
    return status;
}

/* `needs_folder`: for a run that writes. */
static hn_status with_run(hn_engine *engine, const hn_finetune_spec *s, bool needs_folder, use_run *use, void *out)
{
    const bool is_told = needs_folder && s->resume && !s->model;
    HN_REQUIRE(s->out || !needs_folder, HN_ERR_ARGUMENT,
               "hn_finetune_spec.out: expected a folder, found NULL");
    HN_TRY(needs_folder ? hn_sink_try_folder(s->out) : HN_OK);
    HN_TRY(check_spec(s, is_told));
    hn_run_file *file = hn_alloc(&engine->heap, HN_TAG_TEXT, sizeof *file);
    hn_run_told *told = hn_alloc(&engine->heap, HN_TAG_TEXT, sizeof *told);
    hn_examples *e = NULL;
    hn_status status = file && told ? hn_examples_make(&e, engine, told, file) : HN_ERR_MEMORY;
    if (!file || !told) {
        hn_free(&engine->heap, file);
        hn_free(&engine->heap, told);
    }
    HN_TRY(status);
    *told = hn_run_told_nothing();
    if (is_told)
        status = hn_run_told_read(told, file, &engine->heap, s->out);
    if (status == HN_OK)
        status = add_spec(s, told);
    if (status == HN_OK)
        status = with_examples(e, s, use, out);
    hn_examples_close(e);
    return status;
}

static hn_status train(hn_finetune_run *run, const hn_finetune_spec *s, void *out)
{
    if (s->resume)
        HN_TRY(hn_finetune_run_resume(run, NULL, NULL));
    HN_TRY(hn_finetune_run_go(run));
    return hn_finetune_run_finish(run, out, sizeof(hn_finetune_result));
}

hn_status hn_finetune(hn_engine *engine, const hn_finetune_spec *spec, hn_finetune_result *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_finetune_result, result, to, size);
    HN_REQUIRE(engine && spec && to, HN_ERR_ARGUMENT,
               "hn_finetune: expected engine, spec and result, found NULL");
    HN_TRY(hn_engine_check(engine));
    hn_finetune_spec s;
    HN_TRY(hn_take_struct("hn_finetune_spec", spec, sizeof s, &s));
    return with_run(engine, &s, true, train, result);
}

static hn_status estimate_run(hn_finetune_run *run, const hn_finetune_spec *s, void *out)
{
    (void)s;
    *(hn_finetune_estimate *)out = *hn_finetune_run_get_layout(run)->estimate;
    return HN_OK;
}

hn_status hn_finetune_plan(hn_engine *engine, const hn_finetune_spec *spec,
                           hn_finetune_estimate *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_finetune_estimate, estimate, to, size);
    HN_REQUIRE(engine && spec && to, HN_ERR_ARGUMENT,
               "hn_finetune_plan: expected engine, spec and estimate, found NULL");
    HN_TRY(hn_engine_check(engine));
    hn_finetune_spec s;
    HN_TRY(hn_take_struct("hn_finetune_spec", spec, sizeof s, &s));
    return with_run(engine, &s, false, estimate_run, estimate);
}
