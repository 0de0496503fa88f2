/* A whole training step of a small transformer: how much of the peak is left when everything that
 * is not a product is counted as waiting. */
#include "cli/bench.h"

#include "nn/decoder.h"
#include "train/descent.h"

enum { TOKENS = 512, WORDS = 8192 };

typedef struct training {
    nn_decoder *d;
    hn_graph *g;
    hn_descent *descent;
    int32_t tokens[TOKENS], labels[TOKENS], segments[TOKENS], positions[TOKENS];
    float count, sequences;
    hn_status status;
} training;

static void run(hn_bench *b, void *what)
{
    training *t = what;
    hn_descent_result result;
    (void)b;
    if (t->status == HN_OK)
        t->status = hn_descent_begin(t->descent);
    if (t->status == HN_OK)
        t->status = hn_descent_micro(t->descent, NULL);
    if (t->status == HN_OK)
        t->status = hn_descent_finish(t->descent, 1e-4f, &result);
}

static hn_status bind(training *t, hn_heap *heap)
{
    hn_storage *storage = hn_descent_storage(t->descent);
    const nn_decoder *d = t->d;
    for (int i = 0; i < TOKENS; i++) {
        t->tokens[i] = i * 37 % WORDS, t->labels[i] = (i + 1) * 37 % WORDS;
        t->positions[i] = i;
    }
    t->count = TOKENS, t->sequences = 1;
    HN_TRY(hn_descent_make(t->descent));
    HN_TRY(hn_storage_bind(storage, d->tokens->leaf, t->tokens));
    HN_TRY(hn_storage_bind(storage, d->labels->leaf, t->labels));
    HN_TRY(hn_storage_bind(storage, d->segments->leaf, t->segments));
    HN_TRY(hn_storage_bind(storage, d->positions->leaf, t->positions));
    HN_TRY(hn_storage_bind(storage, d->count->leaf, &t->count));
    HN_TRY(hn_storage_bind(storage, d->sequences->leaf, &t->sequences));
    for (int i = 0; i < t->g->n_leaves; i++) {
        const hn_leaf *leaf = t->g->leaves[i];
        if (leaf->kind != HN_LEAF_WEIGHT)
            continue;
        const hn_tensor w = hn_tensor_at(&leaf->type, hn_storage_data(storage, leaf));
        HN_TRY(nn_decoder_init_weight(leaf, 1, heap, &w));
    }
    return HN_OK;
}

static hn_status race(hn_bench *b, training *t, hn_device *device)
{
    const nn_decoder_options o = { .vocab = WORDS, .width = 512, .n_layer = 4, .n_head = 8,
                                   .n_kv_head = 4, .head_dim = 64, .ffn = 1408,
                                   .max_tokens = TOKENS };
    HN_TRY(hn_graph_new(&t->g, b->heap));
    nn_decoder_build(t->d, t->g, &o);
    HN_TRY(hn_graph_finish(t->g));
    const hn_descent_options options = { .clip_norm = 1 };
    HN_TRY(hn_descent_new(&t->descent, t->g, t->d->loss, t->d->n_params, t->d->params, 1, &device,
                          &options));
    HN_TRY(bind(t, b->heap));
    /* Six operations a weight and token (look-ups of the embedding have none), and attention. */
    const double layer = (double)o.width * (double)((o.n_head + o.n_kv_head) * o.head_dim * 2 +
                                                    3 * o.ffn);
    const double weights = layer * (double)o.n_layer + (double)(o.width * WORDS);
    const double seen = 0.5 * TOKENS * TOKENS * (double)(o.n_head * o.head_dim * o.n_layer);
    hn_racer racers[] = { hn_bench_fma(b),
                          { .run = run, .what = t, .work = 6 * weights * TOKENS + 14 * seen } };
    hn_bench_race(b, 2, racers);
    HN_TRY(t->status);
    char what[64];
    snprintf(what, sizeof what, "4 layers of 512, AdamW: %.0f tokens/s", TOKENS / racers[1].best);
    hn_bench_line(b, "step", what, "GFLOP/s", 2, racers);
    return HN_OK;
}

hn_status hn_bench_step(hn_bench *b)
{
    hn_device *device[HN_MAX_DEVICES];
    int n;
    hn_isa_text level;
    const hn_device_options open = { .n_threads = b->n_threads,
                                     .isa = hn_isa_name(b->isa, &level) };
    HN_TRY(hn_devices_open(b->heap, "cpu", &open, &n, device));
    training *t = hn_alloc(b->heap, HN_TAG_WORKSPACE, sizeof *t);
    nn_decoder *d = hn_alloc(b->heap, HN_TAG_GRAPH, sizeof *d);
    hn_status status = t && d ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK) {
        t->d = d;
        status = race(b, t, device[0]);
        hn_descent_free(t->descent);
        hn_graph_free(t->g);
    }
    hn_free(b->heap, d);
    hn_free(b->heap, t);
    hn_devices_close(n, device);
    return status;
}
