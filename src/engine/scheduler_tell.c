/* What a scheduler says to those who asked. */
#include "engine/scheduler.h"

#include "infer/log_sum.h"

/* Kept in order: of equals the first stays first. */
static void add_likeliest(const hn_request *r, const float *logits, int64_t vocab, double sum, hn_lm_drawn *token, hn_lm_likely *likeliest)
{
    for (int64_t v = 0; v < vocab; v++) {
        int32_t at = token->n_likeliest;
        const double here = (double)logits[v] - sum;
        if (at == r->r.likeliest && (!at || !(here > likeliest[at - 1].log_probability)))
            continue;
        at -= at == r->r.likeliest;
        for (; at > 0 && here > likeliest[at - 1].log_probability; at--)
            likeliest[at] = likeliest[at - 1];
        likeliest[at] = (hn_lm_likely){ (int32_t)v, here };
        token->n_likeliest += token->n_likeliest < r->r.likeliest;
    }
}

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
        add_likeliest(r, logits, vocab, sum, &token, likeliest);
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
