/* Answers while a run trains: a session over the very tensors that it trains, made for one round and freed, for the keys
 * that it holds are of weights that the next step changes. It reads them and draws no number: the run's bits are those of
 * a run without. */
#include "train/run_parts.h"

static hn_status answer(hn_train_run *r, const hn_run_options *options, hn_str *answers)
{
    nn_build_options changed = { 0 };
    hn_session_options o = hn_prompts_session(&r->prompts);
    hn_session *session;
    hn_tuning_apply(r->tuning, &changed);
    o.changed = &changed;
    HN_TRY(hn_session_new(&session, r->heap, r->on.model, r->on.run, &o));
    hn_status status = HN_OK;
    for (int i = 0; i < r->prompts.n && status == HN_OK; i++)
        status = hn_prompt_answer(&r->prompts, i, session, options, &answers[i]);
    hn_session_free(session);
    return status;
}

static hn_status sample(hn_train_run *r, const hn_cancel_flag *cancel)
{
    const hn_run_options options = { .cancel = cancel };
    hn_str *answers = hn_alloc_array(r->heap, HN_TAG_TEXT, (size_t)r->prompts.n, sizeof *answers);
    if (!answers)
        return HN_ERR_MEMORY;
    for (int i = 0; i < r->prompts.n; i++)
        answers[i] = hn_str_on(r->heap);
    hn_status status = answer(r, &options, answers);
    if (status == HN_OK)
        status = hn_metrics_samples(&r->metrics, r->state.step, &r->prompts, answers);
    for (int i = 0; i < r->prompts.n; i++)
        hn_str_free(&answers[i]);
    hn_free(r->heap, answers);
    return status == HN_ERR_CANCELLED ? HN_OK : status;
}

hn_status hn_run_sample(hn_train_run *r, const hn_cancel_flag *cancel)
{
    if (!r->config.samples_along || hn_is_cancelled(cancel))
        return HN_OK;
    if (!r->prompts.heap)
        HN_TRY(hn_prompts_take(&r->prompts, r->heap, r->on.model, r->on.dataset, r->on.n_samples));
    return r->prompts.n ? sample(r, cancel) : HN_OK; /* texts have no prompts */
}
