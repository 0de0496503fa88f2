/* steps.h: an instance of an architecture under a descent, micro-batch by micro-batch, for tests of whole
 * steps. */
#ifndef TESTS_FAILURES_STEPS_H
#define TESTS_FAILURES_STEPS_H

#include "prove/check_model.h"
#include "tests/failures/bench.h"
#include "train/feed.h"

#include <string.h>

typedef struct steps {
    bench *b;
    hn_instance instance;
    hn_tuning *tuning;
    hn_learner *learner; /* its descent is driven from here */
    hn_objective *objective;
    hn_descent *descent;
    hn_micro micro;
    hn_step_numbers numbers;
    int n_params;
} steps;

/* `about`: what counts of the whole step; NULL: the instance's own sequences. */
static inline bool steps_open_for(steps *s, bench *b, const hn_instance_spec *spec, const char *arch,
                                  const hn_descent_options *options, const hn_batch *about)
{
    *s = (steps){ .b = b };
    hn_instance_spec own = *spec;
    if (!CHECK_OK(hn_arch_named(arch, &own.arch)) ||
        !CHECK_OK(hn_instance_open(&s->instance, &b->heap, &own)) ||
        !CHECK_OK(hn_instance_tune(&s->instance, &s->tuning)))
        return false;
    const hn_learner_options o = { .objective = hn_instance_objective(&s->instance), .descent = *options };
    const int64_t n = o.objective.max_tokens;
    if (!CHECK_OK(hn_learner_new(&s->learner, &b->heap, s->instance.model, s->tuning, hn_run_on(&b->env.one), &o)) ||
        !CHECK_OK(hn_micro_new(&s->micro, &b->heap, n, n, 0)))
        return false;
    about = about ? about : &s->instance.batch;
    s->numbers = (hn_step_numbers){ .count = (float)about->weight,
                                    .n_sequences = (float)about->n_sequences,
                                    .n_tokens = (float)about->n_tokens, .step = 1 };
    s->descent = hn_learner_descent(s->learner);
    s->objective = (hn_objective *)(uintptr_t)hn_learner_objective(s->learner);
    s->n_params = s->tuning->n_tensors;
    return CHECK_OK(hn_feed_bind(hn_descent_storage(s->descent), s->objective, &s->micro, &s->numbers));
}

static inline bool steps_open(steps *s, bench *b, const hn_instance_spec *spec, const char *arch,
                              const hn_descent_options *options)
{
    return steps_open_for(s, b, spec, arch, options, NULL);
}

static inline void steps_close(steps *s)
{
    hn_learner_free(s->learner);
    hn_tuning_free(s->tuning);
    hn_micro_free(&s->micro);
    hn_instance_close(&s->instance);
}

static inline float steps_weight(const steps *s, int p, size_t i)
{
    CHECK_OK(hn_tuning_pull(s->tuning));
    return hn_tuning_data(s->tuning, p)[i];
}

static inline void steps_set_weight(const steps *s, int p, size_t i, float w)
{
    CHECK_OK(hn_tuning_pull(s->tuning));
    hn_tuning_data(s->tuning, p)[i] = w;
    CHECK_OK(hn_tuning_push(s->tuning));
}

/* One micro-batch of sequences [from, to) of a batch. */
static inline hn_status steps_micro_of(steps *s, const hn_batch *batch, size_t from, size_t to,
                                       const hn_run_options *options)
{
    HN_TRY(hn_micro_fill(&s->micro, hn_model_hparams(s->instance.model), batch, from, to));
    HN_TRY(hn_descent_set_extent(s->descent, s->objective->policy.tokens_extent, (int64_t)s->micro.pack.n));
    HN_TRY(hn_descent_set_extent(s->descent, s->objective->policy.rows_extent, s->micro.n_rows));
    return hn_descent_micro(s->descent, options);
}

static inline hn_status steps_micro(steps *s, size_t from, size_t to, const hn_run_options *options)
{
    return steps_micro_of(s, &s->instance.batch, from, to, options);
}

static inline hn_status steps_all(steps *s, const hn_run_options *options)
{
    return steps_micro(s, 0, s->instance.batch.n_examples, options);
}

/* A hash of the gradients and the loss of the step so far. */
static inline uint64_t steps_digest(steps *s)
{
    uint64_t hash = 1469598103934665603u;
    hn_descent_result result;
    if (hn_descent_check(s->descent, &result) != HN_OK)
        return 0;
    for (int p = 0; p < s->n_params; p++) {
        hn_tensor t;
        if (hn_descent_gradient(s->descent, p, &t) != HN_OK)
            return 0;
        const unsigned char *at = t.data;
        for (size_t i = 0; i < hn_type_bytes(&t.type); i++)
            hash = (hash ^ at[i]) * 1099511628211u;
    }
    uint64_t loss;
    memcpy(&loss, &result.loss, sizeof loss);
    return hash ^ loss;
}

static const hn_instance_spec steps_dense = {
    .name = "dense", .n_sequences = 3, .length = { 9, 5, 12 }, .seed = 21, .vocab = 40, .width = 16,
    .n_layer = 2, .n_head = 4, .n_kv_head = 2, .head_dim = 4, .ffn = 24, .is_tied = true,
    .targets = "all:full"
};
static const hn_instance_spec steps_experts = {
    .name = "experts", .n_sequences = 3, .length = { 9, 5, 12 }, .seed = 22, .vocab = 40, .width = 16,
    .n_layer = 2, .n_head = 4, .n_kv_head = 2, .head_dim = 4, .ffn = 24, .is_tied = true,
    .n_expert = 4, .n_used = 2, .balance = 0.01f, .targets = "all:full"
};

#endif
