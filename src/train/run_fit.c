/* A run's memory: the largest micro-batches that fit, and as little recomputation. Smaller ones
 * change no bit of the result, only how often weights are read. */
#include "train/run_parts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ENOUGH_TOKENS = 512, MOST_TOKENS = 8192, LOOKED_AT = 2000, PROGRAM_BYTES = 6 << 20 };

/* Tokens of one example, trained or held out; and of the largest step, of as many as a look at them
 * is quick. A larger one that comes later is cut into micro-batches. */
static hn_status measure_examples(hn_train_run *r, int64_t *longest, int64_t *step)
{
    const hn_dataset *d = r->on.dataset;
    *longest = 1;
    for (uint64_t i = 0; i < d->n; i++)
        if ((d->fates[i] == HN_FATE_TRAINED || d->fates[i] == HN_FATE_HELD) && d->tokens[i] > *longest)
            *longest = d->tokens[i];
    *step = *longest;
    for (int64_t k = 0; k < r->n_steps && k < LOOKED_AT; k++) {
        int64_t sum = 0;
        HN_TRY(hn_steps_at(&r->steps, (uint64_t)k, &r->data_step));
        for (size_t i = 0; i < r->data_step.n; i++)
            sum += d->tokens[r->data_step.examples[i]];
        *step = sum > *step ? sum : *step;
    }
    return HN_OK;
}

static size_t weights_bytes(const hn_train_run *r)
{
    const nn_build *b = &hn_learner_objective(r->learner)->policy;
    size_t sum = 0;
    for (int i = 0; i < b->n_bound; i++) {
        bool own = false;
        for (int k = 0; k < r->tuning->n_tensors; k++)
            own = own || b->bound[i].weight == &r->tuning->tensors[k].weight;
        sum += own ? 0 : hn_type_bytes(&b->bound[i].weight->type);
    }
    return sum;
}

static size_t total_bytes(const hn_train_run *r, const hn_train_plan *p)
{
    return p->bytes.workspace + p->bytes.sums + p->bytes.moments + p->bytes.parameters +
           p->bytes.inputs + p->evaluation_bytes + p->weights_bytes + PROGRAM_BYTES +
           (size_t)r->on.dataset->n * 25;
}

static void release(hn_train_run *r)
{
    hn_learner_free(r->learner);
    hn_evaluator_free(r->evaluator);
    r->learner = NULL;
    r->evaluator = NULL;
}

static hn_status compile(hn_train_run *r, int64_t tokens, int64_t recompute, int64_t longest)
{
    hn_learner_options o;
    HN_TRY(hn_train_config_learner(&r->config, &o));
    o.objective.max_tokens = tokens;
    o.descent.recompute_every = (int)recompute;
    release(r);
    HN_TRY(hn_learner_new(&r->learner, r->heap, r->on.model, r->tuning, r->on.device, &o));
    o.objective.max_tokens = longest;
    if (r->on.dataset->n_held)
        HN_TRY(hn_evaluator_new(&r->evaluator, r->heap, r->on.model, r->tuning, NULL, r->on.device,
                                &o.objective));
    r->plan.micro_tokens = tokens;
    r->plan.recompute = recompute;
    r->plan.bytes = hn_learner_memory(r->learner);
    r->plan.evaluation_bytes = r->evaluator ? hn_evaluator_workspace(r->evaluator) : 0;
    r->plan.weights_bytes = weights_bytes(r);
    r->plan.total_bytes = total_bytes(r, &r->plan);
    return HN_OK;
}

/* What may be taken: as told, or nine tenths of what the machine has free. */
static hn_status budget(const hn_train_run *r, size_t *out)
{
    if (r->config.memory)
        return hn_memory_parse(r->config.memory, out);
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    *out = pages > 0 && size > 0 ? (size_t)pages / 10 * 9 * (size_t)size : SIZE_MAX;
    return HN_OK;
}

static hn_status refuse(const hn_train_run *r, size_t limit)
{
    const hn_train_plan *p = &r->plan;
    return hn_fail(HN_ERR_MEMORY,
                   "%.2f GiB are needed, with micro-batches of %lld tokens and every layer "
                   "recomputed (weights %.2f, workspace %.2f, trained tensors with gradients and "
                   "moments %.2f), and %.2f are there: shorter examples (--max-length) or fewer "
                   "targets need less", (double)p->total_bytes / 0x1p30,
                   (long long)p->micro_tokens, (double)p->weights_bytes / 0x1p30,
                   (double)p->bytes.workspace / 0x1p30,
                   (double)(p->bytes.parameters + p->bytes.sums + p->bytes.moments) / 0x1p30,
                   (double)limit / 0x1p30);
}

hn_status hn_run_fit(hn_train_run *r)
{
    int64_t longest, step;
    size_t limit;
    HN_TRY(measure_examples(r, &longest, &step));
    HN_TRY(budget(r, &limit));
    const int64_t n_layer = hn_model_hparams(r->on.model)->n_layer;
    const int64_t every[] = { 0, n_layer / 4 > 2 ? n_layer / 4 : 2, 2, 1 };
    int64_t most = step < MOST_TOKENS ? step : MOST_TOKENS;
    most = most > longest ? most : longest;
    if (r->config.micro_tokens) {
        HN_REQUIRE(r->config.micro_tokens >= longest, HN_ERR_ARGUMENT,
                   "--micro-tokens %lld: the longest example has %lld",
                   (long long)r->config.micro_tokens, (long long)longest);
        most = r->config.micro_tokens;
    }
    const int64_t enough = longest > ENOUGH_TOKENS ? longest : ENOUGH_TOKENS;
    for (int k = 0; k < 4; k++) {
        if (r->config.recompute >= 0 && k > 0)
            break;
        const int64_t recompute = r->config.recompute >= 0 ? r->config.recompute : every[k];
        for (int64_t tokens = most;; tokens /= 2) {
            /* short of recomputing everything, small micro-batches are not worth it */
            const int64_t least = k == 3 || r->config.recompute >= 0 ? longest : enough;
            const int64_t at = tokens > least ? tokens : least < most ? least : most;
            HN_TRY(compile(r, at, recompute, longest));
            if (r->plan.total_bytes <= limit)
                return HN_OK;
            if (at != tokens || r->config.micro_tokens || tokens <= least)
                break;
        }
    }
    const hn_status status = refuse(r, limit);
    release(r);
    return status;
}
