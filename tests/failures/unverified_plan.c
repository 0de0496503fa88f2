/* UNVERIFIED-PLAN: the verifier was a call that most users of plans forgot: 4 of 12 early frees planted
 * in a training gave another adapter, with status 0. Here a fault is planted at random steps of the
 * plans of a training step, of an evaluation, of a session and of a step over two devices; each must be refused, or be harmless to
 * the bit. */
#include "tests/failures/plan_faults.h"

#include "infer/session.h"
#include "tests/harness/check.h"
#include "tests/harness/random_model.h"
#include "train/evaluator.h"
#include "train/learner.h"

#include <stdio.h>
#include <string.h>

enum { LENGTH = 11, N_FAULTS = 1600 };

static hn_heap heap;
static hn_device *device, *devices[HN_MAX_DEVICES];
static hn_model *model;

static uint64_t add(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

static hn_status fill(hn_batch *batch)
{
    int32_t ids[LENGTH];
    float weights[LENGTH];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < LENGTH; i++) {
            ids[i] = (i * 37 + k * 11 + 3) % 300;
            weights[i] = i > 2;
        }
        hn_example example = hn_example_on(&heap);
        example.n_parts = 1;
        example.part[0] = (hn_sample){ .ids = ids, .weights = weights, .n = LENGTH - (size_t)k,
                                         .n_supervised = LENGTH - (size_t)k - 3 };
        HN_TRY(hn_batch_add(batch, &example));
    }
    return HN_OK;
}

/* Two steps, in two micro-batches each, with adapters and recomputation; then an evaluation. */
static hn_status train(const hn_batch *batch, hn_tuning *tuning, int n_devices, uint64_t *digest)
{
    hn_learner *learner;
    hn_learned learned;
    hn_learner_options o = { .objective = { .max_tokens = 2 * LENGTH } };
    o.descent.clip_norm = 1;
    o.descent.recompute_every = 1;
    HN_TRY(hn_learner_new(&learner, &heap, model, tuning, (hn_run_spec){ n_devices, devices, HN_NUMERICS_F32 }, &o));
    hn_status status = HN_OK;
    for (int step = 0; step < 2 && status == HN_OK; step++) {
        status = hn_learner_step(learner, batch, step, 0.01f, NULL, &learned);
        *digest = add(*digest, &learned.loss, sizeof learned.loss);
        *digest = add(*digest, &learned.grad_norm, sizeof learned.grad_norm);
    }
    HN_TRY(hn_tuning_pull(tuning));
    for (int i = 0; i < tuning->n_tensors; i++)
        *digest = add(*digest, hn_tuning_data(tuning, i), hn_type_bytes(&tuning->tensors[i].weight.type));
    hn_learner_free(learner);
    HN_TRY(status);
    hn_evaluator *evaluator;
    hn_evaluation sums = { 0 };
    HN_TRY(hn_evaluator_new(&evaluator, &heap, model, tuning, NULL, hn_run_on(&device), &o.objective));
    status = hn_evaluator_add(evaluator, batch, NULL, &sums);
    *digest = add(*digest, &sums.loss, sizeof sums.loss);
    *digest = add(*digest, &sums.accuracy, sizeof sums.accuracy);
    hn_evaluator_free(evaluator);
    return status;
}

static hn_status train_all(int n_devices, uint64_t *digest)
{
    static const hn_tune_settings plain = { .how = HN_TUNE_LORA, .rank = 4, .alpha = 8 };
    hn_tune_targets targets;
    hn_tuning *tuning = NULL;
    hn_batch batch = hn_batch_on(&heap);
    HN_TRY(hn_tune_targets_parse(&heap, "attn,mlp", &plain, &targets));
    hn_status status = hn_tuning_new(&heap, model, &targets, 1, &tuning);
    hn_tune_targets_free(&heap, &targets);
    if (status == HN_OK)
        status = fill(&batch);
    if (status == HN_OK)
        status = train(&batch, tuning, n_devices, digest);
    hn_batch_free(&batch);
    hn_tuning_free(tuning);
    return status;
}

/* A prompt in pieces, then tokens one by one. */
static hn_status generate(uint64_t *digest)
{
    static const hn_session_options o = { .n_ctx = 64, .max_batch = 5 };
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    int32_t tokens[16] = { 3, 1, 4, 1, 5, 9, 2, 6 };
    hn_session *session;
    HN_TRY(hn_session_new(&session, &heap, model, hn_run_on(&device), &o));
    hn_status status = HN_OK;
    for (int64_t n = 8; n < 12 && status == HN_OK; n++) {
        status = hn_session_sync(session, tokens, n, NULL);
        const float *logits = hn_session_logits(session);
        if (status != HN_OK || !logits)
            break;
        int best = 0;
        for (int i = 1; i < vocab; i++)
            best = logits[i] > logits[best] ? i : best;
        tokens[n] = best;
        *digest = add(*digest, logits, (size_t)vocab * sizeof *logits);
    }
    hn_session_free(session);
    return status;
}

static hn_status everything(uint64_t *digest)
{
    *digest = 1469598103934665603u;
    planted.n_plans = 0;
    HN_TRY(train_all(1, digest));
    HN_TRY(generate(digest));
    return train_all(2, digest); /* over two devices, with the copies between them */
}

static void plant_all(uint64_t right, int n_plans)
{
    int n[N_PLAN_FAULTS] = { 0 }, refused[N_PLAN_FAULTS] = { 0 }, all = 0, n_refused = 0;
    for (int k = 0, tries = 0; k < N_FAULTS && tries < 4 * N_FAULTS; tries++) {
        planted = (plan_faults){ .is_armed = true, .kind = (plan_fault)(tries % N_PLAN_FAULTS),
                                 .plan = (tries / N_PLAN_FAULTS) % n_plans,
                                 .seed = check_seed() + (uint64_t)tries };
        uint64_t digest;
        const hn_status status = everything(&digest);
        planted.is_armed = false;
        CHECK_THAT(status == HN_OK || status == HN_ERR_PROOF || planted.was_planted, "%s",
                   hn_error_message());
        if (!planted.was_planted)
            continue; /* that plan has nothing of the kind */
        k++;
        n[planted.kind]++;
        CHECK_THAT(status == HN_ERR_PROOF || (status == HN_OK && digest == right),
                   "plan %d: %s: %s", planted.plan, planted.where,
                   status == HN_OK ? "other bits, and nothing was said" : hn_error_message());
        refused[planted.kind] += status == HN_ERR_PROOF;
        n_refused += status == HN_ERR_PROOF;
        all++;
    }
    for (int i = 0; i < N_PLAN_FAULTS; i++)
        printf("%-18s planted %3d, refused %3d\n", plan_fault_names[i], n[i], refused[i]);
    printf("%d faults planted in %d plans: %d refused, %d harmless to the bit\n", all, n_plans,
           n_refused, all - n_refused);
    CHECK_THAT(all >= N_FAULTS / 2 && n_refused >= N_FAULTS / 4, "%d planted, %d refused", all, n_refused);
}

int main(int argc, char **argv)
{
    int n_devices;
    uint64_t right = 0, again = 0;
    const hn_device_options one = { .n_threads = 1 };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK_OK(hn_devices_open(&heap, "cpu,cpu", &one, &n_devices, devices)) &&
        CHECK_OK(random_model_open(&heap, "llama", "", 7, &model))) {
        device = devices[0];
        CHECK_OK(everything(&right));
        const int n_plans = planted.n_plans;
        CHECK_OK(everything(&again));
        CHECK_THAT(right == again && n_plans >= 5, "%d plans", n_plans);
        plant_all(right, n_plans);
        hn_model_close(model);
    }
    hn_devices_close(n_devices, devices);
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
