/* STORED-FORM-DECAY: weight decay fell on norms and biases, and on gemma's norms in the form that a file
 * stores, which decays a gain toward nothing where its class decays it toward one; the balance loss of a
 * batch was Transformers' over the number of experts a token. */
#include "base/json.h"
#include "base/file.h"
#include "models/model.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "train/learner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 12 };
static const float RATE = 0.01f, DECAY = 0.25f;

static hn_heap heap;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;

static bool open_model(const char *name, hn_model **out)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    return CHECK_OK(hn_model_open(&heap, path, NULL, out));
}

static bool open_tuning(const hn_model *model, const char *targets, hn_tuning **out)
{
    const hn_tune_settings plain = { .how = HN_TUNE_LORA, .rank = 4 };
    hn_tune_targets parsed;
    if (!CHECK_OK(hn_tune_targets_parse(&heap, targets, &plain, &parsed)))
        return false;
    const bool ok = CHECK_OK(hn_tuning_new(&heap, model, &parsed, 1, out));
    hn_tune_targets_free(&heap, &parsed);
    return ok;
}

static void add_sequence(hn_batch *batch, int32_t *ids, size_t n)
{
    float weights[64] = { 0 };
    for (size_t i = 1; i < n; i++)
        weights[i] = 1;
    const hn_sample sample = { .ids = ids, .weights = weights, .n = n, .n_supervised = n - 1 };
    CHECK_OK(hn_batch_add_sample(batch, &sample));
}

/* ---- decay ---- */

/* One step of a fresh learner; what it left of every trained tensor. */
static float *step(const hn_model *model, const char *targets, float decay, hn_tuning **tuning)
{
    hn_learner *learner;
    hn_learned learned;
    hn_learner_options o = { .objective = { .max_tokens = LENGTH } };
    o.descent.decay = decay;
    if (!open_tuning(model, targets, tuning))
        return NULL;
    hn_batch batch = hn_batch_on(&heap);
    int32_t ids[LENGTH];
    for (int i = 0; i < LENGTH; i++)
        ids[i] = (i * 29 + 7) % 200;
    add_sequence(&batch, ids, LENGTH);
    float *left = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)(*tuning)->n_params, sizeof *left);
    if (CHECK_OK(hn_learner_new(&learner, &heap, model, *tuning, on_all_devices(n_devices, devices), &o))) {
        CHECK_OK(hn_learner_step(learner, &batch, 0, RATE, NULL, &learned));
        hn_learner_free(learner);
    }
    size_t at = 0;
    CHECK_OK(hn_tuning_pull(*tuning));
    for (int i = 0; i < (*tuning)->n_tensors; i++) {
        const int64_t n = hn_count(&(*tuning)->tensors[i].weight.type);
        memcpy(left + at, hn_tuning_data(*tuning, i), (size_t)n * sizeof *left);
        at += (size_t)n;
    }
    hn_batch_free(&batch);
    return left;
}

/* The gradient does not know of decay, so what it took is the difference of two steps: rate times share
 * of what set the weight apart from `toward`. */
static void check_decay(const char *name, const char *targets, const char *vectors, float share,
                        double toward)
{
    hn_model *model;
    hn_tuning *without, *with, *first;
    double worst = 0;
    int n_vectors = 0, n_matrices = 0;
    check_group(name);
    if (!open_model(name, &model))
        return;
    char plain[96];
    snprintf(plain, sizeof plain, "%.*s", (int)(strstr(targets, ":decay") ? strstr(targets, ":decay") - targets
                                                                       : (long)strlen(targets)), targets);
    float *a = step(model, plain, 0, &without), *b = step(model, targets, DECAY, &with);
    size_t at = 0;
    if (a && b && open_tuning(model, targets, &first)) {
        for (int i = 0; i < first->n_tensors; i++) {
            const hn_tunable *t = &first->tensors[i];
            const bool is_vector = t->weight.type.rank == 1;
            const float *w = hn_tuning_data(first, i);
            const double of = is_vector ? (double)share : (double)DECAY, to = is_vector ? toward : 0;
            n_vectors += is_vector;
            n_matrices += !is_vector;
            for (int64_t k = 0; k < hn_count(&t->weight.type); k++, at++) {
                const double took = (double)a[at] - (double)b[at];
                const double off = fabs(took - (double)RATE * of * ((double)w[k] - to));
                worst = off > worst ? off : worst;
            }
        }
        hn_tuning_free(first);
    }
    CHECK_THAT(worst < 1e-6 && n_matrices > 0 && (!vectors || n_vectors > 0),
               "%s: off by %.3g over %d vectors, %d matrices", targets, worst, n_vectors, n_matrices);
    hn_free(&heap, a);
    hn_free(&heap, b);
    hn_tuning_free(without);
    hn_tuning_free(with);
    hn_model_close(model);
}

/* ---- balance ---- */

static double loss(const hn_model *model, hn_tuning *tuning, const hn_batch *batch, float balance)
{
    hn_learner *learner;
    hn_learned learned = { 0 };
    const hn_learner_options o = { .objective = { .max_tokens = 64, .balance = balance,
                                                  .balances_batch = true } };
    if (CHECK_OK(hn_learner_new(&learner, &heap, model, tuning, on_all_devices(n_devices, devices), &o))) {
        CHECK_OK(hn_learner_look(learner, batch, 0, NULL, &learned));
        hn_learner_free(learner);
    }
    return learned.loss;
}

static void check_balance(const hn_json *reference, const hn_json *of)
{
    hn_model *model;
    hn_tuning *tuning;
    double want;
    hn_batch batch = hn_batch_on(&heap);
    check_group(of->key);
    for (const hn_json *s = hn_json_get(reference, "sequences")->as.children.first; s; s = s->next) {
        int32_t ids[64];
        size_t n = 0;
        for (const hn_json *id = s->as.children.first; id && n < 64; id = id->next)
            ids[n++] = (int32_t)id->as.integer;
        add_sequence(&batch, ids, n);
    }
    if (CHECK_OK(hn_json_want_double(of, "balance", &want)) && open_model(of->key, &model)) {
        if (open_tuning(model, "attn", &tuning)) {
            const double found = loss(model, tuning, &batch, 1) - loss(model, tuning, &batch, 0);
            CHECK_THAT(fabs(found - want) < 1e-5 * want, "balance %.7f, Transformers' %.7f", found, want);
            hn_tuning_free(tuning);
        }
        hn_model_close(model);
    }
    hn_batch_free(&batch);
}

static void check_balances(void)
{
    char path[512];
    void *text;
    size_t bytes;
    hn_json_text *tree;
    snprintf(path, sizeof path, "%s/tests/differential/balance.json", HN_SOURCE_DIR);
    if (!CHECK_OK(hn_file_read(&heap, path, 1 << 20, &text, &bytes)))
        return;
    if (CHECK_OK(hn_json_read(&heap, path, text, bytes, &tree))) {
        const hn_json *root = hn_json_root(tree);
        for (const hn_json *m = hn_json_get(root, "models")->as.children.first; m; m = m->next)
            check_balance(root, m);
        hn_json_free(tree);
    }
    hn_free(&heap, text);
}

int main(int argc, char **argv)
{
    const hn_device_options one = { .n_threads = 1 };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (!CHECK_OK(hn_devices_open(&heap, "cpu", &one, &n_devices, devices)))
        return check_close();
    check_decay("llama", "attn_q:full,norm:full", "norms", 0, 0);
    check_decay("llama", "attn_q:full,norm:full:decay=0.5", "norms", 0.5f, 0);
    check_decay("qwen2", "attn_q:full,attn_q.bias:full", "biases", 0, 0);
    check_decay("gemma3", "attn_q:full,norm:full:decay=0.5", "norms", 0.5f, 1);
    check_decay("gemma3", "attn_q:full,norm:full", "norms", 0, 0);
    check_decay("gemma4-dense", "attn_q:full,norm:full:decay=0.5", "norms", 0.5f, 0);
    check_decay("llama", "attn", NULL, 0, 0);
    check_decay("llama", "attn:dora", "magnitudes", 0, 0);
    check_balances();
    hn_devices_close(n_devices, devices);
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
