/* What a scheduler says to those who asked. */
#include "engine/scheduler.h"

#include "engine/likeliest.h"
#include "infer/log_sum.h"

static void call_host(const hn_request *r, const hn_lm_drawn *token, void (*call)(void *, const hn_lm_drawn *))
{
    HN_CALL_HOST();
    call(r->r.context, token);
}

/* What the model says of it, whatever it is drawn from. */
static void tell(const hn_lm_scheduler *s, const hn_request *r, int32_t id, int64_t number, int64_t row, bool is_scored,
                 void (*call)(void *, const hn_lm_drawn *))
{
    hn_lm_likely likeliest[HN_MOST_LIKELY];
    hn_lm_drawn token = { .request = r->number, .number = number, .id = id, .likeliest = likeliest };
    const float *logits = hn_lm_batch_logits(s->batch, (size_t)row);
    if (is_scored || r->r.likeliest) {
        const int64_t vocab = hn_lm_vocabulary(s->lm);
        int64_t best;
        const double sum = hn_log_sum(logits, vocab, &best);
        token.log_probability = is_scored ? (double)logits[id] - sum : 0;
        token.n_likeliest = hn_likeliest(logits, vocab, sum, r->r.likeliest, likeliest);
    }
    call_host(r, &token, call);
}

/* What it was drawn from is made again, after the ids before it: a guess that was right was held to it in between. */
static hn_status tell_drawn(const hn_lm_scheduler *s, const hn_request *r, int32_t id, int64_t number, int64_t row)
{
    hn_lm_likely likeliest[HN_MOST_LIKELY];
    hn_lm_drawn token = { .request = r->number, .number = number, .id = id, .n_likeliest = r->r.likeliest, .likeliest = likeliest };
    const float *logits = hn_lm_batch_logits(s->batch, (size_t)row);
    double log_probability;
    HN_TRY(hn_lm_sampler_foretell(r->sampler, logits, r->ids, (size_t)r->n_ids - 1, id, &log_probability, likeliest, &token.n_likeliest));
    token.log_probability = r->r.scores ? log_probability : 0;
    call_host(r, &token, r->r.on_token);
    return HN_OK;
}

hn_status hn_scheduler_tell_token(const hn_lm_scheduler *s, const hn_request *r, int32_t id, int64_t row)
{
    const int64_t number = r->n_ids - 1 - r->n_prompt;
    if (!r->r.on_token)
        return HN_OK;
    if (r->r.scores_drawn && (r->r.scores || r->r.likeliest))
        return tell_drawn(s, r, id, number, row);
    tell(s, r, id, number, row, r->r.scores != 0, r->r.on_token);
    return HN_OK;
}

void hn_scheduler_tell_score(const hn_lm_scheduler *s, const hn_request *r, int64_t row)
{
    tell(s, r, r->ids[r->n_scored], r->n_scored, row, true, r->r.on_scored);
}

void hn_scheduler_tell_end(const hn_request *r, const hn_lm_ended *ended)
{
    if (!r->r.on_end)
        return;
    HN_CALL_HOST();
    r->r.on_end(r->r.context, ended);
}
