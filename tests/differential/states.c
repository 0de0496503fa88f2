/* Vectors of models that generate against Transformers: the states after the last norm of a tiny model of every architecture that
 * runs, their mean and the last token's, in f32. References: tools/reference/tiny_states.py. */
#include "infer/embed.h"

#include "io/npy.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>

enum { N_TOKENS = 40, MOST_WIDTH = 128 };

static hn_heap heap;
static const hn_arch *seen[32];
static int n_seen;

static double distance(const float *got, const float *want, int64_t n)
{
    double error = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)got[i] - (double)want[i];
        error += d * d;
        size += (double)want[i] * (double)want[i];
    }
    return sqrt(error / size);
}

static void check_pooling(const hn_model *model, hn_run_spec run, const char *pooling, const float *want)
{
    hn_embedder *e;
    int32_t tokens[N_TOKENS];
    float got[MOST_WIDTH];
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    const hn_embedder_options o = { .pooling = pooling };
    for (int64_t i = 0; i < N_TOKENS; i++)
        tokens[i] = (int32_t)(3 + (i * i * 7 + i * 13) % (vocab - 3));
    if (!CHECK_OK(hn_embedder_new(&e, &heap, model, NULL, run, &o)))
        return;
    const int64_t width = hn_embedder_width(e);
    if (CHECK(width <= MOST_WIDTH) && CHECK_OK(hn_embedder_run_ids(e, tokens, N_TOKENS, NULL, got)))
        CHECK_THAT(distance(got, want, width) < 5e-6, "%s: at a distance of %.3g", pooling, distance(got, want, width));
    hn_embedder_free(e);
}

static void check_model(const char *name)
{
    char path[512];
    hn_model *model;
    hn_npy want;
    int n_devices;
    hn_device *devices[HN_MAX_DEVICES];
    const hn_device_options open = { .n_threads = 2 };
    check_group(name);
    snprintf(path, sizeof path, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    if (!CHECK_OK(hn_model_open(&heap, path, NULL, &model)))
        return;
    seen[n_seen++] = hn_model_arch(model);
    snprintf(path, sizeof path, "%s/tests/differential/states/%s.npy", HN_SOURCE_DIR, name);
    if (CHECK_OK(hn_npy_read(&heap, path, &want))) {
        if (CHECK_INT(hn_model_hparams(model)->width, want.dim[1]) && CHECK_OK(hn_devices_open(&heap, "cpu", &open, &n_devices, devices))) {
            const hn_run_spec run = { n_devices, devices, HN_NUMERICS_F32 };
            check_pooling(model, run, "mean", want.data);
            check_pooling(model, run, "lasttoken", (const float *)want.data + want.dim[1]);
            hn_devices_close(n_devices, devices);
        }
        hn_npy_free(&want);
    }
    hn_model_close(model);
}

/* Whatever generates embeds. */
static void check_all_seen(void)
{
    for (int i = 0; hn_archs[i]; i++) {
        bool is_seen = !hn_archs[i]->build || hn_archs[i]->embeds_only;
        for (int k = 0; k < n_seen; k++)
            is_seen = is_seen || seen[k] == hn_archs[i];
        CHECK_THAT(is_seen, "%s runs, and no vector of it is compared", hn_archs[i]->name);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "llama", "llama-tied", "mistral", "mixtral", "mixtral-top4", "qwen2", "qwen3", "qwen3moe",
                                         "gemma2", "gemma3", "gemma4-e", "gemma4-moe", "gemma4-dense", "gpt-oss", "smollm3", "granite", "gpt2", "gemma3n",
                                         "mistral-headless",
                                         "deepseek-v2", "deepseek-v2-groups", "deepseek-v3",
                                         "olmoe", "granitemoe", "granitemoe-shared", "phi3", "phi4-mini" };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_model(names[i]);
    check_group("all");
    check_all_seen();
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
