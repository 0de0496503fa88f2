/* Preferences (DPO, ORPO, KTO) and staying near the base (KL) against formulas in float64: loss and gradients
 * of a batch, and the same bits from any cut into micro-batches. References:
 * tools/reference/preferences.py. */
#include "train/learner.h"

#include "io/safetensors.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_heap heap;

typedef struct subject {
    hn_safetensors file;
    hn_model *model;
    hn_tuning *tuning;
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
} subject;

static const hn_weight_entry *entry(const subject *s, const char *prefix, const char *name)
{
    char full[HN_TENSOR_NAME + 8];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    for (size_t i = 0; i < s->file.n_tensors; i++)
        if (!strcmp(s->file.tensors[i].name, full))
            return &s->file.tensors[i];
    return NULL;
}

static const void *data(const subject *s, const char *name)
{
    return entry(s, "", name)->data;
}

static hn_sample sequence(const subject *s, int i)
{
    const int32_t *begin = data(s, "begin");
    return (hn_sample){ .ids = (int32_t *)(uintptr_t)data(s, "ids") + begin[i],
                        .weights = (float *)(uintptr_t)data(s, "weights") + begin[i],
                        .n = (size_t)(begin[i + 1] - begin[i]) };
}

static bool open_subject(subject *s, const char *name)
{
    char path[512], item[200];
    hn_str text = hn_str_on(&heap);
    hn_tune_targets targets;
    const hn_tune_settings plain = { .rank = 4, .alpha = 8 };
    const hn_device_options threads = { .n_threads = 2 };
    *s = (subject){ 0 };
    snprintf(path, sizeof path, "%s/tests/differential/preferences/%s.safetensors", HN_SOURCE_DIR, name);
    if (!CHECK_OK(hn_safetensors_open(&heap, path, &s->file)))
        return false;
    for (size_t i = 0; i < s->file.n_tensors; i++) {
        const char *own = s->file.tensors[i].name, *end = strstr(own, ".lora_a");
        if (!end || strncmp(own, "blk.", 4))
            continue;
        snprintf(item, sizeof item, "%s%.*s", text.length ? "," : "", (int)(end - own), own);
        hn_str_add(&text, item);
    }
    snprintf(path, sizeof path, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    bool ok = CHECK_OK(hn_model_open(&heap, path, NULL, &s->model)) &&
              CHECK_OK(hn_devices_open(&heap, "cpu", &threads, &s->n_devices, s->devices)) &&
              CHECK_OK(hn_tune_targets_parse(&heap, text.text, &plain, &targets));
    if (ok) {
        ok = CHECK_OK(hn_tuning_new(&heap, s->model, &targets, 1, &s->tuning));
        hn_tune_targets_free(&heap, &targets);
    }
    for (int i = 0; ok && i < s->tuning->n_tensors; i++)
        memcpy(hn_tuning_data(s->tuning, i), data(s, s->tuning->tensors[i].name),
               hn_type_bytes(&s->tuning->tensors[i].weight.type));
    ok = ok && CHECK_OK(hn_tuning_push(s->tuning));
    hn_str_free(&text);
    return ok;
}

static void close_subject(subject *s)
{
    hn_tuning_free(s->tuning);
    hn_model_close(s->model);
    hn_devices_close(s->n_devices, s->devices);
    hn_safetensors_close(&s->file);
}

/* A loss over some of the file's sequences, or of its pairs, by their first. */
typedef struct subset {
    const char *name;
    hn_goal goal;
    int n, order[6];
} subset;

static const subset kinds[] = { { "dpo", HN_GOAL_DPO, 3, { 0, 2, 4 } }, { "kl", HN_GOAL_KL, 3, { 0, 2, 4 } },
                              { "orpo", HN_GOAL_ORPO, 3, { 0, 2, 4 } },
                              { "kto", HN_GOAL_KTO, 4, { 5, 2, 1, 0 } },
                              { "held", HN_GOAL_KTO, 6, { 0, 1, 2, 3, 4, 5 } } };
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Loss and gradients, copied one after the other; NULL after a failed check. */
static float *look(const subject *s, const subset *of, int64_t room, double *loss)
{
    hn_batch batch = hn_batch_on(&heap);
    hn_learner *learner;
    hn_learned learned;
    const hn_learner_options o = { .objective = { .goal = of->goal, .beta = 0.3f, .kl_weight = 0.5f,
                                                  .desirable = 1.5f, .undesirable = 0.75f,
                                                  .max_tokens = room } };
    hn_example pair = hn_example_on(&heap);
    const hn_goal_spec *spec = hn_goal_spec_of(of->goal);
    for (int i = 0; i < of->n; i++) {
        float twice[2][64];
        pair.n_parts = hn_goal_parts(spec);
        pair.label = spec->examples == HN_LABELLED ? i % 2 ? -1 : 1 : 0;
        for (int k = 0; k < pair.n_parts; k++) {
            pair.part[k] = sequence(s, of->order[i] + k);
            for (size_t t = 0; t < pair.part[k].n; t++)
                twice[k][t] = 2 * pair.part[k].weights[t];
            if (spec->counts == HN_COUNTS_WEIGHTS && i == 1)
                pair.part[k].weights = twice[k];
        }
        CHECK_OK(hn_batch_add(&batch, &pair));
    }
    float *all = NULL;
    if (CHECK_OK(hn_learner_new(&learner, &heap, s->model, s->tuning, on_all_devices(s->n_devices, s->devices), &o))) {
        if (CHECK_OK(hn_learner_look(learner, &batch, 0, NULL, &learned))) {
            *loss = learned.loss;
            all = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)s->tuning->n_params, sizeof *all);
            int64_t at = 0;
            for (int i = 0; i < s->tuning->n_tensors; i++) {
                hn_tensor g;
                CHECK_OK(hn_learner_gradient(learner, i, &g));
                memcpy(all + at, g.data, hn_type_bytes(&g.type));
                at += hn_count(&g.type);
            }
        }
        hn_learner_free(learner);
    }
    hn_batch_free(&batch);
    return all;
}

static void compare(const subject *s, const char *kind, const float *got, double loss)
{
    double worst = 0, want;
    hn_span text;
    char number[64] = { 0 };
    if (!CHECK_OK(hn_meta_want_string(&s->file.meta, kind, &text)) || text.bytes >= sizeof number)
        return;
    memcpy(number, text.data, text.bytes);
    want = strtod(number, NULL);
    CHECK_THAT(fabs(loss - want) <= 1e-5 * fabs(want), "%s: loss %.9g, expected %.9g", kind, loss, want);
    int64_t at = 0;
    for (int i = 0; i < s->tuning->n_tensors; i++) {
        char prefix[8];
        snprintf(prefix, sizeof prefix, "%s.", kind);
        const hn_weight_entry *e = entry(s, prefix, s->tuning->tensors[i].name);
        const float *expected = (const float *)(const void *)e->data;
        const int64_t n = hn_count(&e->type);
        double error = 0, size = 0;
        for (int64_t k = 0; k < n; k++) {
            const double d = (double)got[at + k] - (double)expected[k];
            error += d * d;
            size += (double)expected[k] * (double)expected[k];
        }
        const double distance = size > 0 ? sqrt(error / size) : sqrt(error);
        CHECK_THAT(distance <= 1e-5, "%s: gradient of %s: %.3g of its size away", kind,
                   s->tuning->tensors[i].name, distance);
        worst = distance > worst ? distance : worst;
        at += n;
    }
    printf("  %s: loss %.9g, worst gradient %.2g\n", kind, loss, worst);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "llama", "qwen3moe", "gemma4-moe" };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        subject s;
        check_group(names[i]);
        printf("%s\n", names[i]);
        for (int k = 0; k < N_KINDS && open_subject(&s, names[i]); k++) {
            double loss = 0, other = 0;
            float *whole = look(&s, &kinds[k], 128, &loss), *cut = look(&s, &kinds[k], 28, &other);
            if (whole && cut) {
                compare(&s, kinds[k].name, whole, loss);
                CHECK_THAT(!memcmp(&loss, &other, sizeof loss) &&
                               !memcmp(whole, cut, (size_t)s.tuning->n_params * sizeof *whole),
                           "%s: the same bits from other micro-batches", kinds[k].name);
            }
            hn_free(&heap, whole);
            hn_free(&heap, cut);
            close_subject(&s);
        }
    }
    CHECK_INT(0, heap.live_bytes);
    return check_close();
}
