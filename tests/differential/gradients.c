/* Training against PyTorch: the loss and the gradient of every tensor of a batch of several
 * sequences, full and low-rank, for llama (with paired rows; tied), three mixtures of experts, both
 * kinds of gemma4, and phi3, whose matrices lie in one; and the losses of twenty steps. From the Hugging Face directory and from a GGUF
 * file made of it, which must agree to the bit, as must every micro-batch cut, plan, number of
 * threads and recomputation. References: tools/reference/gradients.py. */
#include "train/learner.h"

#include "base/file.h"
#include "base/json.h"
#include "convert/convert.h"
#include "io/safetensors.h"
#include "kernels/gemm/rows.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static hn_heap heap;
static hn_pool *pool;

typedef struct reference {
    char dir[512];
    hn_safetensors lora;
    hn_json_text *record;
    hn_batch batch;
} reference;

typedef struct setting {
    int threads, recompute;
    int64_t room; /* tokens of a micro-batch */
    hn_plan_mode mode;
} setting;

static const setting plain = { 2, 0, 64, HN_PLAN_INPLACE };

/* A model, what is trained of it, and a learner. */
typedef struct run {
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices;
    hn_model *model;
    hn_tuning *tuning;
    hn_learner *learner;
} run;

static const hn_weight_entry *entry(const hn_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->n_tensors; i++)
        if (!strcmp(file->tensors[i].name, name))
            return &file->tensors[i];
    return NULL;
}

static double number(const reference *r, const char *key)
{
    double value = NAN;
    CHECK_OK(hn_json_want_double(hn_json_get(hn_json_root(r->record), key), key, &value));
    return value;
}

static double listed(const reference *r, const char *key, int at)
{
    const hn_json *v = hn_json_get(hn_json_root(r->record), key)->as.children.first;
    while (at-- > 0)
        v = v->next;
    double value = NAN;
    CHECK_OK(hn_json_want_double(v, key, &value));
    return value;
}

static bool open_reference(const char *name, reference *r)
{
    char path[640];
    *r = (reference){ .batch = hn_batch_on(&heap) };
    snprintf(r->dir, sizeof r->dir, "%s/tests/differential/gradients/%s", HN_SOURCE_DIR, name);
    snprintf(path, sizeof path, "%s/lora.safetensors", r->dir);
    if (!CHECK_OK(hn_safetensors_open(&heap, path, &r->lora)))
        return false;
    snprintf(path, sizeof path, "%s/record.json", r->dir);
    void *text;
    size_t bytes;
    if (!CHECK_OK(hn_file_read(&heap, path, 1 << 20, &text, &bytes)))
        return false;
    const bool parsed = CHECK_OK(hn_json_read(&heap, path, text, bytes, &r->record));
    hn_free(&heap, text);
    if (!parsed)
        return false;
    const int32_t *begin = (const int32_t *)(const void *)entry(&r->lora, "begin")->data;
    for (int64_t i = 0; i + 1 < entry(&r->lora, "begin")->type.dim[0]; i++) {
        const hn_sample s = {
            .ids = (int32_t *)(uintptr_t)(const void *)entry(&r->lora, "ids")->data + begin[i],
            .weights = (float *)(uintptr_t)entry(&r->lora, "weights")->data + begin[i],
            .n = (size_t)(begin[i + 1] - begin[i])
        };
        if (!CHECK_OK(hn_batch_add_sample(&r->batch, &s)))
            return false;
    }
    return true;
}

static void close_reference(reference *r)
{
    hn_batch_free(&r->batch);
    hn_json_free(r->record);
    hn_safetensors_close(&r->lora);
}

/* ---- runs ---- */

/* "NAME:r=4:alpha=8" of every A in the file. */
static void lora_targets(const reference *r, hn_str *out)
{
    char item[256];
    const int rank = (int)number(r, "rank");
    for (size_t i = 0; i < r->lora.n_tensors; i++) {
        const char *name = r->lora.tensors[i].name, *end = strstr(name, ".lora_a");
        if (!end || !strncmp(name, "grad.", 5))
            continue;
        snprintf(item, sizeof item, "%s%.*s:r=%d:alpha=%g", out->length ? "," : "",
                 (int)(end - name), name, rank, rank * number(r, "scale"));
        hn_str_add(out, item);
    }
}

static void close_run(run *x)
{
    hn_learner_free(x->learner);
    hn_tuning_free(x->tuning);
    hn_model_close(x->model);
    hn_devices_close(x->n_devices, x->devices);
}

static bool set_pairs(const reference *r, hn_tuning *t)
{
    bool all = true;
    for (int i = 0; i < t->n_tensors; i++) {
        const hn_weight_entry *e = entry(&r->lora, t->tensors[i].name);
        all = CHECK_THAT(e && hn_same_shape(&e->type, &t->tensors[i].weight.type),
                         "%s has the reference's shape", t->tensors[i].name) && all;
        if (all)
            memcpy(hn_tuning_data(t, i), e->data, hn_type_bytes(&e->type));
    }
    return CHECK_OK(hn_tuning_push(t)) && all;
}

typedef enum training { LORA, FULL, PARAMETERS } training; /* the last: what PyTorch has as parameters */

static bool open_run(run *x, const reference *r, const char *path, training kind, const setting *s)
{
    const bool full = kind != LORA;
    hn_str text = hn_str_on(&heap);
    hn_tune_targets targets;
    const hn_tune_settings otherwise = { .how = HN_TUNE_LORA, .rank = 8 };
    const hn_device_options device = { .n_threads = s->threads };
    const hn_learner_options o = {
        .objective = { .max_tokens = s->room },
        .descent = { .decay = (float)number(r, "decay"), .clip_norm = (float)number(r, "clip"),
                     .recompute_every = s->recompute, .mode = s->mode },
    };
    *x = (run){ 0 };
    if (full)
        hn_str_add(&text, kind == PARAMETERS && strstr(path, "gemma4")
                              ? "all:full,*layer_output_scale*:frozen" : "all:full");
    else
        lora_targets(r, &text);
    bool ok = CHECK_OK(hn_devices_open(&heap, "cpu", &device, &x->n_devices, x->devices)) &&
              CHECK_OK(hn_model_open(&heap, path, NULL, &x->model)) &&
              CHECK_OK(hn_tune_targets_parse(&heap, text.text, &otherwise, &targets));
    if (ok) {
        ok = CHECK_OK(hn_tuning_new(&heap, x->model, &targets, 1, &x->tuning)) &&
             (full || set_pairs(r, x->tuning)) &&
             CHECK_OK(hn_learner_new(&x->learner, &heap, x->model, x->tuning, on_all_devices(x->n_devices, x->devices), &o));
        hn_tune_targets_free(&heap, &targets);
    }
    hn_str_free(&text);
    if (!ok)
        close_run(x);
    return ok;
}

/* ---- comparing ---- */

typedef struct worst {
    double whole, distance; /* the norm of all gradients; the worst tensor's distance */
    char name[HN_TENSOR_NAME];
} worst;

static int64_t pairs_of(const run *x, const hn_tunable *t)
{
    int layer = 0;
    if (!t->weight.is_permuted || sscanf(t->name, "blk.%d.", &layer) != 1)
        return 0;
    return hn_layer_head_dim(hn_model_hparams(x->model), layer);
}

/* |got - want| / |want|; rows of `got` may lie in pairs. What a norm undoes (the scale of a last
 * layer) has no gradient but rounding: that is held against the whole gradient, w->whole. */
static void compare(worst *w, const char *name, const float *got, const hn_tensor *want,
                    int64_t pairs)
{
    double error = 0, size = 0;
    const int64_t k = want->type.rank > 1 ? hn_last_dim(&want->type) : 1;
    for (int64_t i = 0; i < hn_count(&want->type); i++) {
        const double expected = hn_get(want, i);
        const double d = (double)got[hn_gemm_row(pairs, i / k) * k + i % k] - expected;
        error += d * d;
        size += expected * expected;
    }
    const bool cancels = sqrt(size) < 1e-5 * w->whole;
    const double distance = sqrt(error) / (cancels ? w->whole : sqrt(size));
    if (cancels && !CHECK_THAT(distance <= 1e-7, "gradient of %s, which cancels: %.3g of the "
                               "whole gradient away", name, distance))
        return;
    if (!CHECK_THAT(distance <= 1e-5, "gradient of %s: %.3g of its size away", name, distance))
        return;
    if (distance > w->distance) {
        w->distance = distance;
        snprintf(w->name, sizeof w->name, "%s", name);
    }
}

static void check_loss(double got, double want, double bound, const char *what)
{
    CHECK_THAT(fabs(got - want) <= bound * fabs(want), "%s: %.9g, expected %.9g", what, got, want);
}

static void compare_lora(run *x, const reference *r, worst *w)
{
    for (int i = 0; i < x->tuning->n_tensors; i++) {
        char name[HN_TENSOR_NAME + 8];
        hn_tensor got;
        snprintf(name, sizeof name, "grad.%s", x->tuning->tensors[i].name);
        const hn_weight_entry *e = entry(&r->lora, name);
        if (!CHECK_THAT(e != NULL, "%s is in the reference", name) ||
            !CHECK_OK(hn_learner_gradient(x->learner, i, &got)))
            continue;
        const hn_tensor want = hn_tensor_at(&e->type, (void *)(uintptr_t)e->data);
        compare(w, name, got.data, &want, 0);
    }
}

/* The reference is a directory whose weights are gradients. */
static void compare_full(run *x, const reference *r, worst *w)
{
    hn_model *gradients;
    if (!CHECK_OK(hn_model_open(&heap, r->dir, NULL, &gradients)))
        return;
    for (int i = 0; i < x->tuning->n_tensors; i++) {
        const hn_tunable *t = &x->tuning->tensors[i];
        const nn_weight *e = hn_model_find(gradients, t->name);
        hn_tensor got;
        if (!CHECK_THAT(e != NULL, "%s is in the reference", t->name) ||
            !CHECK_OK(hn_learner_gradient(x->learner, i, &got)))
            continue;
        const hn_tensor want = hn_tensor_at(&e->type, (void *)(uintptr_t)e->data);
        compare(w, t->name, got.data, &want, pairs_of(x, t));
    }
    hn_model_close(gradients);
}

/* Every gradient and the loss of two runs, bit for bit. */
static void compare_bits(run *a, run *b, const hn_learned *la, const hn_learned *lb,
                         const char *what)
{
    CHECK_THAT(memcmp(&la->loss, &lb->loss, sizeof la->loss) == 0, "%s: the loss has the same bits",
               what);
    CHECK_INT(a->tuning->n_tensors, b->tuning->n_tensors);
    for (int i = 0; i < a->tuning->n_tensors; i++) {
        const hn_tunable *t = &a->tuning->tensors[i], *u = &b->tuning->tensors[i];
        hn_tensor x, y;
        if (!CHECK_OK(hn_learner_gradient(a->learner, i, &x)) ||
            !CHECK_OK(hn_learner_gradient(b->learner, i, &y)))
            return;
        const int64_t k = x.type.rank > 1 ? hn_last_dim(&x.type) : 1, px = pairs_of(a, t), py = pairs_of(b, u);
        bool same = true;
        for (int64_t row = 0; row < hn_count(&x.type) / k; row++)
            same = same && !memcmp((float *)x.data + hn_gemm_row(px, row) * k,
                                   (float *)y.data + hn_gemm_row(py, row) * k,
                                   (size_t)k * sizeof(float));
        CHECK_THAT(same, "%s: %s has the same bits", what, t->name);
    }
}

static void check_steps(const reference *r, const char *dir, training kind)
{
    const char *losses = kind == LORA ? "lora_losses" : "full_losses";
    const char *norms = kind == LORA ? "lora_norms" : "full_norms";
    run x;
    if (!open_run(&x, r, dir, kind == LORA ? LORA : PARAMETERS, &plain))
        return;
    const double rate = number(r, kind == LORA ? "lora_rate" : "full_rate"), warm = number(r, "warm");
    double largest = 0;
    for (int s = 0; s < 20; s++) {
        hn_learned out;
        const double p = (s - warm) / (20 - warm);
        const double at = rate * (s < warm ? s / warm : 0.5 * (1 + cos(3.14159265358979 * p)));
        if (!CHECK_OK(hn_learner_step(x.learner, &r->batch, s, (float)at, NULL, &out)))
            break;
        check_loss(out.loss, listed(r, losses, s), 1e-4, losses);
        check_loss(out.grad_norm, listed(r, norms, s), 1e-3, norms);
        const double off = fabs(out.loss / listed(r, losses, s) - 1);
        largest = off > largest ? off : largest;
    }
    printf("  %s: 20 steps within %.2g of PyTorch's\n", losses, largest);
    close_run(&x);
}

static void check_kind(const char *name, const reference *r, const char *dir, const char *gguf,
                       training kind)
{
    const bool full = kind == FULL;
    static const setting others[] = { { 1, 0, 64, HN_PLAN_INPLACE },  { 3, 0, 64, HN_PLAN_SEPARATE },
                                      { 2, 0, 14, HN_PLAN_INPLACE },  { 2, 0, 26, HN_PLAN_POISON },
                                      { 2, 1, 64, HN_PLAN_INPLACE },  { 1, 3, 20, HN_PLAN_REUSE } };
    const char *word = full ? "full" : "lora";
    worst w = { 0 };
    hn_learned one, other;
    run a, b;
    if (!open_run(&a, r, dir, kind, &plain))
        return;
    if (CHECK_OK(hn_learner_look(a.learner, &r->batch, 0, NULL, &one))) {
        check_loss(one.loss, number(r, full ? "loss" : "lora_loss"), 1e-6, word);
        w.whole = one.grad_norm;
        if (full)
            compare_full(&a, r, &w);
        else
            compare_lora(&a, r, &w);
        printf("%s, %s: worst gradient %.2g, of %s\n", name, word, w.distance, w.name);
        if (open_run(&b, r, gguf, kind, &plain)) {
            if (CHECK_OK(hn_learner_look(b.learner, &r->batch, 0, NULL, &other)))
                compare_bits(&a, &b, &one, &other, "GGUF");
            close_run(&b);
        }
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            char what[80];
            snprintf(what, sizeof what, "%d threads, recompute %d, %d tokens, %s",
                     others[i].threads, others[i].recompute, (int)others[i].room,
                     hn_plan_mode_name(others[i].mode));
            if (!open_run(&b, r, dir, kind, &others[i]))
                continue;
            if (CHECK_OK(hn_learner_look(b.learner, &r->batch, 0, NULL, &other)))
                compare_bits(&a, &b, &one, &other, what);
            close_run(&b);
        }
        check_steps(r, dir, kind);
    }
    close_run(&a);
}

static void check_model(const char *name, const char *folder)
{
    reference r;
    char dir[512], gguf[512];
    hn_convert_options o = { 0 };
    hn_watch watch = { 0 };
    check_group(name);
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    snprintf(gguf, sizeof gguf, "%s/%s.gguf", folder, name);
    if (open_reference(name, &r) && CHECK_OK(hn_recipe_named("f32", &o.recipe)) &&
        CHECK_OK(hn_convert(&heap, pool, dir, hn_sink_own(gguf), &o, &watch))) {
        check_kind(name, &r, dir, gguf, FULL);
        check_kind(name, &r, dir, gguf, LORA);
    }
    close_reference(&r);
    remove(gguf);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "llama", "llama-tied", "qwen3moe", "gemma4-moe",
                                         "gemma4-e", "olmoe", "granitemoe", "phi3",
                                         "deepseek-v2-groups", "deepseek-v3", "gpt2", "gemma3n" };
    char folder[] = "/tmp/hone-gradients-XXXXXX";
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK(mkdtemp(folder) != NULL) && CHECK_OK(hn_pool_new(&heap, 2, &pool))) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            check_model(names[i], folder);
        hn_pool_free(pool);
        rmdir(folder);
    }
    CHECK_INT(0, heap.live_bytes);
    return check_close();
}
