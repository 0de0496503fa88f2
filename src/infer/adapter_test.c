/* Bits are compared on the CPU in the numerics that were recorded, where they must be equal on every machine; what
 * another mode makes of them is measured apart. */
#include "infer/adapter_test.h"

#include "base/mathfn.h"
#include "base/sha256.h"
#include "base/work.h"
#include "infer/adapter_parts.h"
#include "infer/forward.h"

#include <stdio.h>
#include <string.h>

/* The last token's logits; the forward stays open for their sake. */
static hn_status last_logits(hn_forward **forward, hn_heap *heap, const hn_model *model,
                             hn_run_spec run, const hn_adapters *adapters,
                             const int32_t *tokens, int64_t n, const float **out)
{
    const hn_forward_options o = { .max_tokens = n, .adapters = adapters };
    hn_tensor t;
    HN_TRY(hn_forward_new(forward, heap, model, run, &o));
    const hn_run_options heeding = { .cancel = hn_work_cancel() };
    HN_TRY(hn_forward_run(*forward, tokens, n, &heeding));
    HN_TRY(hn_forward_logits(*forward, &t));
    *out = (const float *)t.data + (n - 1) * hn_last_dim(&t.type);
    return HN_OK;
}

static void digest_logits(const float *logits, int64_t n, char text[65])
{
    hn_sha256 sha;
    uint8_t digest[32];
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, logits, (size_t)n * sizeof *logits);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, text);
}

static hn_status set_keys(hn_heap *heap, const int32_t *tokens, int64_t n, const float *logits,
                          int64_t vocab, hn_meta *keys)
{
    const int64_t most = n > vocab ? n : vocab;
    char text[65];
    int64_t *ids = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)n, sizeof *ids);
    double *wide = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)most, sizeof *wide);
    hn_status status = ids && wide ? HN_OK : HN_ERR_MEMORY;
    for (int64_t i = 0; i < n && status == HN_OK; i++)
        ids[i] = tokens[i];
    for (int64_t i = 0; i < vocab && status == HN_OK; i++)
        wide[i] = (double)logits[i];
    if (status == HN_OK)
        status = hn_meta_set_ints(keys, HN_ADAPTER_TEST_IDS, HN_META_I32, ids, (size_t)n);
    if (status == HN_OK)
        status = hn_meta_set_doubles(keys, HN_ADAPTER_TEST_LOGITS, HN_META_F32, wide, (size_t)vocab);
    digest_logits(logits, vocab, text);
    if (status == HN_OK)
        status = hn_meta_set_text(keys, HN_ADAPTER_TEST_SHA, text);
    if (status == HN_OK)
        status = hn_meta_set_double(keys, HN_ADAPTER_BUDGET, HN_META_F32, 0.01);
    hn_free(heap, ids);
    hn_free(heap, wide);
    return status;
}

hn_status hn_adapter_test_make(hn_heap *heap, const hn_model *model, hn_run_spec run,
                               const char *path, const int32_t *tokens, int64_t n,
                               hn_meta *keys)
{
    hn_adapters all = { 0 };
    hn_adapter *adapter;
    hn_forward *forward = NULL;
    const float *logits = NULL;
    HN_TRY(hn_adapter_read(&adapter, heap, model, path));
    hn_status status = hn_adapters_add(&all, adapter);
    if (status == HN_OK)
        status = last_logits(&forward, heap, model, run, &all, tokens, n, &logits);
    if (status == HN_OK)
        status = set_keys(heap, tokens, n, logits, hn_model_hparams(model)->n_vocab, keys);
    hn_forward_free(forward);
    hn_adapters_close(&all);
    return status;
}

/* KL(recorded, found). */
static double divergence(const hn_meta_value *recorded, const float *found, int64_t n)
{
    double most[2] = { -1e300, -1e300 }, sum[2] = { 0 }, kl = 0;
    for (int64_t i = 0; i < n; i++) {
        const double z[2] = { hn_meta_item_double(recorded, (uint64_t)i), (double)found[i] };
        for (int k = 0; k < 2; k++)
            most[k] = z[k] > most[k] ? z[k] : most[k];
    }
    for (int64_t i = 0; i < n; i++) {
        sum[0] += hn_math_exp(hn_meta_item_double(recorded, (uint64_t)i) - most[0]);
        sum[1] += hn_math_exp((double)found[i] - most[1]);
    }
    for (int64_t i = 0; i < n; i++) {
        const double p = hn_meta_item_double(recorded, (uint64_t)i) - most[0] - hn_math_log(sum[0]);
        const double q = (double)found[i] - most[1] - hn_math_log(sum[1]);
        kl += hn_math_exp(p) * (p - q);
    }
    return kl;
}

static hn_status judge(const hn_meta *meta, const float *logits, int64_t n, hn_numerics numerics,
                       hn_adapter_trial *out)
{
    const hn_meta_value *recorded;
    hn_span want;
    char found[65];
    const bool is_exact = numerics == out->recorded;
    HN_TRY(hn_meta_array(meta, HN_ADAPTER_TEST_LOGITS, HN_META_F32, &recorded));
    HN_TRY(hn_meta_want_string(meta, HN_ADAPTER_TEST_SHA, &want));
    HN_TRY(hn_meta_double(meta, HN_ADAPTER_BUDGET, 0.01, &out->budget));
    HN_REQUIRE(recorded && recorded->n == (uint64_t)n, HN_ERR_FORMAT,
               "its self-test has logits of another vocabulary");
    digest_logits(logits, n, found);
    out->was_tried = true;
    if (want.bytes == 64 && !memcmp(want.data, found, 64))
        return HN_OK;
    out->kl = divergence(recorded, logits, n);
    HN_REQUIRE(!is_exact, HN_ERR_FORMAT,
               "its self-test gives other logits than it recorded (KL %.3g, in %s, where the bits must "
               "agree): the adapter or its base was altered", out->kl, hn_numerics_definition(numerics));
    HN_REQUIRE(out->kl <= out->budget, HN_ERR_FORMAT,
               "in %s numerics the KL of its last logits from those recorded in %s is %.3g, more than its "
               "budget of %.3g: expected --numerics %s", hn_numerics_definition(numerics),
               hn_numerics_definition(out->recorded), out->kl, out->budget, hn_numerics_definition(out->recorded));
    return HN_OK;
}

hn_status hn_adapter_numerics(const hn_adapter *adapter, hn_numerics *out)
{
    hn_span found;
    char word[64] = "";
    HN_TRY(hn_meta_string(hn_adapter_meta(adapter), HN_ADAPTER_NUMERICS, &found));
    if (found.data)
        memcpy(word, found.data, found.bytes < sizeof word ? found.bytes : sizeof word - 1);
    return hn_numerics_recorded(found.data ? word : NULL, out);
}

static hn_status run_by(hn_heap *heap, const hn_model *model, hn_run_spec run,
                        const hn_adapters *all, const int32_t *tokens, int64_t n,
                        hn_adapter_trial *out)
{
    hn_forward *forward = NULL;
    const float *logits = NULL;
    hn_status status = last_logits(&forward, heap, model, run, all, tokens, n, &logits);
    if (status == HN_OK)
        status = judge(hn_adapter_meta(all->at[0]), logits, hn_model_hparams(model)->n_vocab, run.numerics,
                       out);
    hn_forward_free(forward);
    return status;
}

hn_status hn_adapter_test_run(hn_heap *heap, const hn_model *model, hn_run_spec run,
                              hn_adapter *adapter, bool as_trained, hn_adapter_trial *out)
{
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    const hn_meta_value *ids;
    hn_adapters all = { 0 };
    HN_TRY(hn_meta_array(hn_adapter_meta(adapter), HN_ADAPTER_TEST_IDS, HN_META_I32, &ids));
    HN_TRY(hn_adapter_numerics(adapter, &out->recorded));
    HN_REQUIRE(ids && ids->n > 0 && ids->n <= 4096, HN_ERR_FORMAT, "its self-test has %llu tokens",
               ids ? (unsigned long long)ids->n : 0ull);
    hn_run_spec then = run;
    then.numerics = out->recorded;
    if (out->recorded == HN_NUMERICS_MIXED_1)
        snprintf(out->note, sizeof out->note, "of the first definition of mixed numerics, in which its test is run; "
                 "what follows is run in another, by its budget");
    int32_t *tokens = hn_alloc_array(heap, HN_TAG_TEXT, (size_t)ids->n, sizeof *tokens);
    if (!tokens)
        return HN_ERR_MEMORY;
    hn_status status = hn_adapters_add(&all, adapter);
    for (uint64_t i = 0; i < ids->n && status == HN_OK; i++) {
        tokens[i] = (int32_t)hn_meta_item_int(ids, i);
        if (tokens[i] < 0 || tokens[i] >= vocab)
            status = hn_fail(HN_ERR_FORMAT, "its self-test has token %d: the vocabulary has %lld",
                             (int)tokens[i], (long long)vocab);
    }
    if (status == HN_OK)
        status = run_by(heap, model, then, &all, tokens, (int64_t)ids->n, out);
    if (status == HN_OK && !as_trained && run.numerics != out->recorded)
        status = run_by(heap, model, run, &all, tokens, (int64_t)ids->n, out);
    hn_free(heap, tokens);
    return status;
}
