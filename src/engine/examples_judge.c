/* How good a model, with an adapter or without, is on examples. */
#include "engine/examples.h"
#include "engine/lm.h"
#include "infer/adapter.h"
#include "train/evaluator.h"

#include <stdio.h>
#include <string.h>

typedef struct judge {
    hn_examples *examples;
    hn_examples_judge_options o;
    hn_train_config config;
    hn_run_spec run;
    hn_run_options options; /* of its programs: what ends them */
    hn_objective_options objective;
    hn_adapters adapters;
    hn_evaluator *evaluator;
    hn_example example;
    hn_batch batch;
    hn_evaluation sums;
} judge;

/* By the goal that was asked for, or the first that takes such examples. */
static hn_status settle(judge *j)
{
    const hn_dataset *d = j->examples->in.data.dataset;
    hn_learner_options learner;
    hn_goal goal = hn_goal_for(d);
    bool is_asked = false;
    for (int32_t i = 0; i < j->o.n_settings; i++)
        is_asked = is_asked || !strncmp(j->o.settings[i], "goal=", 5);
    if (is_asked)
        HN_TRY(hn_goal_parse(j->config.goal, &goal));
    HN_TRY(hn_goal_check_data(goal, d));
    j->config.goal = hn_goal_spec_of(goal)->name;
    HN_TRY(hn_train_config_check(&j->config));
    HN_TRY(hn_train_config_learner(&j->config, &learner));
    j->objective = learner.objective;
    j->objective.max_tokens = 1;
    for (uint64_t i = 0; i < d->n; i++)
        if (d->tokens[i] > j->objective.max_tokens)
            j->objective.max_tokens = d->tokens[i];
    return HN_OK;
}

static hn_status open_adapter(judge *j, hn_adapter_trial *told)
{
    hn_adapter *adapter;
    const hn_train_input *in = &j->examples->in;
    const hn_adapter_use use = { .may_be_forced = true, .model = in->model, .run = j->run, .tokenizer = in->tokenizer, .template = in->template,
                                 .renders_nothing = !in->template[0], .scale = j->o.scale,
                                 .is_forced = j->o.is_forced != 0 };
    HN_TRY(hn_adapter_open(&adapter, in->heap, j->o.adapter, &use, told));
    const hn_status status = hn_adapters_add(&j->adapters, adapter);
    if (status != HN_OK)
        hn_adapter_close(adapter);
    return status;
}

static hn_status add_batch(judge *j)
{
    const hn_status status = hn_evaluator_add(j->evaluator, &j->batch, &j->options, &j->sums);
    hn_batch_clear(&j->batch);
    return status;
}

static hn_status count_judged(const judge *j, hn_fate wanted, int64_t *out)
{
    const hn_dataset *d = j->examples->in.data.dataset;
    int64_t n = 0;
    for (uint64_t i = 0; i < d->n; i++)
        n += d->fates[i] == wanted;
    HN_REQUIRE(j->o.most <= n, HN_ERR_ARGUMENT, "--examples %lld: there are %lld", (long long)j->o.most, (long long)n);
    *out = j->o.most ? j->o.most : n;
    return HN_OK;
}

static hn_status add_all(judge *j)
{
    const hn_dataset *d = j->examples->in.data.dataset;
    const hn_fate wanted = d->n_held ? HN_FATE_HELD : HN_FATE_TRAINED;
    int64_t all = 0, n = 0;
    HN_TRY(count_judged(j, wanted, &all));
    for (uint64_t i = 0; i < d->n && n < all; i++) {
        if (d->fates[i] != wanted)
            continue;
        n++;
        HN_TRY(hn_dataset_read(d, i, &j->example));
        HN_TRY(hn_batch_add(&j->batch, &j->example));
        if (j->batch.n_examples == hn_evaluator_together(j->evaluator))
            HN_TRY(add_batch(j));
        HN_TRY(hn_work_tell((uint64_t)n, (uint64_t)all, "judging"));
    }
    return j->batch.n_examples ? add_batch(j) : HN_OK;
}

static hn_status run(judge *j, hn_adapter_trial *told)
{
    const hn_train_input *in = &j->examples->in;
    const bool was_counted = j->examples->is_counted;
    HN_TRY(hn_examples_want_model(j->examples));
    HN_TRY(settle(j));
    if (j->o.adapter)
        HN_TRY(open_adapter(j, told));
    HN_TRY(hn_evaluator_new(&j->evaluator, in->heap, in->model, NULL, j->o.adapter ? &j->adapters : NULL, j->run,
                            &j->objective));
    const hn_work_part rest = hn_work_part_begin(was_counted ? 0.1 : 0.5, 1);
    return hn_work_part_end(&rest, add_all(j));
}

static hn_status take_options(judge *j)
{
    static const hn_numerics numerics[] = { [HN_LM_F32] = HN_NUMERICS_F32, [HN_LM_BF16] = HN_NUMERICS_BF16,
                                            [HN_LM_MIXED] = HN_NUMERICS_MIXED };
    hn_engine *engine = j->examples->engine;
    HN_REQUIRE((unsigned)j->o.numerics <= HN_LM_MIXED, HN_ERR_ARGUMENT,
               "numerics '%s': losses are of f32 or mixed numerics, HN_LM_F32 or HN_LM_MIXED",
               hn_lm_numerics_name(j->o.numerics));
    HN_REQUIRE(j->o.most >= 0, HN_ERR_ARGUMENT, "hn_examples_judge_options.most is %lld: expected at least 0",
               (long long)j->o.most);
    j->config = hn_train_config_default();
    HN_TRY(hn_take_run_settings("hn_examples_judge_options.settings", j->o.settings, j->o.n_settings,
                                HN_SETTINGS_OF_GOAL, &j->config));
    j->run = engine->run;
    j->run.numerics = numerics[j->o.numerics];
    j->options = (hn_run_options){ .cancel = hn_engine_cancelled(engine) };
    j->example = hn_example_on(&engine->heap);
    j->batch = hn_batch_on(&engine->heap);
    return HN_OK;
}

static void close(judge *j)
{
    hn_batch_free(&j->batch);
    hn_example_free(&j->example);
    hn_evaluator_free(j->evaluator);
    hn_adapters_close(&j->adapters);
}

static void give(judge *j, hn_examples_judgement *out)
{
    hn_evaluation_finish(&j->sums);
    *out = (hn_examples_judgement){ .goal = j->config.goal, .kind = hn_examples_kind_of(j->examples),
                                    .loss = j->sums.loss, .accuracy = j->sums.accuracy, .n = j->sums.n };
}

hn_status hn_examples_judge(hn_examples *e, const hn_examples_judge_options *options, hn_examples_judgement *to,
                            size_t size, hn_lm_adapter_trial *trial_to, size_t trial_size)
{
    HN_ENTER();
    HN_GIVES(hn_examples_judgement, out, to, size);
    HN_GIVES(hn_lm_adapter_trial, trial, trial_to, trial_size);
    hn_adapter_trial told = { .note = "" };
    HN_REQUIRE(e && to, HN_ERR_ARGUMENT, "hn_examples_judge: expected examples and out, found NULL");
    judge j = { .examples = e };
    HN_TRY(hn_engine_check(e->engine));
    HN_TRY(hn_take_struct("hn_examples_judge_options", options, sizeof j.o, &j.o));
    HN_TRY(take_options(&j));
    const hn_status status = run(&j, &told);
    hn_lm_give_trial(&told, trial);
    if (status == HN_OK)
        give(&j, out);
    close(&j);
    return hn_work_done(status, "judging");
}
