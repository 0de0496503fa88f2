/* Two graphs share the weights: one that trains on the whole text, one that says the next byte. */
#include "cli/memorise.h"

#include "base/clock.h"
#include "nn/decoder.h"
#include "train/descent.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_STEPS = 2000, VOCAB = 128 };

static const double known_by_heart = 0.02; /* loss below which every byte is all but certain */

typedef struct memory {
    hn_heap *heap;
    hn_device *device;
    uint64_t seed;
    int n; /* bytes of text */
    nn_decoder *d;
    hn_graph *g;
    hn_descent *descent;
    int32_t *tokens, *labels, *segments, *positions;
    float count, sequences;
    int32_t step;
} memory;

static nn_decoder_options shape(const memory *m)
{
    return (nn_decoder_options){ .vocab = VOCAB, .width = 48, .n_layer = 2, .n_head = 4,
                                 .n_kv_head = 2, .head_dim = 12, .ffn = 64, .n_expert = 4,
                                 .n_used = 2, .max_tokens = m->n, .balance = 0.01f };
}

static hn_status make_batch(memory *m, const char *text)
{
    const size_t n = (size_t)m->n;
    m->tokens = hn_alloc_array(m->heap, HN_TAG_TEXT, n, sizeof(int32_t));
    m->labels = hn_alloc_array(m->heap, HN_TAG_TEXT, n, sizeof(int32_t));
    m->segments = hn_alloc_array(m->heap, HN_TAG_TEXT, n, sizeof(int32_t));
    m->positions = hn_alloc_array(m->heap, HN_TAG_TEXT, n, sizeof(int32_t));
    if (!m->tokens || !m->labels || !m->segments || !m->positions)
        return HN_ERR_MEMORY;
    for (int i = 0; i < m->n; i++) {
        m->tokens[i] = text[i] & (VOCAB - 1);
        m->labels[i] = i + 1 < m->n ? text[i + 1] & (VOCAB - 1) : -100;
        m->positions[i] = i;
    }
    m->count = (float)(m->n - 1);
    m->sequences = 1;
    return HN_OK;
}

static hn_status bind_inputs(const memory *m, hn_storage *storage, nn_decoder *d)
{
    HN_TRY(hn_storage_bind(storage, d->tokens->leaf, m->tokens));
    HN_TRY(hn_storage_bind(storage, d->segments->leaf, m->segments));
    return hn_storage_bind(storage, d->positions->leaf, m->positions);
}

static hn_status prepare(memory *m)
{
    const nn_decoder_options o = shape(m);
    HN_TRY(hn_graph_new(&m->g, m->heap));
    nn_decoder_build(m->d, m->g, &o);
    HN_TRY(hn_graph_finish(m->g));
    const hn_descent_options options = { .clip_norm = 1, .recompute_every = 1 };
    HN_TRY(hn_descent_new(&m->descent, m->g, m->d->loss, m->d->n_params, m->d->params, 1,
                          &m->device, &options));
    hn_storage *storage = hn_descent_storage(m->descent);
    HN_TRY(hn_storage_make_all(storage));
    HN_TRY(bind_inputs(m, storage, m->d));
    HN_TRY(hn_storage_bind(storage, m->d->labels->leaf, m->labels));
    HN_TRY(hn_storage_bind(storage, m->d->count->leaf, &m->count));
    HN_TRY(hn_storage_bind(storage, m->d->sequences->leaf, &m->sequences));
    for (int i = 0; i < m->g->n_leaves; i++) {
        const hn_leaf *leaf = m->g->leaves[i];
        if (leaf->kind != HN_LEAF_WEIGHT)
            continue;
        const hn_tensor w = hn_tensor_at(&leaf->type, hn_storage_data(storage, leaf));
        HN_TRY(nn_decoder_init_weight(leaf, m->seed, m->heap, &w));
    }
    return HN_OK;
}

static hn_status train(memory *m, bool (*progress)(void *, double, const char *), hn_memorised *out)
{
    const int64_t start = hn_clock_ns();
    double loss = INFINITY;
    for (int i = 0; i < MOST_STEPS && loss > known_by_heart; i++) {
        hn_descent_result result;
        const float warm = i < 10 ? (float)(i + 1) / 10 : 1;
        HN_TRY(hn_descent_begin(m->descent));
        HN_TRY(hn_descent_micro(m->descent, NULL));
        HN_TRY(hn_descent_finish(m->descent, 0.01f * warm, &result));
        loss = result.loss;
        out->first_loss = i ? out->first_loss : loss;
        out->last_loss = loss;
        out->n_steps = i + 1;
        char what[64];
        snprintf(what, sizeof what, "step %d, loss %.4f", i + 1, loss);
        const double done = hn_math_log(out->first_loss / loss) /
                            hn_math_log(out->first_loss / known_by_heart);
        HN_REQUIRE(progress(NULL, done < 0 ? 0 : done, what), HN_ERR_CANCELLED, "stopped after %s",
                   what);
    }
    out->seconds = (double)(hn_clock_ns() - start) / 1e9;
    return HN_OK;
}

/* A forward graph of the same shape: its weights are those of the training storage. */
static hn_status bind_weights(const memory *m, hn_storage *storage, const hn_graph *g)
{
    for (int i = 0; i < g->n_leaves; i++) {
        if (g->leaves[i]->kind != HN_LEAF_WEIGHT)
            continue;
        for (int j = 0; j < m->g->n_leaves; j++)
            if (!strcmp(g->leaves[i]->name, m->g->leaves[j]->name))
                HN_TRY(hn_storage_bind(storage, g->leaves[i],
                                       hn_storage_data(hn_descent_storage(m->descent),
                                                       m->g->leaves[j])));
    }
    return HN_OK;
}

static hn_status say(memory *m, const hn_plan *plan, nn_decoder *d, const char *text, char *recited)
{
    hn_storage *storage;
    hn_program *program = NULL;
    HN_TRY(hn_storage_new(&storage, plan->g, 1, &m->device));
    hn_status status = bind_weights(m, storage, plan->g);
    if (status == HN_OK)
        status = bind_inputs(m, storage, d);
    if (status == HN_OK)
        status = hn_program_new(&program, plan, storage, 1, &m->device);
    for (int i = 0; i < m->n; i++)
        m->tokens[i] = i < HN_MEMORISE_PROMPT ? text[i] & (VOCAB - 1) : 0;
    for (int i = HN_MEMORISE_PROMPT; i < m->n && status == HN_OK; i++) {
        hn_tensor next;
        status = hn_program_set_extent(program, d->tokens_extent, i);
        if (status == HN_OK)
            status = hn_program_run(program, NULL);
        if (status == HN_OK)
            status = hn_program_result(program, 0, &next);
        if (status != HN_OK)
            break;
        m->tokens[i] = (int32_t)hn_get_int(&next, i - 1);
        recited[i - HN_MEMORISE_PROMPT] = (char)m->tokens[i];
    }
    hn_program_free(program);
    hn_storage_free(storage);
    return status;
}

static hn_status recite(memory *m, const char *text, hn_memorised *out)
{
    hn_graph *g;
    nn_decoder *d = hn_alloc(m->heap, HN_TAG_GRAPH, sizeof *d);
    out->recited = hn_alloc(m->heap, HN_TAG_TEXT, (size_t)m->n + 1);
    hn_status status = d && out->recited ? hn_graph_new(&g, m->heap) : HN_ERR_MEMORY;
    if (status != HN_OK) {
        hn_free(m->heap, d);
        return status;
    }
    const nn_decoder_options o = shape(m);
    nn_decoder_build(d, g, &o);
    hn_node *logits = hn_linear(g, d->hidden, d->head);
    hn_node *next = hn_apply_named(g, "argmax", NULL, 1, &logits);
    status = hn_graph_finish(g);
    hn_plan *plan = NULL;
    const hn_target target = hn_device_target(m->device);
    const hn_plan_options options = { .copy = &hn_op_contiguous };
    if (status == HN_OK)
        status = hn_plan_new(&plan, g, 1, &next, 1, &target, &options);
    if (status == HN_OK)
        status = say(m, plan, d, text, out->recited);
    hn_plan_free(plan);
    hn_graph_free(g);
    hn_free(m->heap, d);
    return status;
}

hn_status hn_memorise(hn_heap *heap, hn_device *device, const char *text, uint64_t seed,
                      bool (*progress)(void *context, double done, const char *what),
                      hn_memorised *out)
{
    *out = (hn_memorised){ 0 };
    memory m = { .heap = heap, .device = device, .seed = seed, .n = (int)strlen(text) };
    HN_REQUIRE(m.n > HN_MEMORISE_PROMPT, HN_ERR_ARGUMENT, "a text of %d bytes: expected more", m.n);
    m.d = hn_alloc(heap, HN_TAG_GRAPH, sizeof *m.d);
    hn_status status = m.d ? make_batch(&m, text) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = prepare(&m);
    if (status == HN_OK)
        status = train(&m, progress, out);
    if (status == HN_OK)
        status = recite(&m, text, out);
    hn_descent_free(m.descent);
    hn_graph_free(m.g);
    hn_free(heap, m.tokens);
    hn_free(heap, m.labels);
    hn_free(heap, m.segments);
    hn_free(heap, m.positions);
    hn_free(heap, m.d);
    if (status != HN_OK) {
        hn_free(heap, out->recited);
        out->recited = NULL;
    }
    return status;
}
