/* Models against Transformers: the logits of a tiny model of every architecture that can be run,
 * in f32, from the Hugging Face directory, and, bit for bit the same, from GGUF files made of it.
 * References: tools/reference/tiny_logits.py. Further: any number of threads, every plan, and a
 * program compiled for more tokens give the same bits. */
#include "infer/forward.h"

#include "convert/convert.h"
#include "io/npy.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_TOKENS = 40 };

static hn_heap heap;
static hn_pool *pool;
static const hn_arch *seen[64]; /* a model each */
static int n_seen;

static void make_tokens(int64_t vocab, int32_t *out)
{
    for (int64_t i = 0; i < N_TOKENS; i++)
        out[i] = (int32_t)(3 + (i * i * 7 + i * 13) % (vocab - 3));
}

typedef struct setting {
    int threads;
    const char *plan;
    int64_t room; /* tokens the program is compiled for */
    hn_numerics numerics;
} setting;

/* The logits, copied; NULL after a failed check. */
static float *run(const char *path, const setting *s, int64_t *n)
{
    hn_model *model;
    hn_forward *forward;
    hn_device *devices[HN_MAX_DEVICES];
    hn_tensor t;
    int n_devices;
    int32_t tokens[N_TOKENS];
    float *copy = NULL;
    const hn_device_options open = { .n_threads = s->threads };
    const hn_forward_options o = { .max_tokens = s->room, .plan = s->plan };
    if (!CHECK_OK(hn_model_open(&heap, path, NULL, &model)))
        return NULL;
    if (n_seen < (int)(sizeof seen / sizeof *seen) && (!n_seen || seen[n_seen - 1] != hn_model_arch(model)))
        seen[n_seen++] = hn_model_arch(model);
    make_tokens(hn_model_hparams(model)->n_vocab, tokens);
    if (CHECK_OK(hn_devices_open(&heap, "cpu", &open, &n_devices, devices))) {
        if (CHECK_OK(hn_forward_new(&forward, &heap, model, (hn_run_spec){ n_devices, devices, s->numerics }, &o))) {
            if (CHECK_OK(hn_forward_run(forward, tokens, N_TOKENS, NULL)) &&
                CHECK_OK(hn_forward_logits(forward, &t))) {
                *n = hn_count(&t.type);
                copy = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)*n, sizeof *copy);
                memcpy(copy, t.data, (size_t)*n * sizeof *copy);
            }
            hn_forward_free(forward);
        }
        hn_devices_close(n_devices, devices);
    }
    hn_model_close(model);
    return copy;
}

static void check_distance(const char *name, const float *got, int64_t n)
{
    char path[512];
    hn_npy want;
    double error = 0, size = 0;
    snprintf(path, sizeof path, "%s/tests/differential/logits/%s.npy", HN_SOURCE_DIR, name);
    if (!CHECK_OK(hn_npy_read(&heap, path, &want)))
        return;
    if (CHECK_INT(want.dim[0] * want.dim[1], n))
        for (int64_t i = 0; i < n; i++) {
            const double w = (double)((const float *)want.data)[i], d = (double)got[i] - w;
            error += d * d;
            size += w * w;
        }
    CHECK_THAT(error <= 1e-11 * size, "NMSE %.3g: expected at most 1e-11", error / size);
    hn_npy_free(&want);
}

static void check_same(const char *what, const float *want, int64_t n, const char *path,
                       const setting *s)
{
    int64_t got_n = 0;
    float *got = run(path, s, &got_n);
    CHECK_THAT(got && got_n == n && !memcmp(want, got, (size_t)n * sizeof *got),
               "%s: other bits than one thread from the directory", what);
    hn_free(&heap, got);
}

static void check_converted(const char *dir, const char *type, const float *want, int64_t n)
{
    char out[] = "/tmp/hone-logits-XXXXXX";
    const int file = mkstemp(out);
    const setting one = { 1, NULL, N_TOKENS };
    hn_convert_options options = { 0 };
    hn_watch watch = { 0 };
    if (CHECK(file >= 0) && CHECK_OK(hn_recipe_named(type, &options.recipe)) &&
        CHECK_OK(hn_convert(&heap, pool, dir, hn_sink_own(out), &options, &watch)))
        check_same(type, want, n, out, &one);
    close(file);
    unlink(out);
}

/* Roundings are no excuse: bf16 mode has one answer too. */
static void check_bf16(const char *dir)
{
    static const setting settings[] = {
        { 2, NULL, N_TOKENS, HN_NUMERICS_BF16 }, { 3, "separate", N_TOKENS, HN_NUMERICS_BF16 },
        { 1, "poison", N_TOKENS, HN_NUMERICS_BF16 }, { 2, NULL, 100, HN_NUMERICS_BF16 },
    };
    const setting one = { 1, NULL, N_TOKENS, HN_NUMERICS_BF16 };
    int64_t n = 0;
    float *want = run(dir, &one, &n);
    for (size_t i = 0; want && i < sizeof settings / sizeof *settings; i++)
        check_same("another setting, in bf16", want, n, dir, &settings[i]);
    hn_free(&heap, want);
}

static void check_model(const char *name)
{
    static const setting settings[] = { { 2, NULL, N_TOKENS }, { 3, "separate", N_TOKENS },
                                        { 1, "poison", N_TOKENS }, { 2, NULL, 100 } };
    const setting one = { 1, NULL, N_TOKENS };
    char dir[512];
    int64_t n = 0;
    check_group(name);
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    float *want = run(dir, &one, &n);
    if (!want)
        return;
    check_distance(name, want, n);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        check_same("another setting", want, n, dir, &settings[i]);
    check_converted(dir, "f32", want, n);
    check_converted(dir, "bf16", want, n);
    hn_free(&heap, want);
    if (strcmp(name, "bert") && strncmp(name, "deepseek", 8)) /* which have no bf16 mode */
        check_bf16(dir);
}

/* What is in models.def is computed, and held to its reference here: files that can only be read are no model. */
static void check_all_seen(void)
{
    check_group("architectures");
    for (int i = 0; hn_archs[i]; i++) {
        bool is_seen = false;
        for (int k = 0; k < n_seen; k++)
            is_seen = is_seen || seen[k] == hn_archs[i];
        CHECK_THAT(hn_archs[i]->build && is_seen, "%s: no logits of it are compared", hn_archs[i]->name);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
        "llama", "llama-tied", "mistral", "mixtral", "mixtral-top4", "qwen2",
        "qwen3", "qwen3moe", "gemma2", "gemma3", "gemma4-e", "gemma4-moe",
        "gemma4-dense", "gpt-oss", "smollm3", "granite", "gpt2", "gemma3n",
        "olmoe", "granitemoe", "granitemoe-shared", "phi3", "phi4-mini",
        "deepseek-v2", "deepseek-v2-groups", "deepseek-v3",
        "bert", /* of which the last hidden states */
    };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK_OK(hn_pool_new(&heap, 2, &pool)))
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            check_model(names[i]);
    check_all_seen();
    hn_pool_free(pool);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
