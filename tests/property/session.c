/* One answer: the logits after a sequence are the same bits whether it was run at once, in
 * single tokens, in ragged pieces, after another sequence that it shares a beginning with, or
 * with another number of threads; and, for f32 keys, those of the whole-sequence program; in
 * bf16 mode too. No
 * allocation while it runs. */
#include "infer/session.h"

#include "infer/forward.h"
#include "infer/sampler.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

enum { N_TOKENS = 40 };

static hn_heap heap;

static void make_tokens(int64_t vocab, int32_t *out)
{
    for (int64_t i = 0; i < N_TOKENS; i++)
        out[i] = (int32_t)(3 + (i * i * 11 + i * 5) % (vocab - 3));
}

typedef struct subject {
    hn_model *model;
    hn_device *one[HN_MAX_DEVICES], *three[HN_MAX_DEVICES]; /* by their threads */
    int n_devices;
    int32_t tokens[N_TOKENS];
    int64_t vocab;
} subject;

static void check_same(const char *what, const float *want, const float *got, int64_t n)
{
    CHECK_THAT(got && !memcmp(want, got, (size_t)n * sizeof *got), "%s: other bits", what);
}

/* The last row of the whole-sequence program. */
static void check_forward(const subject *s, hn_numerics numerics, const float *got)
{
    hn_forward *forward;
    hn_tensor t;
    const hn_forward_options o = { .max_tokens = N_TOKENS };
    if (!CHECK_OK(hn_forward_new(&forward, &heap, s->model, (hn_run_spec){ s->n_devices, s->one, numerics }, &o)))
        return;
    if (CHECK_OK(hn_forward_run(forward, s->tokens, N_TOKENS, NULL)) &&
        CHECK_OK(hn_forward_logits(forward, &t)))
        check_same("whole sequence", (const float *)t.data + (N_TOKENS - 1) * s->vocab, got,
                   s->vocab);
    hn_forward_free(forward);
}

/* Hands over the sequence in pieces, which grow by `step`. */
static bool feed(hn_session *session, const int32_t *tokens, int64_t step)
{
    for (int64_t n = step; n < N_TOKENS; n += step)
        if (!CHECK_OK(hn_session_sync(session, tokens, n, NULL)))
            return false;
    return CHECK_OK(hn_session_sync(session, tokens, N_TOKENS, NULL));
}

static void check_cuts(const subject *s, hn_session *session, const float *want)
{
    static const int64_t steps[] = { 1, 7, 13, N_TOKENS };
    int32_t other[N_TOKENS];
    memcpy(other, s->tokens, sizeof other);
    other[17] = other[17] == 5 ? 6 : 5;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const int64_t calls = heap.n_calls;
        if (!feed(session, other, N_TOKENS) || !feed(session, s->tokens, steps[i]))
            return;
        CHECK_INT(calls, heap.n_calls);
        check_same("another cut", want, hn_session_logits(session), s->vocab);
        CHECK_INT(N_TOKENS, hn_session_length(session));
    }
    if (CHECK_OK(hn_session_sync(session, s->tokens, N_TOKENS, NULL)))
        check_same("the same again", want, hn_session_logits(session), s->vocab);
}

static void check_refusals(const subject *s, hn_session *session)
{
    int32_t bad[2] = { 3, (int32_t)s->vocab };
    CHECK_FAILS(hn_session_sync(session, bad, 2, NULL), HN_ERR_ARGUMENT, "token 1 is");
    CHECK_FAILS(hn_session_sync(session, bad, 0, NULL), HN_ERR_ARGUMENT, "0 tokens");
    CHECK_FAILS(hn_session_sync(session, bad, 1 << 20, NULL), HN_ERR_ARGUMENT, "takes 1 to");
}

static void check_cache(const subject *s, hn_dtype cache, hn_numerics numerics)
{
    float *want = hn_alloc_array(&heap, HN_TAG_STATE, (size_t)s->vocab, sizeof *want);
    hn_session *once, *session;
    const hn_session_options at_once = { .n_ctx = 64, .cache = cache };
    const hn_session_options small = { .n_ctx = 48, .max_batch = 9, .cache = cache,
                                       .packs = true };
    if (CHECK_OK(hn_session_new(&once, &heap, s->model, (hn_run_spec){ s->n_devices, s->one, numerics }, &at_once))) {
        if (feed(once, s->tokens, N_TOKENS))
            memcpy(want, hn_session_logits(once), (size_t)s->vocab * sizeof *want);
        hn_session_free(once);
    }
    if (CHECK_OK(hn_session_new(&session, &heap, s->model, (hn_run_spec){ s->n_devices, s->three, numerics }, &small))) {
        check_cuts(s, session, want);
        check_refusals(s, session);
        hn_session_free(session);
    }
    if (cache == HN_F32)
        check_forward(s, numerics, want);
    hn_free(&heap, want);
}

static void check_model(const char *name)
{
    subject s = { 0 };
    char dir[512];
    int n;
    const hn_device_options one = { .n_threads = 1 }, three = { .n_threads = 3 };
    check_group(name);
    snprintf(dir, sizeof dir, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    if (!CHECK_OK(hn_model_open(&heap, dir, NULL, &s.model)))
        return;
    s.vocab = hn_model_hparams(s.model)->n_vocab;
    make_tokens(s.vocab, s.tokens);
    if (CHECK_OK(hn_devices_open(&heap, "cpu", &one, &s.n_devices, s.one))) {
        if (CHECK_OK(hn_devices_open(&heap, "cpu", &three, &n, s.three))) {
            check_cache(&s, HN_F32, HN_NUMERICS_F32);
            check_cache(&s, HN_F16, HN_NUMERICS_F32);
            check_cache(&s, HN_BF16, HN_NUMERICS_F32);
            if (hn_model_arch(s.model)->has_bf16)
                check_cache(&s, HN_F32, HN_NUMERICS_BF16);
            hn_devices_close(n, s.three);
        }
        hn_devices_close(s.n_devices, s.one);
    }
    hn_model_close(s.model);
}

static int32_t drawn(const hn_sampler_options *o, const float *logits, const int32_t *said,
                     int64_t n)
{
    hn_sampler *sampler;
    int32_t token = -1;
    if (!CHECK_OK(hn_sampler_new(&sampler, &heap, 8, o)))
        return -1;
    CHECK_OK(hn_sampler_next(sampler, 0, logits, said, n, &token));
    hn_sampler_free(sampler);
    return token;
}

/* How often each of eight tokens is drawn, of 4,000. */
static void count_draws(hn_sampler_options o, const float *logits, int counts[8])
{
    hn_sampler *sampler;
    int32_t token;
    memset(counts, 0, 8 * sizeof *counts);
    if (!CHECK_OK(hn_sampler_new(&sampler, &heap, 8, &o)))
        return;
    for (int i = 0; i < 4000; i++)
        if (hn_sampler_next(sampler, (uint64_t)i, logits, NULL, 0, &token) == HN_OK)
            counts[token]++;
    hn_sampler_free(sampler);
}

static void check_sampler(void)
{
    const float logits[8] = { 0, 3, 2, 1, -1, 3, -30, 0.5f };
    const int32_t said[3] = { 1, 5, 1 };
    int counts[8];
    check_group("sampler");
    CHECK_INT(1, drawn(&(hn_sampler_options){ 0 }, logits, NULL, 0)); /* of equals the first */
    CHECK_INT(5, drawn(&(hn_sampler_options){ .frequency = 0.1f }, logits, said, 3));
    CHECK_INT(2, drawn(&(hn_sampler_options){ .presence = 1.5f }, logits, said, 3));
    CHECK_INT(2, drawn(&(hn_sampler_options){ .repetition = 2 }, logits, said, 3));
    CHECK_INT(1, drawn(&(hn_sampler_options){ .repetition = 2, .last_n = 0 }, logits, NULL, 0));
    const hn_logit_bias bias = { 6, 40 };
    CHECK_INT(6, drawn(&(hn_sampler_options){ .n_bias = 1, .bias = &bias }, logits, NULL, 0));
    count_draws((hn_sampler_options){ .temperature = 1 }, logits, counts);
    CHECK_THAT(counts[1] > 1300 && counts[1] < 1560 && counts[5] > 1300 && counts[5] < 1560,
               "%d and %d draws: expected about 1,430 of each", counts[1], counts[5]);
    count_draws((hn_sampler_options){ .temperature = 1, .top_k = 2 }, logits, counts);
    CHECK_INT(4000, counts[1] + counts[5]);
    count_draws((hn_sampler_options){ .temperature = 1, .top_p = 0.8f }, logits, counts);
    CHECK_INT(4000, counts[1] + counts[5] + counts[2]);
    CHECK(counts[2] > 0);
    count_draws((hn_sampler_options){ .temperature = 1, .min_p = 0.3f }, logits, counts);
    CHECK_INT(4000, counts[1] + counts[5] + counts[2]);
    hn_sampler *sampler;
    CHECK_FAILS(hn_sampler_new(&sampler, &heap, 8, &(hn_sampler_options){ .top_p = 1.5f }),
                HN_ERR_ARGUMENT, "top_p");
    CHECK_FAILS(hn_sampler_new(&sampler, &heap, 8, &(hn_sampler_options){ .temperature = -1 }),
                HN_ERR_ARGUMENT, "temperature");
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "llama",    "mixtral",    "qwen3",        "qwen3moe",
                                         "gemma3",   "gemma4-e",   "gemma4-moe",   "gemma4-dense",
                                         "gpt-oss",  "gemma2",     "smollm3",      "granite",
                                         "gpt2", "gemma3n", "olmoe",    "granitemoe", "granitemoe-shared", "phi3", "phi4-mini",
                                         "deepseek-v2", "deepseek-v3" };
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_model(names[i]);
    check_sampler();
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
