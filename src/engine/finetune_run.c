/* A run of src/train on public examples: their engine's heap, devices and cancellation. */
#include "engine/finetune_run.h"

#include "engine/lm.h"
#include "train/adapter_write.h"
#include "train/origin.h"
#include "train/report.h"
#include "train/samples.h"

#include <stdio.h>
#include <string.h>

/* ---- what is told ---- */

static void on_step(void *context, const hn_step_report *r)
{
    const hn_finetune_run *run = context;
    hn_engine *engine = run->examples->engine;
    const hn_finetune_step step = {
        .step = r->step, .n_steps = r->n_steps, .loss = r->loss, .grad_norm = r->grad_norm,
        .rate = r->rate, .epoch = r->epoch, .tokens = r->tokens, .supervised = r->supervised,
        .seconds = r->seconds, .resident_bytes = r->resident_bytes,
    };
    HN_CALL_HOST();
    if (run->o.on_step)
        run->o.on_step(run->o.context, &step);
    if (engine->progress)
        engine->progress(engine->progress_context, (double)r->step / (double)r->n_steps);
}

static void on_evaluated(void *context, int64_t at, const hn_evaluation *e, bool is_best)
{
    const hn_finetune_run *run = context;
    const hn_finetune_evaluation evaluation = { .step = at, .loss = e->loss, .accuracy = e->accuracy,
                                                .n = e->n, .is_best = is_best };
    HN_CALL_HOST();
    if (run->o.on_evaluation)
        run->o.on_evaluation(run->o.context, &evaluation);
}

static void on_saved(void *context, const char *path)
{
    const hn_finetune_run *run = context;
    HN_CALL_HOST();
    if (run->o.on_saved)
        run->o.on_saved(run->o.context, path);
}

/* ---- planning ---- */

static hn_status lay_out(hn_finetune_run *r)
{
    hn_numerics numerics;
    HN_TRY(hn_train_config_numerics(&r->config, &numerics));
    const hn_train_plan p = hn_train_run_plan(r->inner);
    const hn_tuning *t = hn_train_run_tuning(r->inner);
    r->estimate = (hn_finetune_estimate){
        .n_steps = p.n_steps, .n_examples = (int64_t)r->examples->in.preflight.n_examples,
        .n_trained = t->n_params, .n_tensors = t->n_tensors, .micro_tokens = p.micro_tokens,
        .recompute = p.recompute, .total_bytes = p.total_bytes, .weights_bytes = p.weights_bytes,
        .workspace_bytes = p.bytes.workspace,
        .trained_bytes = p.bytes.parameters + p.bytes.sums + p.bytes.moments,
        .evaluation_bytes = p.evaluation_bytes,
    };
    HN_TRY(hn_train_run_operations(r->inner, &r->examples->in.preflight, &r->estimate.step_operations));
    hn_finetune_layout *l = &r->layout;
    *l = (hn_finetune_layout){
        .estimate = &r->estimate, .share = (double)t->n_matched / (double)t->n_base, .rate = r->config.rate,
        .schedule = r->config.schedule, .optimizer = r->config.optimizer, .seed = r->config.seed,
        .judges_answers = hn_goal_groups(hn_learner_objective(hn_train_run_learner(r->inner))->goal),
        .is_model = hn_tuning_is_full(t), .numerics = hn_outer_numerics(numerics),
    };
    int32_t *const ways[] = { [HN_TUNE_LORA] = &l->n_lora, [HN_TUNE_DORA] = &l->n_dora, [HN_TUNE_FULL] = &l->n_full };
    for (int i = 0; i < t->n_tuned; i++)
        ++*ways[t->tuned[i].settings.how];
    return HN_OK;
}

hn_status hn_finetune_run_plan(hn_finetune_run *r)
{
    HN_TRY(hn_examples_want_model(r->examples));
    hn_train_subject subject = hn_train_input_subject(&r->examples->in, &r->config, r->o.out);
    subject.makes_samples = r->o.samples > 0;
    subject.n_samples = r->n_samples;
    subject.more_told = r->samples;
    subject.over = r->o.overwrite ? HN_OVER_OLD : HN_OVER_NOTHING;
    HN_TRY(hn_train_run_new(&r->inner, &r->examples->engine->heap, &subject));
    return lay_out(r);
}

hn_status hn_finetune_run_make(hn_finetune_run **out, hn_examples *examples, const hn_finetune_run_options *o,
                               const hn_train_config *config, int64_t samples)
{
    hn_heap *heap = &examples->engine->heap;
    hn_finetune_run *r = hn_alloc(heap, HN_TAG_STATE, sizeof *r);
    *out = NULL;
    if (!r)
        return HN_ERR_MEMORY;
    r->examples = examples;
    r->o = *o;
    r->kept.heap = heap;
    r->config = *config;
    r->config.threads = examples->engine->n_threads;
    r->limit = heap->limit_bytes;
    r->n_samples = samples >= 0 ? (int)samples : HN_FINETUNE_SAMPLES;
    if (samples >= 0)
        snprintf(r->samples, sizeof r->samples, "samples = %lld\n", (long long)samples);
    *out = r;
    return HN_OK;
}

/* Copies, which live as long as the run. */
static hn_status keep(hn_finetune_run *r)
{
    HN_TRY(hn_kept_list(&r->kept, r->o.settings, r->o.n_settings, &r->o.settings));
    HN_TRY(hn_kept_text(&r->kept, r->o.out, &r->o.out));
    HN_TRY(hn_kept_text(&r->kept, r->o.command, &r->o.command));
    r->config = hn_train_config_default();
    HN_TRY(hn_take_run_settings("hn_finetune_run_options.settings", r->o.settings, r->o.n_settings,
                                HN_SETTINGS_OF_RUN, &r->config));
    r->config.threads = r->examples->engine->n_threads;
    return HN_OK;
}

hn_status hn_finetune_run_new(hn_finetune_run **out, hn_examples *examples, const hn_finetune_run_options *options)
{
    HN_ENTER();
    hn_finetune_run_options o;
    hn_finetune_run *r;
    const hn_train_config usual = hn_train_config_default();
    HN_REQUIRE(out && examples, HN_ERR_ARGUMENT, "hn_finetune_run_new: expected out and examples, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(examples->engine));
    HN_TRY(hn_take_struct("hn_finetune_run_options", options, sizeof o, &o));
    HN_TRY(hn_take_list("hn_finetune_run_options.settings", o.settings, o.n_settings, HN_MAX_SETTINGS));
    HN_REQUIRE(o.samples >= 0 && o.samples <= 64, HN_ERR_ARGUMENT,
               "hn_finetune_run_options.samples is %d: expected 0 to 64", (int)o.samples);
    HN_TRY(hn_finetune_run_make(&r, examples, &o, &usual, o.samples));
    hn_status status = keep(r);
    if (status == HN_OK)
        status = hn_finetune_run_plan(r);
    if (status == HN_OK)
        *out = r;
    else
        hn_finetune_run_free(r);
    return status;
}

void hn_finetune_run_free(hn_finetune_run *r)
{
    HN_ENTER();
    if (!r)
        return;
    hn_heap *heap = &r->examples->engine->heap;
    hn_train_run_free(r->inner);
    hn_lock_file_release(&r->folder);
    heap->limit_bytes = r->limit;
    hn_kept_free(&r->kept);
    hn_free(heap, r);
}

const hn_finetune_layout *hn_finetune_run_get_layout(const hn_finetune_run *r)
{
    HN_ENTER();
    return r ? &r->layout : NULL;
}

/* ---- training ---- */

/* `next`: what is to be done. */
static hn_status check_turn(const hn_finetune_run *r, const char *next, bool is_its)
{
    HN_REQUIRE(r, HN_ERR_ARGUMENT, "%s: expected a run, found NULL", next);
    HN_TRY(hn_engine_check(r->examples->engine));
    HN_REQUIRE(r->o.out, HN_ERR_ARGUMENT, "hn_finetune_run_options.out: expected a folder, found NULL");
    HN_REQUIRE(is_its, HN_ERR_ARGUMENT, "%s: a run is taken up, trained, finished and reported on, in this order", next);
    return HN_OK;
}

hn_status hn_finetune_run_resume(hn_finetune_run *r, int64_t *step, int32_t *is_old)
{
    HN_ENTER();
    HN_TRY(check_turn(r, "hn_finetune_run_resume", r && r->inner && !r->is_done));
    HN_TRY(hn_train_run_resume(r->inner));
    if (step)
        *step = hn_train_run_state(r->inner)->step;
    if (is_old)
        *is_old = hn_train_run_is_old(r->inner);
    return HN_OK;
}

hn_status hn_finetune_run_go(hn_finetune_run *r)
{
    HN_ENTER();
    HN_TRY(check_turn(r, "hn_finetune_run_go", r && r->inner && !r->is_done));
    const hn_train_watch watch = { .context = r, .step = on_step, .evaluated = on_evaluated, .saved = on_saved,
                                   .cancel = hn_engine_cancelled(r->examples->engine) };
    HN_TRY(hn_train_run_go(r->inner, &watch));
    r->is_done = true;
    return HN_OK;
}

hn_status hn_finetune_run_finish(hn_finetune_run *r, hn_finetune_result *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_finetune_result, result, to, size);
    HN_REQUIRE(to, HN_ERR_ARGUMENT, "hn_finetune_run_finish: expected a result, found NULL");
    HN_TRY(check_turn(r, "hn_finetune_run_finish", r && r->is_done && !r->is_finished));
    const hn_status status = hn_train_run_finish(r->inner, r->result, result->sha256);
    if (status != HN_OK) {
        memset(result, 0, sizeof *result);
        return status;
    }
    r->is_finished = true;
    memcpy(result->path, r->result, sizeof r->result);
    result->n_steps = hn_train_run_state(r->inner)->step;
    result->last_loss = hn_train_run_state(r->inner)->last_loss;
    snprintf(result->verdict, sizeof result->verdict, "%s", hn_train_run_verdict(r->inner));
    return HN_OK;
}

/* ---- what it leaves ---- */

/* Gives the memory of training back; what the run was told to hold to goes on, and its folder stays its own. */
static void end_training(hn_finetune_run *r)
{
    hn_heap *heap = &r->examples->engine->heap;
    const size_t limit = heap->limit_bytes;
    r->folder = hn_train_run_take_lock(r->inner);
    hn_train_run_free(r->inner);
    r->inner = NULL;
    heap->limit_bytes = limit;
}

static hn_status check_folder(const hn_finetune_run *r)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/lock", r->o.out);
    return hn_lock_file_check(&r->folder, path);
}

static hn_status report(hn_finetune_run *r, hn_finetune_page *page)
{
    const hn_train_input *in = &r->examples->in;
    hn_heap *heap = &r->examples->engine->heap;
    char path[4096], version[40];
    const hn_origin origin = { .command = r->o.command ? r->o.command : "", .version = version,
                               .model = r->examples->told->model, .dataset = in->data.dataset };
    hn_samples_options o = { .model = in->model, .dataset = in->data.dataset, .run = in->run,
                             .dir = r->o.out, .result = r->result, .is_model = r->layout.is_model != 0,
                             .n = r->o.samples, .tokenizer = in->tokenizer,
                             .template = in->template };
    bool left_out = false;
    HN_TRY(hn_train_config_numerics(&r->config, &o.run.numerics));
    snprintf(version, sizeof version, "%d.%d.%d", HN_VERSION_MAJOR, HN_VERSION_MINOR, HN_VERSION_PATCH);
    HN_TRY(hn_origin_write(heap, r->o.out, &origin));
    const hn_status status = hn_samples_write(heap, &o, &left_out);
    char said[512];
    snprintf(said, sizeof said, "%s", status != HN_OK || left_out ? hn_error_message() : "");
    if (left_out)
        snprintf(page->left_out, sizeof page->left_out, "%s", said);
    HN_TRY(hn_run_report_write(heap, r->o.out, path)); /* the run is worth what it is: its page, then what went wrong */
    snprintf(page->path, sizeof page->path, "%s", path);
    return status == HN_OK ? HN_OK : hn_fail(status, "samples: %s", said);
}

hn_status hn_finetune_run_report(hn_finetune_run *r, hn_finetune_page *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_finetune_page, page, to, size);
    HN_REQUIRE(to, HN_ERR_ARGUMENT, "hn_finetune_run_report: expected a page, found NULL");
    HN_TRY(check_turn(r, "hn_finetune_run_report", r && r->is_finished && r->inner));
    end_training(r);
    HN_TRY(check_folder(r));
    return report(r, page);
}
