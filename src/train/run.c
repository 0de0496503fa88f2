/* The loop of a run. Who owns whom: run_parts.h. What happens in a step, and who does it:
 *
 *     state.step  --steps (data/steps.c)-->  numbers of examples      a function of seed and step: nothing is shuffled
 *                 --batch.c-->               tokens, masks            read when wanted
 *                 --schedule.c-->            rate                     a function of the step
 *                 --learner.c-->             micro-batches, a check that all is finite, the update
 *                 --run_result.c-->          every trained tensor had a gradient
 *                 --metrics.c-->             a line
 *     then, if it is due:  evaluator.c, the held-out loss;  checkpoint.c, all that a later step depends on
 *
 * The loop holds no state but `state`: each step is a function of it, the learner's weights and moments, and the
 * basis (run_basis.c), of which the checkpoint has the digests. That is why a run that was killed anywhere and goes on
 * from its newest checkpoint ends with the same bits. What would break it is a step that reads the clock, a counter of
 * its own, or how far another thread is. A failure leaves the folder as the last checkpoint had it; cancelling ends
 * the step that runs, saves, and is told as HN_ERR_CANCELLED. */
#include "train/run_parts.h"

#include "base/map_file.h"
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/work.h"
#include "models/identity.h"
#include "train/adapter_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- planning ---- */

static hn_status make_basis(hn_train_run *r)
{
    const hn_run_basis_of of = { r->on.model, r->on.dataset, r->on.data_text, r->on.tokenizer,
                                 r->on.template };
    return hn_run_basis_make(&r->basis, r->heap, &r->config, &of);
}

static hn_status plan_steps(hn_train_run *r)
{
    const hn_train_config *c = &r->config;
    const hn_steps_options o = { .seed = (uint64_t)c->seed,
                                 .batch = c->batch_tokens ? 0 : (uint32_t)c->batch,
                                 .step_tokens = (uint64_t)c->batch_tokens,
                                 .window = (uint32_t)c->window,
                                 .epochs = c->steps ? 0 : c->epochs,
                                 .in_order = c->in_order };
    uint64_t n = 0;
    HN_TRY(hn_steps_init(&r->steps, r->heap, r->on.dataset, &o));
    if (!c->steps)
        HN_TRY(hn_steps_count(&r->steps, &n));
    r->n_steps = c->steps ? c->steps : (int64_t)n;
    HN_REQUIRE(r->n_steps > 0, HN_ERR_ARGUMENT, "not a single step: %g epochs of %llu examples",
               c->epochs, (unsigned long long)r->steps.epoch_size);
    r->plan.n_steps = r->n_steps;
    return hn_train_config_schedule(c, r->n_steps, &r->schedule);
}

static hn_status plan_tuning(hn_train_run *r)
{
    const hn_tune_settings otherwise = hn_train_config_tuning(&r->config);
    hn_tune_targets targets;
    HN_TRY(hn_tune_targets_parse(r->heap, r->config.targets, &otherwise, &targets));
    const hn_status status = hn_tuning_new(r->heap, r->on.model, &targets, (uint64_t)r->config.seed,
                                           &r->tuning);
    hn_tune_targets_free(r->heap, &targets);
    return status;
}

/* What is of low-rank changes alone, where there are none. */
static hn_status check_ranks(const hn_train_run *r)
{
    const hn_train_config usual = hn_train_config_default(), *c = &r->config;
    const char *told = c->rank != usual.rank ? "rank" : c->alpha > 0 ? "alpha" : c->rooted ? "rslora" : c->dropout > 0 ? "dropout" : NULL;
    bool is_any = false;
    for (int i = 0; i < r->tuning->n_tuned; i++)
        is_any = is_any || r->tuning->tuned[i].settings.how != HN_TUNE_FULL;
    HN_REQUIRE(is_any || !told, HN_ERR_ARGUMENT, "--%s is of low-rank changes: with --targets %.200s whole tensors alone are trained", told,
               c->targets);
    return HN_OK;
}

static hn_status make(hn_train_run *r)
{
    HN_TRY(hn_train_config_check(&r->config));
    hn_goal goal;
    HN_TRY(hn_goal_parse(r->config.goal, &goal));
    HN_TRY(hn_goal_check_data(goal, r->on.dataset));
    HN_TRY(plan_tuning(r));
    HN_REQUIRE(!r->config.patience || r->on.dataset->n_held, HN_ERR_ARGUMENT,
               "--patience %lld: no example is held out: expected --held or --held-fraction with it", (long long)r->config.patience);
    HN_REQUIRE(!r->config.eval_every || r->on.dataset->n_held, HN_ERR_ARGUMENT,
               "--eval-every %lld: no example is held out: expected --held or --held-fraction with it", (long long)r->config.eval_every);
    HN_REQUIRE(!r->config.keep_adapters || !hn_tuning_is_full(r->tuning), HN_ERR_ARGUMENT,
               "--keep-adapters: whole tensors alone are trained, and of that no adapter comes");
    HN_REQUIRE(!r->config.samples_along || r->on.n_samples > 0, HN_ERR_ARGUMENT,
               "--samples-along: no samples are made (--samples 0): there is nothing to answer");
    HN_TRY(check_ranks(r));
    HN_TRY(plan_steps(r));
    HN_TRY(make_basis(r));
    return hn_run_fit(r);
}

hn_status hn_train_run_new(hn_train_run **out, hn_heap *heap, const hn_train_subject *subject)
{
    *out = NULL;
    hn_train_run *r = hn_alloc(heap, HN_TAG_PLAN, sizeof *r);
    if (!r)
        return HN_ERR_MEMORY;
    r->heap = heap;
    r->limit_before = heap->limit_bytes;
    r->on = *subject;
    HN_TRY(hn_train_config_numerics(subject->config, &r->on.run.numerics));
    r->config = *subject->config;
    if (!r->config.targets)
        r->config.targets = hn_default_targets(subject->model);
    r->batch = hn_batch_on(heap);
    r->example = hn_example_on(heap);
    r->verdict = hn_str_on(heap);
    r->state.best_loss = HUGE_VAL;
    r->state.best_step = -1;
    const hn_status status = make(r);
    if (status != HN_OK) {
        hn_train_run_free(r);
        return status;
    }
    *out = r;
    return HN_OK;
}

void hn_train_run_free(hn_train_run *r)
{
    if (!r)
        return;
    hn_metrics_close(&r->metrics);
    hn_lock_file_release(&r->lock);
    hn_run_basis_free(&r->basis);
    hn_run_release(r);
    r->heap->limit_bytes = r->limit_before;
    hn_tuning_free(r->tuning);
    hn_batch_free(&r->batch);
    hn_example_free(&r->example);
    hn_str_free(&r->verdict);
    hn_prompts_free(&r->prompts);
    hn_data_step_free(r->heap, &r->data_step);
    hn_free(r->heap, r);
}

hn_lock_file hn_train_run_take_lock(hn_train_run *r)
{
    const hn_lock_file lock = r->lock;
    r->lock = (hn_lock_file){ 0 };
    return lock;
}

hn_train_plan hn_train_run_plan(const hn_train_run *r)
{
    return r->plan;
}

const hn_tuning *hn_train_run_tuning(const hn_train_run *r)
{
    return r->tuning;
}

hn_learner *hn_train_run_learner(hn_train_run *r)
{
    return r->learner;
}

bool hn_train_run_is_old(const hn_train_run *r)
{
    return r->is_old;
}

const hn_run_state *hn_train_run_state(const hn_train_run *r)
{
    return &r->state;
}

const char *hn_train_run_verdict(const hn_train_run *r)
{
    return r->verdict.text;
}

/* ---- going on ---- */

hn_status hn_train_run_resume(hn_train_run *r)
{
    int64_t *steps = NULL;
    size_t n = 0;
    char path[HN_RUN_PATH];
    HN_TRY(hn_run_take_folder(r));
    HN_TRY(hn_run_checkpoints(r, &steps, &n));
    const int64_t newest = n ? steps[n - 1] : -1;
    hn_free(r->heap, steps);
    if (newest < 0) { /* killed before its first: nothing was done yet */
        HN_REQUIRE(hn_run_is_told(r), HN_ERR_IO,
                   "%s: no run to go on with: no checkpoint and no " HN_RUN_TOLD, r->on.dir);
        r->is_resumed = true;
        return HN_OK;
    }
    hn_run_state found = { 0 };
    hn_run_checkpoint_path(r, newest, path);
    HN_TRY(hn_run_make(r));
    HN_TRY(hn_run_basis_settle(&r->basis));
    HN_TRY(hn_checkpoint_read(r->learner, path, &r->basis, &found, &r->is_old));
    HN_REQUIRE(found.step <= r->n_steps, HN_ERR_FORMAT, "checkpoint %s: step %lld of %lld", path,
               (long long)found.step, (long long)r->n_steps);
    r->state = found;
    r->is_resumed = true;
    return HN_OK;
}

/* ---- a step ---- */

static int64_t save_interval(const hn_train_run *r)
{
    return r->config.save_every ? r->config.save_every : r->n_steps / 10 > 0 ? r->n_steps / 10 : 1;
}

static hn_status run_step(hn_train_run *r, const hn_train_watch *watch)
{
    const int64_t begun = hn_clock_ns();
    hn_learned learned;
    HN_TRY(hn_steps_at(&r->steps, (uint64_t)r->state.step, &r->data_step));
    HN_REQUIRE(r->data_step.n, HN_ERR_ARGUMENT, "step %lld has no examples",
               (long long)r->state.step + 1);
    HN_TRY(hn_batch_read(&r->batch, r->on.dataset, &r->data_step, &r->example));
    const float rate = hn_schedule_rate(&r->schedule, r->state.step);
    HN_TRY(hn_learner_step(r->learner, &r->batch, r->state.step, rate, NULL, &learned));
    HN_TRY(hn_run_check_moved(r));
    r->state.step++;
    r->state.examples += (int64_t)r->batch.n_examples;
    r->state.tokens += (int64_t)r->batch.n_tokens;
    r->state.supervised += (int64_t)r->batch.n_supervised;
    r->state.last_loss = learned.loss;
    const hn_step_report report = {
        .step = r->state.step, .n_steps = r->n_steps, .loss = learned.loss,
        .grad_norm = learned.grad_norm, .rate = (double)rate, .epoch = r->data_step.epoch,
        .tokens = (int64_t)r->batch.n_tokens, .supervised = (int64_t)r->batch.n_supervised,
        .n_micro = learned.n_micro, .seconds = (double)(hn_clock_ns() - begun) * 1e-9,
        .resident_bytes = hn_resident_bytes(),
    };
    HN_TRY(hn_metrics_step(&r->metrics, &report));
    if (watch->step)
        watch->step(watch->context, &report);
    return HN_OK;
}

static hn_status save(hn_train_run *r, const hn_train_watch *watch, bool is_best)
{
    char path[HN_RUN_PATH];
    int64_t *steps = NULL;
    size_t n = 0;
    HN_WORK_INSISTS(); /* a run that is ended is saved */
    HN_TRY(hn_run_holds_folder(r));
    HN_TRY(hn_run_basis_unchanged(&r->basis, r->on.dataset));
    if (is_best) {
        hn_run_path(r, "best.ckpt", path);
        return hn_checkpoint_write(r->learner, &r->state, &r->basis, path);
    }
    hn_run_checkpoint_path(r, r->state.step, path);
    HN_TRY(hn_checkpoint_write(r->learner, &r->state, &r->basis, path));
    if (watch->saved)
        watch->saved(watch->context, path);
    HN_TRY(hn_run_checkpoints(r, &steps, &n));
    for (size_t i = 0; n > (size_t)r->config.keep && i < n - (size_t)r->config.keep; i++) {
        hn_run_checkpoint_path(r, steps[i], path);
        hn_os_remove(path); /* one too many is no failure */
    }
    hn_free(r->heap, steps);
    return HN_OK;
}

static hn_status evaluate(hn_train_run *r, const hn_train_watch *watch, bool *stops)
{
    hn_evaluation result;
    HN_TRY(hn_train_run_evaluate(r, NULL, &result));
    HN_REQUIRE(isfinite(result.loss), HN_ERR_NUMERIC, "step %lld: the loss on held-out data is %g",
               (long long)r->state.step, result.loss);
    const bool is_best = result.loss < r->state.best_loss;
    r->state.n_worse = is_best ? 0 : r->state.n_worse + 1;
    if (is_best) {
        r->state.best_loss = result.loss;
        r->state.best_step = r->state.step;
        if (r->config.patience)
            HN_TRY(save(r, watch, true));
    }
    HN_TRY(hn_metrics_evaluation(&r->metrics, r->state.step, &result));
    if (watch->evaluated)
        watch->evaluated(watch->context, r->state.step, &result, is_best);
    *stops = r->config.patience && r->state.n_worse >= r->config.patience;
    return HN_OK;
}

hn_status hn_train_run_evaluate(hn_train_run *r, const hn_run_options *options, hn_evaluation *out)
{
    HN_REQUIRE(r->evaluator, HN_ERR_ARGUMENT, "no examples are held out");
    HN_TRY(hn_run_make(r));
    return hn_evaluator_run(r->evaluator, r->on.dataset, 0, options, out);
}

/* ---- all of them ---- */

static hn_status prepare_folder(hn_train_run *r)
{
    char path[HN_RUN_PATH];
    HN_TRY(hn_run_take_folder(r));
    if (!r->is_resumed)
        HN_TRY(hn_run_clear_folder(r));
    HN_TRY(hn_run_write_told(r)); /* of a resumed run too: files may have moved, memory may be less */
    hn_run_path(r, "metrics.jsonl", path);
    return hn_metrics_open(&r->metrics, r->heap, path, r->state.step);
}

/* What the model was worth before: of no step, so never the best. */
static hn_status evaluate_first(hn_train_run *r, const hn_train_watch *watch)
{
    hn_evaluation result;
    if (!r->evaluator || r->state.step)
        return HN_OK;
    HN_TRY(hn_train_run_evaluate(r, NULL, &result));
    HN_TRY(hn_metrics_evaluation(&r->metrics, 0, &result));
    if (watch->evaluated)
        watch->evaluated(watch->context, 0, &result, false);
    return HN_OK;
}

static hn_status go(hn_train_run *r, const hn_train_watch *watch)
{
    HN_TRY(evaluate_first(r, watch));
    bool stops = r->config.patience && r->state.n_worse >= r->config.patience;
    /* A run may have ended between a checkpoint and its answers. */
    const bool was_due = stops || r->state.step == r->n_steps || r->state.step % save_interval(r) == 0;
    if (was_due && !r->metrics.has_samples)
        HN_TRY(hn_run_sample(r, watch->cancel));
    int64_t saved = r->is_resumed ? r->state.step : -1;
    while (r->state.step < r->n_steps && !stops && !hn_is_cancelled(watch->cancel)) {
        HN_TRY(run_step(r, watch));
        const bool is_last = r->state.step == r->n_steps;
        const bool is_due = r->state.step % save_interval(r) == 0;
        if (r->evaluator && (is_last || (r->config.eval_every &&
                                         r->state.step % r->config.eval_every == 0)))
            HN_TRY(evaluate(r, watch, &stops));
        if (is_due || is_last || stops)
            HN_TRY(hn_metrics_experts(&r->metrics, r->state.step, r->learner));
        if (is_due || is_last || stops || hn_is_cancelled(watch->cancel)) {
            HN_TRY(save(r, watch, false));
            saved = r->state.step;
            HN_TRY(hn_run_sample(r, watch->cancel)); /* what is saved is lost to no failure here */
        }
    }
    if (r->state.step < r->n_steps && !stops) {
        if (saved != r->state.step)
            HN_TRY(save(r, watch, false));
        return hn_fail(HN_ERR_CANCELLED, "stopped after step %lld of %lld: the run is saved in %s",
                       (long long)r->state.step, (long long)r->n_steps, r->on.dir);
    }
    return HN_OK;
}

hn_status hn_train_run_go(hn_train_run *r, const hn_train_watch *watch)
{
    static const hn_train_watch nobody = { 0 };
    HN_TRY(hn_model_begin_identity(r->on.model, (int)r->config.threads)); /* needed by the first save */
    HN_TRY(hn_run_make(r));
    HN_TRY(prepare_folder(r));
    const hn_status status = go(r, watch ? watch : &nobody);
    if (status != HN_OK && status != HN_ERR_CANCELLED) /* what comes of zeros is told by its cause */
        HN_TRY(hn_map_check(r->heap));
    HN_TRY(status);
    HN_TRY(hn_run_judge(r));
    if (!r->config.patience || r->state.best_step < 0 || r->state.best_step == r->state.step)
        return HN_OK;
    char path[HN_RUN_PATH];
    hn_run_path(r, "best.ckpt", path);
    return hn_checkpoint_read(r->learner, path, &r->basis, &r->state, &r->is_old);
}
