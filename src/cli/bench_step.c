/* A whole training step of a small model, by the learner of runs: how much of the peak is left when
 * everything that is not a product is counted as waiting. */
#include "cli/bench.h"

#include "convert/random_model.h"
#include "convert/random_numbers.h"
#include "models/models.h"
#include "train/learner.h"

enum { TOKENS = 512, WORDS = 8192, LAYERS = 4 };

static const char *const shape[] = { "layers=4", "width=512", "heads=8", "kv_heads=4", "head_dim=64",
                                     "ffn=1408", "vocab=8192" };

typedef struct training {
    hn_model *model;
    hn_tuning *tuning;
    hn_learner *learner;
    hn_batch batch;
    int64_t steps;
    hn_status status;
} training;

static void run(hn_bench *b, void *what)
{
    training *t = what;
    hn_learned learned;
    (void)b;
    if (t->status == HN_OK)
        t->status = hn_learner_step(t->learner, &t->batch, t->steps++, 1e-4f, NULL, &learned);
}

static hn_status make_model(hn_heap *heap, hn_model **out)
{
    hn_random_options o = { .first = HN_FIRST_SPREAD, .seed = 1, .name = "of the bench" };
    HN_TRY(hn_arch_named("llama", &o.arch));
    HN_TRY(hn_recipe_named("f32", &o.recipe));
    hn_hparams *hp = hn_alloc(heap, HN_TAG_WORKSPACE, sizeof *hp);
    if (!hp)
        return HN_ERR_MEMORY;
    hn_random_begin(hp);
    hn_status status = HN_OK;
    for (size_t i = 0; i < sizeof shape / sizeof *shape && status == HN_OK; i++)
        status = hn_random_set(hp, shape[i]);
    if (status == HN_OK)
        status = hn_random_complete(o.arch, hp);
    o.hp = hp;
    if (status == HN_OK)
        status = hn_random_model_in_memory(heap, &o, out);
    hn_free(heap, hp);
    return status;
}

static hn_status make_batch(hn_batch *batch)
{
    int32_t ids[TOKENS];
    float weights[TOKENS];
    for (int i = 0; i < TOKENS; i++) {
        ids[i] = i * 37 % WORDS;
        weights[i] = i > 0;
    }
    const hn_sample sample = { .ids = ids, .weights = weights, .n = TOKENS };
    return hn_batch_add_sample(batch, &sample);
}

static hn_status make_learner(hn_heap *heap, training *t, hn_device *device)
{
    static const hn_tune_settings full = { .how = HN_TUNE_FULL };
    const hn_learner_options o = { .objective = { .max_tokens = TOKENS }, .descent = { .clip_norm = 1 } };
    hn_tune_targets all;
    HN_TRY(hn_tune_targets_parse(heap, "all:full", &full, &all));
    const hn_status status = hn_tuning_new(heap, t->model, &all, 1, &t->tuning);
    hn_tune_targets_free(heap, &all);
    HN_TRY(status);
    return hn_learner_new(&t->learner, heap, t->model, t->tuning, hn_run_on(&device), &o);
}

static hn_status race(hn_bench *b, training *t)
{
    const hn_hparams *hp = hn_model_hparams(t->model);
    /* Six operations a weight and token (look-ups of the embedding have none), and attention. */
    const double width = (double)hp->width, heads = (double)(hp->n_head[0] * hp->head_dim);
    const double keys = (double)(hp->n_kv_head[0] * hp->head_dim);
    const double weights = width * (LAYERS * (2 * (heads + keys) + 3 * (double)hp->ffn[0]) + WORDS);
    const double seen = 0.5 * TOKENS * TOKENS * heads * LAYERS;
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
    training t = { .batch = hn_batch_on(b->heap) };
    hn_status status = make_model(b->heap, &t.model);
    if (status == HN_OK)
        status = make_batch(&t.batch);
    if (status == HN_OK)
        status = make_learner(b->heap, &t, device[0]);
    if (status == HN_OK)
        status = race(b, &t);
    hn_learner_free(t.learner);
    hn_tuning_free(t.tuning);
    hn_batch_free(&t.batch);
    hn_model_close(t.model);
    hn_devices_close(n, device);
    return status;
}
