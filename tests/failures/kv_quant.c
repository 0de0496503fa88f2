/* KV-quant gibberish: a quantised cache of keys and values corrupts a model, and figures of speed do
 * not show it. hone measures: the KL divergence of every type of cache from f32, per token,
 * against a budget; what cannot be encoded becomes NaN, which the sampler refuses. */
#include "infer/forward.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "tests/harness/random_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 1024, N_TYPES = 4 };

static hn_heap heap;

/* About three times what is measured on these models, whose logits are made as sharp as those of
 * trained ones. Without experts: where a token barely misses one, any rounding moves it. */
static const struct {
    hn_dtype cache;
    double budget;
} types[N_TYPES] = { { HN_F16, 1e-6 }, { HN_BF16, 8e-5 }, { HN_TYPE_q8_0, 8e-4 },
                     { HN_TYPE_q4_0, 0.15 } };

static double log_sum(const float *x, int64_t n, double sharp)
{
    double most = (double)x[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        most = fmax(most, (double)x[i]);
    for (int64_t i = 0; i < n; i++)
        sum += exp(sharp * ((double)x[i] - most));
    return sharp * most + log(sum);
}

/* Logits are sharpened to a deviation of 3, as trained models have. */
static double sharpness(const float *x, int64_t n)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i], squares += (double)x[i] * (double)x[i];
    const double mean = sum / (double)n, spread = squares / (double)n - mean * mean;
    return spread > 0 ? 3 / sqrt(spread) : 1;
}

static double divergence(const float *want, const float *got, int64_t vocab)
{
    double kl = 0;
    for (int64_t t = 0; t < N; t++, want += vocab, got += vocab) {
        const double sharp = sharpness(want, vocab);
        const double a = log_sum(want, vocab, sharp), b = log_sum(got, vocab, sharp);
        for (int64_t i = 0; i < vocab; i++) {
            const double p = sharp * (double)want[i] - a, q = sharp * (double)got[i] - b;
            kl += exp(p) * (p - q);
        }
    }
    return kl / N;
}

static bool run(const hn_model *model, hn_run_spec on, hn_dtype cache, float *out)
{
    static int32_t tokens[N];
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    hn_forward *forward;
    hn_tensor t;
    const hn_forward_options o = { .max_tokens = N, .cache = cache };
    for (int64_t i = 0; i < N; i++)
        tokens[i] = (int32_t)((i * i * 13 + i * 7) % vocab);
    if (!CHECK_OK(hn_forward_new(&forward, &heap, model, on, &o)))
        return false;
    const bool fine = CHECK_OK(hn_forward_run(forward, tokens, N, NULL)) &&
                      CHECK_OK(hn_forward_logits(forward, &t));
    if (fine)
        memcpy(out, t.data, (size_t)(N * vocab) * sizeof *out);
    hn_forward_free(forward);
    return fine;
}

static void check_model(const char *arch, const char *keys, hn_run_spec on)
{
    hn_model *model;
    double kl[N_TYPES] = { 0 };
    check_group(arch);
    if (!CHECK_OK(random_model_open(&heap, arch, keys, 11, &model)))
        return;
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    float *want = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)(N * vocab), sizeof *want);
    float *got = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)(N * vocab), sizeof *got);
    const bool fine = run(model, on, HN_F32, want);
    for (int i = 0; i < N_TYPES && fine; i++) {
        if (!run(model, on, types[i].cache, got))
            continue;
        kl[i] = divergence(want, got, vocab);
        printf("%-8s cache %-5s KL %.3g\n", arch, hn_dtype_name(types[i].cache), kl[i]);
        CHECK_THAT(kl[i] > 0 && kl[i] < types[i].budget, "cache of %s: KL %.3g, expected at most %g",
                   hn_dtype_name(types[i].cache), kl[i], types[i].budget);
    }
    CHECK_THAT(kl[0] < kl[2] && kl[2] < kl[3], "fewer bits, and no farther: %g, %g, %g", kl[0],
               kl[2], kl[3]);
    hn_free(&heap, want);
    hn_free(&heap, got);
    hn_model_close(model);
}

/* What a cache stores is what a file would. */
static void check_store(const hn_format *format)
{
    float x[32], back[32];
    uint8_t stored[64], encoded[64];
    check_group(format->name);
    for (int i = 0; i < 32; i++)
        x[i] = (float)((i * 37) % 41 - 20) * 0.13f;
    hn_format_store(format, x, stored);
    CHECK_OK(hn_format_encode(format, x, 32, encoded, NULL));
    CHECK(!memcmp(stored, encoded, (size_t)format->block_bytes));
    static const float bad[] = { NAN, INFINITY, -INFINITY, 1e30f };
    for (int k = 0; k < 4; k++) {
        x[7] = bad[k];
        hn_format_store(format, x, stored);
        format->decode(stored, 32, back);
        for (int i = 0; i < 32; i++)
            CHECK(isnan(back[i]));
    }
}

int main(int argc, char **argv)
{
    hn_device *devices[HN_MAX_DEVICES];
    int n;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK_OK(hn_devices_open(&heap, "cpu", &(hn_device_options){ 0 }, &n, devices))) {
        check_model("llama", "context_length=2048", on_all_devices(n, devices));
        check_model("qwen3", "context_length=2048", on_all_devices(n, devices));
        check_model("gemma3", "context_length=2048 attention.sliding_window=100 block_count=6",
                    on_all_devices(n, devices));
        check_model("gemma2", "context_length=2048 attention.sliding_window=100", on_all_devices(n, devices));
        hn_devices_close(n, devices);
    }
    check_store(&hn_format_q8_0);
    check_store(&hn_format_q4_0);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
