/* steps.h: a small transformer under a descent, for tests of whole steps. */
#ifndef TESTS_FAILURES_STEPS_H
#define TESTS_FAILURES_STEPS_H

#include "tests/failures/bench.h"
#include "train/descent.h"

#include <string.h>

typedef struct steps {
    bench *b;
    hn_model_spec spec;
    nn_decoder d;
    hn_model_batch batch;
    hn_descent *descent;
} steps;

static inline bool steps_open(steps *s, bench *b, const hn_model_spec *spec,
                              const hn_descent_options *options)
{
    s->b = b;
    s->spec = *spec;
    s->descent = NULL;
    hn_graph *g = bench_graph(b);
    if (!CHECK_OK(hn_model_batch_new(&s->batch, spec, &b->heap)))
        return false;
    nn_decoder_options o = spec->o;
    o.max_tokens = s->batch.n_tokens;
    nn_decoder_build(&s->d, g, &o);
    if (!CHECK_OK(hn_graph_finish(g)) ||
        !CHECK_OK(hn_descent_new(&s->descent, g, s->d.loss, s->d.n_params, s->d.params, 1,
                                 &b->env.one, options)))
        return false;
    hn_storage *storage = hn_descent_storage(s->descent);
    bool ok = CHECK_OK(hn_descent_make(s->descent)) &&
              CHECK_OK(hn_storage_bind(storage, s->d.count->leaf, &s->batch.count)) &&
              CHECK_OK(hn_storage_bind(storage, s->d.sequences->leaf, &s->batch.sequences)) &&
              CHECK_OK(hn_storage_bind(storage, s->d.step->leaf, &s->batch.step));
    for (int i = 0; ok && i < g->n_leaves; i++)
        if (g->leaves[i]->kind == HN_LEAF_WEIGHT) {
            const hn_tensor w = hn_tensor_at(&g->leaves[i]->type, hn_storage_data(storage, g->leaves[i]));
            ok = CHECK_OK(nn_decoder_init_weight(g->leaves[i], spec->seed, &b->heap, &w));
        }
    return ok;
}

static inline void steps_close(steps *s)
{
    hn_descent_free(s->descent);
    hn_model_batch_free(&s->batch, &s->b->heap);
    hn_graph_free(s->b->g);
    s->b->g = NULL;
}

static inline float *steps_weight(steps *s, int p)
{
    return hn_storage_data(hn_descent_storage(s->descent), s->d.params[p]->leaf);
}

/* One micro-batch of tokens [first, first + n). */
static inline hn_status steps_micro(steps *s, int64_t first, int64_t n,
                                    const hn_run_options *options)
{
    hn_storage *storage = hn_descent_storage(s->descent);
    HN_TRY(hn_storage_bind(storage, s->d.tokens->leaf, s->batch.tokens + first));
    HN_TRY(hn_storage_bind(storage, s->d.labels->leaf, s->batch.labels + first));
    HN_TRY(hn_storage_bind(storage, s->d.segments->leaf, s->batch.segments + first));
    HN_TRY(hn_storage_bind(storage, s->d.positions->leaf, s->batch.positions + first));
    HN_TRY(hn_storage_bind(storage, s->d.at->leaf, s->batch.at + 2 * first));
    HN_TRY(hn_descent_set_extent(s->descent, s->d.tokens_extent, n));
    return hn_descent_micro(s->descent, options);
}

/* A hash of the gradients and the loss of the step so far. */
static inline uint64_t steps_digest(steps *s)
{
    uint64_t hash = 1469598103934665603u;
    hn_descent_result result;
    if (hn_descent_check(s->descent, &result) != HN_OK)
        return 0;
    for (int p = 0; p < s->d.n_params; p++) {
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

static const hn_model_spec steps_dense = {
    .name = "dense", .n_sequences = 3, .length = { 9, 5, 12 }, .seed = 21,
    .o = { .vocab = 40, .width = 16, .n_layer = 2, .n_head = 4, .n_kv_head = 2, .head_dim = 4,
           .ffn = 24, .is_tied = true }
};
static const hn_model_spec steps_experts = {
    .name = "experts", .n_sequences = 3, .length = { 9, 5, 12 }, .seed = 22,
    .o = { .vocab = 40, .width = 16, .n_layer = 2, .n_head = 4, .n_kv_head = 2, .head_dim = 4,
           .ffn = 24, .n_expert = 4, .n_used = 2, .balance = 0.01f }
};

#endif
