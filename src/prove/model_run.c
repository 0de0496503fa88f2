/* The step is the one that trains; only its surroundings vary. */
#include "prove/model_run.h"

#include "backend/cpu/cpu.h"
#include "base/rng.h"
#include "graph/layout.h"
#include "train/descent.h"

#include <stdio.h>
#include <string.h>

void hn_model_batch_free(hn_model_batch *b, hn_heap *heap)
{
    hn_free(heap, b->tokens);
    hn_free(heap, b->labels);
    hn_free(heap, b->segments);
    hn_free(heap, b->positions);
    hn_free(heap, b->at);
    *b = (hn_model_batch){ 0 };
}

static void fill_batch(hn_model_batch *b, const hn_model_spec *spec)
{
    const hn_rng_key key = hn_rng_seed(spec->seed + 5);
    int64_t t = 0;
    for (int s = 0; s < spec->n_sequences; s++)
        for (int64_t i = 0; i < spec->length[s]; i++, t++) {
            const uint64_t at = (uint64_t)t;
            b->tokens[t] = (int32_t)hn_rng_below(key, 3 * at, (uint32_t)spec->o.vocab);
            b->labels[t] = (int32_t)hn_rng_below(key, 3 * at + 1, (uint32_t)spec->o.vocab);
            if (i && hn_rng_below(key, 3 * at + 2, 8) == 0)
                b->labels[t] = -100; /* not supervised */
            b->n_supervised += b->labels[t] >= 0;
            b->segments[t] = s;
            b->positions[t] = (int32_t)i;
            b->at[2 * t] = s;
            b->at[2 * t + 1] = (int32_t)i;
        }
    b->count = (float)b->n_supervised;
    b->sequences = (float)spec->n_sequences;
    b->step = 1;
}

hn_status hn_model_batch_new(hn_model_batch *b, const hn_model_spec *spec, hn_heap *heap)
{
    *b = (hn_model_batch){ 0 };
    for (int s = 0; s < spec->n_sequences; s++)
        b->n_tokens += spec->length[s];
    const size_t n = (size_t)b->n_tokens;
    b->tokens = hn_alloc_array(heap, HN_TAG_PROVE, n, sizeof(int32_t));
    b->labels = hn_alloc_array(heap, HN_TAG_PROVE, n, sizeof(int32_t));
    b->segments = hn_alloc_array(heap, HN_TAG_PROVE, n, sizeof(int32_t));
    b->positions = hn_alloc_array(heap, HN_TAG_PROVE, n, sizeof(int32_t));
    b->at = hn_alloc_array(heap, HN_TAG_PROVE, 2 * n, sizeof(int32_t));
    if (!b->tokens || !b->labels || !b->segments || !b->positions || !b->at) {
        hn_model_batch_free(b, heap);
        return HN_ERR_MEMORY;
    }
    fill_batch(b, spec);
    return HN_OK;
}

/* ---- one run ---- */

typedef struct model_run {
    hn_heap *heap;
    const hn_model_spec *spec;
    const hn_model_way *way;
    nn_decoder *d;
    hn_descent *descent;
    hn_model_batch batch;
    hn_model_outcome *out;
} model_run;

/* A packed weight is filled from plain rows that are then gone. */
static hn_status init_packed(model_run *r, hn_storage *storage, const hn_leaf *leaf)
{
    const hn_type type = hn_type_plain(&leaf->type);
    void *data = hn_alloc(r->heap, HN_TAG_PROVE, hn_type_bytes(&type));
    if (!data)
        return HN_ERR_MEMORY;
    const hn_tensor w = hn_tensor_at(&type, data);
    hn_status status = nn_decoder_init_weight(leaf, r->spec->seed, r->heap, &w);
    if (status == HN_OK)
        status = hn_storage_pack(storage, leaf, &(hn_plain_rows){ data, type.dtype, 0 });
    hn_free(r->heap, data);
    return status;
}

static hn_status init_weights(model_run *r)
{
    hn_storage *storage = hn_descent_storage(r->descent);
    HN_TRY(hn_descent_make(r->descent));
    for (int i = 0; i < r->d->g->n_leaves; i++) {
        const hn_leaf *leaf = r->d->g->leaves[i];
        if (leaf->kind != HN_LEAF_WEIGHT)
            continue;
        if (leaf->type.layout != HN_LAYOUT_PLAIN) {
            HN_TRY(init_packed(r, storage, leaf));
            continue;
        }
        const hn_tensor w = hn_tensor_at(&leaf->type, hn_storage_data(storage, leaf));
        HN_TRY(nn_decoder_init_weight(leaf, r->spec->seed, r->heap, &w));
    }
    HN_TRY(hn_storage_bind(storage, r->d->count->leaf, &r->batch.count));
    HN_TRY(hn_storage_bind(storage, r->d->sequences->leaf, &r->batch.sequences));
    return hn_storage_bind(storage, r->d->step->leaf, &r->batch.step);
}

static hn_status bind_tokens(model_run *r, int64_t first, int64_t n)
{
    hn_storage *storage = hn_descent_storage(r->descent);
    HN_TRY(hn_storage_bind(storage, r->d->tokens->leaf, r->batch.tokens + first));
    HN_TRY(hn_storage_bind(storage, r->d->labels->leaf, r->batch.labels + first));
    HN_TRY(hn_storage_bind(storage, r->d->segments->leaf, r->batch.segments + first));
    HN_TRY(hn_storage_bind(storage, r->d->positions->leaf, r->batch.positions + first));
    HN_TRY(hn_storage_bind(storage, r->d->at->leaf, r->batch.at + 2 * first));
    return hn_descent_set_extent(r->descent, r->d->tokens_extent, n);
}

static hn_status run_micros(model_run *r)
{
    int64_t first = 0;
    int sequence = 0;
    HN_TRY(hn_descent_begin(r->descent));
    for (int m = 0; sequence < r->spec->n_sequences; m++) {
        const int n = m < HN_MAX_SEQUENCES && r->way->cut[m] ? r->way->cut[m]
                                                            : r->spec->n_sequences - sequence;
        int64_t tokens = 0;
        for (int s = 0; s < n; s++)
            tokens += r->spec->length[sequence + s];
        HN_TRY(bind_tokens(r, first, tokens));
        HN_TRY(hn_descent_micro(r->descent, NULL));
        first += tokens;
        sequence += n;
    }
    return HN_OK;
}

static hn_status keep(model_run *r, int index, const hn_tensor *t)
{
    hn_type packed = t->type;
    hn_type_pack(&packed);
    void *data = hn_alloc(r->heap, HN_TAG_PROVE, hn_type_bytes(&packed));
    if (!data)
        return HN_ERR_MEMORY;
    r->out->values.at[index] = hn_tensor_at(&packed, data);
    hn_tensor_copy(&r->out->values.at[index], t);
    return HN_OK;
}

static hn_status keep_all(model_run *r)
{
    const int n = r->d->n_params;
    r->out->n_params = n;
    r->out->values = (hn_results){ .heap = r->heap, .n = 1 + 2 * n };
    r->out->values.at =
        hn_alloc_array(r->heap, HN_TAG_PROVE, (size_t)(1 + 2 * n), sizeof(hn_tensor));
    if (!r->out->values.at)
        return HN_ERR_MEMORY;
    hn_descent_result result;
    HN_TRY(hn_descent_check(r->descent, &result));
    for (int p = 0; p < n; p++) {
        hn_tensor gradient;
        HN_TRY(hn_descent_gradient(r->descent, p, &gradient));
        HN_TRY(keep(r, 1 + p, &gradient));
    }
    HN_TRY(hn_descent_finish(r->descent, 0.01f, &result));
    const hn_type scalar = { .dtype = HN_F64 };
    HN_TRY(keep(r, 0, &(hn_tensor){ .type = scalar, .data = &result.loss, .is_packed = true }));
    for (int p = 0; p < n; p++) {
        const hn_leaf *leaf = r->d->params[p]->leaf;
        const hn_tensor w =
            hn_tensor_at(&leaf->type, hn_storage_data(hn_descent_storage(r->descent), leaf));
        HN_TRY(keep(r, 1 + n + p, &w));
    }
    return HN_OK;
}

static hn_status run(model_run *r, hn_graph *g)
{
    nn_decoder_options o = r->spec->o;
    o.max_tokens = r->batch.n_tokens;
    o.n_devices = r->way->n_devices;
    nn_decoder_build(r->d, g, &o);
    HN_TRY(hn_graph_finish(g));
    const hn_descent_options options = { .mode = r->way->mode, .clip_norm = 1,
                                         .recompute_every = r->way->recompute_every };
    HN_TRY(hn_descent_new(&r->descent, g, r->d->loss, r->d->n_params, r->d->params,
                          r->way->n_devices, r->way->devices, &options));
    for (int d = 0; d < r->way->n_devices; d++)
        r->out->workspace += hn_descent_plan(r->descent)->workspace[d];
    HN_TRY(init_weights(r));
    hn_cpu_set_shuffle(r->way->devices[0], r->way->shuffle);
    hn_status status = run_micros(r);
    if (status == HN_OK)
        status = keep_all(r);
    hn_cpu_set_shuffle(r->way->devices[0], 0);
    return status;
}

hn_status hn_model_run(hn_heap *heap, const hn_model_spec *spec, const hn_model_way *way,
                       hn_model_outcome *out)
{
    *out = (hn_model_outcome){ 0 };
    model_run r = { .heap = heap, .spec = spec, .way = way, .out = out };
    hn_graph *g = NULL;
    r.d = hn_alloc(heap, HN_TAG_PROVE, sizeof *r.d);
    hn_status status = r.d ? hn_model_batch_new(&r.batch, spec, heap) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = hn_graph_new(&g, heap);
    if (status == HN_OK)
        status = run(&r, g);
    hn_descent_free(r.descent);
    hn_graph_free(g);
    hn_model_batch_free(&r.batch, heap);
    hn_free(heap, r.d);
    if (status != HN_OK)
        hn_results_free(&out->values);
    return status;
}

void hn_model_value_name(const hn_model_outcome *o, int index, char *text, size_t bytes)
{
    if (index == 0)
        snprintf(text, bytes, "loss");
    else
        snprintf(text, bytes, "%s of parameter %d", index <= o->n_params ? "gradient" : "update",
                 (index - 1) % o->n_params);
}
