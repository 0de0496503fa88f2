/* UNHELD-NUMBER: seven of sixteen planted bugs lived where no test knew the answer: a schedule's step, a
 * clip's epsilon, a penalty, a metric, a counter. Here every one is a closed formula, written out anew.
 * tests/e2e/sabotage.sh plants the seven, and more, and expects this test to fail. */
#include "infer/forward.h"
#include "infer/imatrix.h"
#include "infer/sampler.h"
#include "io/gguf.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "train/config.h"
#include "train/evaluator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hn_heap heap;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;

static bool open_model(const char *name, hn_model **out)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    return CHECK_OK(hn_model_open(&heap, path, NULL, out));
}

/* ---- schedules: every step of every kind ---- */

static double expected_rate(const hn_train_config *c, int64_t steps, int64_t warm, int64_t cool,
                            int64_t step)
{
    const double pi = 3.14159265358979323846, least = c->least_rate * c->rate;
    if (step < warm)
        return c->rate * (double)step / (double)warm;
    if (!strcmp(c->schedule, "constant"))
        return c->rate;
    if (!strcmp(c->schedule, "wsd")) {
        const int64_t begins = steps - cool;
        return step < begins ? c->rate
                             : c->rate - (c->rate - least) * (double)(step - begins) / (double)cool;
    }
    const double share = (double)(step - warm) / (double)(steps - warm);
    const double down = !strcmp(c->schedule, "linear") ? share : (1 - cos(pi * share)) / 2;
    return c->rate - (c->rate - least) * down;
}

static void check_schedules(void)
{
    static const char *const kinds[] = { "constant", "linear", "cosine", "wsd" };
    static const struct {
        double warmup, cooldown, least;
        int64_t steps, warm, cool;
    } cases[] = {
        { 0, 0.1, 0, 1, 0, 0 },       { 0.03, 0.1, 0, 100, 3, 10 },  { 10, 25, 0.1, 100, 10, 25 },
        { 0.5, 0.5, 0.3, 41, 21, 21 }, { 7, 1, 0, 8, 7, 1 },          { 0, 64, 1, 64, 0, 64 },
        { 1, 0.25, 0.05, 1000, 1, 250 }
    };
    for (int k = 0; k < 4; k++) {
        check_group(kinds[k]);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            hn_train_config c = hn_train_config_default();
            hn_schedule s;
            double worst = 0;
            c.schedule = kinds[k];
            c.rate = 3e-4;
            c.warmup = cases[i].warmup;
            c.decay_steps = cases[i].cooldown;
            c.least_rate = cases[i].least;
            if (!CHECK_OK(hn_train_config_schedule(&c, cases[i].steps, &s)))
                continue;
            for (int64_t step = 0; step < cases[i].steps; step++) {
                const double want = expected_rate(&c, cases[i].steps, cases[i].warm, cases[i].cool, step);
                const double off = fabs((double)hn_schedule_rate(&s, step) - want) / c.rate;
                worst = off > worst ? off : worst;
            }
            CHECK_THAT(worst < 1e-7, "case %zu: a rate is off by %.3g of the highest", i, worst);
        }
    }
}

/* ---- clipping: one step of plain descent by a gradient that is known ---- */

static void check_clipping(float most)
{
    static const hn_tune_settings plain = { .how = HN_TUNE_FULL };
    hn_model *model;
    hn_tuning *tuning = NULL;
    hn_tune_targets targets;
    hn_learner *learner;
    hn_learner_options o = { .objective = { .max_tokens = 16 } };
    hn_batch batch = hn_batch_on(&heap);
    hn_learned learned;
    int32_t ids[16];
    float weights[16];
    const float rate = 0.25f;
    char name[40];
    snprintf(name, sizeof name, "clip at %g", (double)most);
    check_group(name);
    for (int i = 0; i < 16; i++)
        ids[i] = (i * 31 + 5) % 200, weights[i] = i > 0;
    const hn_sample sample = { .ids = ids, .weights = weights, .n = 16, .n_supervised = 15 };
    o.descent = (hn_descent_options){ .optimizer = HN_SGD, .clip_norm = most };
    if (!open_model("llama", &model))
        return;
    bool ok = CHECK_OK(hn_tune_targets_parse(&heap, "attn_q:full", &plain, &targets)) &&
              CHECK_OK(hn_tuning_new(&heap, model, &targets, 1, &tuning)) &&
              CHECK_OK(hn_batch_add_sample(&batch, &sample)) &&
              CHECK_OK(hn_learner_new(&learner, &heap, model, tuning, on_all_devices(n_devices, devices), &o));
    hn_tune_targets_free(&heap, &targets);
    if (ok) {
        float *g = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)tuning->n_params, sizeof *g);
        float *w = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)tuning->n_params, sizeof *w);
        double sum = 0, moved = 0, wanted = 0;
        int64_t at = 0;
        CHECK_OK(hn_learner_look(learner, &batch, 0, NULL, &learned));
        for (int i = 0; i < tuning->n_tensors; i++) {
            hn_tensor t;
            CHECK_OK(hn_learner_gradient(learner, i, &t));
            memcpy(g + at, t.data, hn_type_bytes(&t.type));
            memcpy(w + at, hn_tuning_data(tuning, i), hn_type_bytes(&t.type));
            at += hn_count(&t.type);
        }
        for (int64_t i = 0; i < at; i++)
            sum += (double)g[i] * (double)g[i];
        const double norm = sqrt(sum), whole = (double)most / (norm + 1e-6);
        const double factor = most > 0 && whole < 1 ? whole : 1;
        CHECK_THAT(fabs(learned.grad_norm - norm) < 1e-6 * norm, "norm %.9g, not %.9g",
                   learned.grad_norm, norm);
        CHECK_OK(hn_learner_step(learner, &batch, 0, rate, NULL, &learned));
        at = 0;
        CHECK_OK(hn_tuning_pull(tuning));
        for (int i = 0; i < tuning->n_tensors; i++) {
            const float *now = hn_tuning_data(tuning, i);
            for (int64_t k = 0; k < hn_count(&tuning->tensors[i].weight.type); k++, at++) {
                moved += ((double)w[at] - (double)now[k]) * (double)g[at];
                wanted += (double)rate * factor * (double)g[at] * (double)g[at];
            }
        }
        CHECK_THAT(fabs(moved - wanted) < 2e-6 * wanted, "moved %.9g along the gradient, not %.9g", moved,
                   wanted);
        hn_free(&heap, g);
        hn_free(&heap, w);
        hn_learner_free(learner);
    }
    hn_batch_free(&batch);
    hn_tuning_free(tuning);
    hn_model_close(model);
}

/* ---- penalties: the likeliest token after them ---- */

static int32_t likeliest(const hn_sampler_options *o, const float *logits, const int32_t *said, int64_t n)
{
    hn_sampler *sampler;
    int32_t token = -1;
    if (CHECK_OK(hn_sampler_new(&sampler, &heap, 4, o))) {
        CHECK_OK(hn_sampler_next(sampler, 0, logits, said, n, &token));
        hn_sampler_free(sampler);
    }
    return token;
}

/* Token 0 was said `times`; where is it between fixed rivals once it is penalised? */
static void check_penalty(const hn_sampler_options *o, float logit, int times, float expected)
{
    int32_t said[8] = { 0 };
    const float under = expected - 0.01f, over = expected + 0.01f;
    const float below[4] = { logit, under, -90, -90 }, above[4] = { logit, over, -90, -90 };
    CHECK_INT(0, likeliest(o, below, said, times));
    CHECK_INT(1, likeliest(o, above, said, times));
}

static void check_penalties(void)
{
    check_group("penalties");
    const hn_sampler_options repetition = { .repetition = 2 }, mild = { .repetition = 1.25f },
                             frequency = { .frequency = 0.5f }, presence = { .presence = 0.75f },
                             all = { .repetition = 2, .frequency = 0.5f, .presence = 0.75f };
    check_penalty(&repetition, 3, 1, 1.5f);
    check_penalty(&repetition, 3, 4, 1.5f); /* once, however often it was said */
    check_penalty(&repetition, -3, 1, -6);  /* what is unlikely gets less likely */
    check_penalty(&mild, -4, 2, -5);
    check_penalty(&frequency, 2, 3, 0.5f);
    check_penalty(&frequency, -2, 3, -3.5f);
    check_penalty(&presence, 2, 3, 1.25f);
    check_penalty(&all, -2, 2, -5.75f);
}

/* ---- what a model says of text: accuracy, loss, counts of experts ---- */

static float *logits_of(const hn_model *model, const int32_t *ids, int64_t n, int64_t *vocab)
{
    hn_forward *forward;
    hn_tensor t;
    float *copy = NULL;
    const hn_forward_options o = { .max_tokens = n };
    if (!CHECK_OK(hn_forward_new(&forward, &heap, model, on_all_devices(n_devices, devices), &o)))
        return NULL;
    if (CHECK_OK(hn_forward_run(forward, ids, n, NULL)) && CHECK_OK(hn_forward_logits(forward, &t))) {
        *vocab = hn_last_dim(&t.type);
        copy = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)hn_count(&t.type), sizeof *copy);
        memcpy(copy, t.data, hn_type_bytes(&t.type));
    }
    hn_forward_free(forward);
    return copy;
}

/* Every other token is supervised, half of them by what the model finds likeliest. */
static void check_accuracy(void)
{
    enum { N = 24 };
    hn_model *model;
    hn_evaluator *evaluator;
    hn_evaluation sums = { 0 };
    int32_t ids[N];
    float weights[N] = { 0 };
    int64_t vocab = 0, right = 0, n = 0;
    double loss = 0;
    check_group("accuracy");
    if (!open_model("llama", &model))
        return;
    for (int i = 0; i < N; i++)
        ids[i] = (i * 17 + 3) % 200;
    for (int i = 2; i < N; i += 4) { /* made likeliest one after the other: later ones follow */
        float *logits = logits_of(model, ids, i, &vocab);
        const float *row = logits + (int64_t)(i - 1) * vocab;
        int best = 0;
        for (int k = 1; k < vocab; k++)
            best = row[k] > row[best] ? k : best;
        ids[i] = best;
        hn_free(&heap, logits);
    }
    for (int i = 2; i < N; i += 2)
        weights[i] = i % 3 ? 1 : 0.5f;
    float *logits = logits_of(model, ids, N, &vocab);
    for (int i = 1; logits && i < N; i++) {
        const float *row = logits + (int64_t)(i - 1) * vocab;
        double sum = 0;
        bool is_best = true;
        for (int k = 0; k < vocab; k++) {
            sum += exp((double)row[k] - (double)row[ids[i]]);
            is_best = is_best && row[k] <= row[ids[i]];
        }
        n += weights[i] > 0;
        right += weights[i] > 0 && is_best;
        loss += (double)weights[i] * log(sum);
    }
    hn_free(&heap, logits);
    hn_batch batch = hn_batch_on(&heap);
    const hn_sample sample = { .ids = ids, .weights = weights, .n = N, .n_supervised = (size_t)n };
    const hn_objective_options o = { .max_tokens = N };
    double weight = 0;
    for (int i = 0; i < N; i++)
        weight += (double)weights[i];
    if (CHECK_OK(hn_batch_add_sample(&batch, &sample)) &&
        CHECK_OK(hn_evaluator_new(&evaluator, &heap, model, NULL, NULL, on_all_devices(n_devices, devices), &o))) {
        CHECK_OK(hn_evaluator_add(evaluator, &batch, NULL, &sums));
        hn_evaluation_finish(&sums);
        CHECK_INT(n, sums.n);
        CHECK_THAT(right >= 6 && right < n && fabs(sums.accuracy - (double)right / (double)n) < 1e-12,
                   "accuracy %.9g: %d of %d are right", sums.accuracy, (int)right, (int)n);
        CHECK_THAT(fabs(sums.loss - loss / weight) < 1e-5, "loss %.9g, not %.9g", sums.loss, loss / weight);
        hn_evaluator_free(evaluator);
    }
    hn_batch_free(&batch);
    hn_model_close(model);
}

/* The counts of an imatrix are the tokens that the router sent to each expert. */
static void check_counts(void)
{
    enum { CHUNK = 16, N = 3 * CHUNK };
    hn_model *model;
    hn_gguf *file;
    char path[128];
    int32_t ids[N];
    const char *dir = getenv("TMPDIR");
    check_group("imatrix");
    if (!open_model("mixtral", &model))
        return;
    for (int i = 0; i < N; i++)
        ids[i] = (i * i + 7 * i) % 200;
    snprintf(path, sizeof path, "%.90s/hone-imatrix-%d.gguf", dir ? dir : "/tmp", (int)getpid());
    remove(path);
    const hn_imatrix_options o = { .chunk = CHUNK, .bos = -1, .dataset = "numbers" };
    const hn_forward_options f = { .max_tokens = CHUNK, .wants_uses = true };
    hn_forward *forward;
    if (CHECK_OK(hn_imatrix_write(&heap, model, on_all_devices(n_devices, devices), ids, N, hn_sink_new(path), &o)) &&
        CHECK_OK(hn_gguf_open(&heap, path, &file))) {
        int n_checked = 0;
        CHECK_OK(hn_forward_new(&forward, &heap, model, on_all_devices(n_devices, devices), &f));
        for (int u = 0; u < hn_forward_uses(forward); u++) {
            double counts[64] = { 0 };
            const nn_weight *w = NULL;
            hn_tensor x, chosen;
            for (int c = 0; c < 3; c++) {
                CHECK_OK(hn_forward_run(forward, ids + c * CHUNK, CHUNK, NULL));
                CHECK_OK(hn_forward_use(forward, u, &w, &x, &chosen));
                for (int64_t i = 0; chosen.data && i < hn_count(&chosen.type); i++)
                    counts[hn_get_int(&chosen, i)]++;
                counts[0] += chosen.data ? 0 : CHUNK;
            }
            char name[200];
            snprintf(name, sizeof name, "%s.counts", w->name);
            const hn_weight_entry *e = hn_weights_find(hn_gguf_weights(file), name);
            if (!CHECK_THAT(e != NULL, "no %s", name))
                continue;
            for (int64_t k = 0; k < hn_count(&e->type); k++) {
                const float found = ((const float *)(const void *)e->data)[k];
                CHECK_THAT(fabs((double)found - counts[k]) < 0.5, "%s of expert %d: %g, not %g", name, (int)k,
                           (double)found, counts[k]);
                n_checked++;
            }
        }
        CHECK(n_checked > 20);
        hn_forward_free(forward);
        hn_gguf_close(file);
    }
    remove(path);
    hn_model_close(model);
}

int main(int argc, char **argv)
{
    const hn_device_options one = { .n_threads = 1 };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (!CHECK_OK(hn_devices_open(&heap, "cpu", &one, &n_devices, devices)))
        return check_close();
    check_schedules();
    check_clipping(0);
    check_clipping(0.05f);
    check_clipping(1000);
    check_penalties();
    check_accuracy();
    check_counts();
    hn_devices_close(n_devices, devices);
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
