#include "infer/session.h"

#include "infer/compiled.h"

#include <string.h>

struct hn_session {
    hn_heap *heap;
    const hn_model *model;
    hn_compiled c;
    int64_t n_ctx, max_batch, length;
    int32_t *held; /* the tokens whose keys are in the cache */
    int32_t *tokens, *positions, *spans, row;
    const float *logits;
};

static hn_status bind_inputs(hn_session *s)
{
    HN_TRY(hn_storage_bind(s->c.storage, s->c.build.tokens->leaf, s->tokens));
    HN_TRY(hn_storage_bind(s->c.storage, s->c.build.positions->leaf, s->positions));
    HN_TRY(hn_storage_bind(s->c.storage, s->c.build.slots->leaf, s->positions));
    HN_TRY(hn_storage_bind(s->c.storage, s->c.build.segments->leaf, s->spans));
    return hn_storage_bind(s->c.storage, s->c.build.rows->leaf, &s->row);
}

static hn_status compile(hn_session *s, hn_device *device, const hn_session_options *options)
{
    const bool is_bf16 = options->numerics == HN_NUMERICS_BF16;
    nn_build_options o = { .max_tokens = s->max_batch, .max_rows = 1, .capacity = s->n_ctx,
                                 .cache = is_bf16 && options->cache == HN_F32 ? HN_BF16
                                                                              : options->cache,
                                 .numerics = options->numerics };
    hn_adapters_apply(options->adapters, &o);
    HN_TRY(hn_compiled_build(&s->c, s->heap, s->model, device, &o));
    HN_TRY(hn_compiled_plan(&s->c, 1, &s->c.result, NULL));
    HN_TRY(bind_inputs(s));
    return hn_compiled_finish(&s->c); /* the cache among what it makes */
}

static hn_status make(hn_session *s, hn_device *device, const hn_session_options *o)
{
    HN_REQUIRE(!hn_model_arch(s->model)->embeds_only, HN_ERR_UNSUPPORTED,
               "%s only embeds texts: there is nothing to generate from",
               hn_model_arch(s->model)->name);
    const int64_t most = hn_model_hparams(s->model)->n_ctx;
    s->n_ctx = o->n_ctx ? o->n_ctx : most > 0 && most < 4096 ? most : 4096;
    s->max_batch = o->max_batch ? o->max_batch : 512;
    if (s->max_batch > s->n_ctx)
        s->max_batch = s->n_ctx;
    HN_REQUIRE(s->n_ctx > 0 && s->n_ctx <= INT32_MAX && (most <= 0 || s->n_ctx <= most),
               HN_ERR_ARGUMENT, "a context of %lld tokens: the model was made for %lld",
               (long long)s->n_ctx, (long long)most);
    const size_t n = (size_t)s->max_batch;
    s->held = hn_alloc_array(s->heap, HN_TAG_STATE, (size_t)s->n_ctx, sizeof *s->held);
    s->tokens = hn_alloc_array(s->heap, HN_TAG_STATE, n, sizeof *s->tokens);
    s->positions = hn_alloc_array(s->heap, HN_TAG_STATE, n, sizeof *s->positions);
    s->spans = hn_alloc_array(s->heap, HN_TAG_STATE, 3 * n, sizeof *s->spans);
    if (!s->held || !s->tokens || !s->positions || !s->spans)
        return HN_ERR_MEMORY;
    return compile(s, device, o);
}

hn_status hn_session_new(hn_session **out, hn_heap *heap, const hn_model *model,
                         hn_device *device, const hn_session_options *options)
{
    *out = NULL;
    hn_session *s = hn_alloc(heap, HN_TAG_STATE, sizeof *s);
    if (!s)
        return HN_ERR_MEMORY;
    s->heap = heap;
    s->model = model;
    const hn_status status = make(s, device, options);
    if (status != HN_OK) {
        hn_session_free(s);
        return hn_fail_within(status, "%s: ", hn_model_path(model));
    }
    *out = s;
    return HN_OK;
}

void hn_session_free(hn_session *s)
{
    if (!s)
        return;
    hn_compiled_free(&s->c);
    hn_free(s->heap, s->held);
    hn_free(s->heap, s->tokens);
    hn_free(s->heap, s->positions);
    hn_free(s->heap, s->spans);
    hn_free(s->heap, s);
}

/* Tokens [s->length, s->length + n) of the sequence. */
static hn_status run_batch(hn_session *s, const int32_t *tokens, int64_t n,
                           const hn_run_options *options)
{
    for (int64_t i = 0; i < n; i++) {
        const int32_t at = (int32_t)(s->length + i);
        s->tokens[i] = tokens[at];
        s->positions[i] = at;
        s->spans[3 * i] = 0;
        s->spans[3 * i + 1] = at;
        s->spans[3 * i + 2] = at + 1;
    }
    s->row = (int32_t)n - 1;
    HN_TRY(hn_program_set_extent(s->c.program, s->c.build.tokens_extent, n));
    HN_TRY(hn_program_set_extent(s->c.program, s->c.build.rows_extent, 1));
    HN_TRY(hn_program_run(s->c.program, options));
    memcpy(s->held + s->length, tokens + s->length, (size_t)n * sizeof *tokens);
    s->length += n;
    return HN_OK;
}

hn_status hn_session_sync(hn_session *s, const int32_t *tokens, int64_t n,
                          const hn_run_options *options)
{
    const int64_t vocab = hn_model_hparams(s->model)->n_vocab;
    HN_REQUIRE(n >= 1 && n <= s->n_ctx, HN_ERR_ARGUMENT,
               "a sequence of %lld tokens: the session takes 1 to %lld", (long long)n,
               (long long)s->n_ctx);
    for (int64_t i = 0; i < n; i++)
        HN_REQUIRE(tokens[i] >= 0 && tokens[i] < vocab, HN_ERR_ARGUMENT,
                   "token %lld is %d: the vocabulary has %lld", (long long)i, tokens[i],
                   (long long)vocab);
    int64_t common = 0;
    while (common < s->length && common < n && s->held[common] == tokens[common])
        common++;
    if (common == n) /* its last token's logits are wanted, so that one is run again */
        common = n - 1;
    s->length = common;
    s->logits = NULL;
    while (s->length < n) {
        const int64_t left = n - s->length;
        HN_TRY(run_batch(s, tokens, left < s->max_batch ? left : s->max_batch, options));
    }
    hn_tensor logits;
    HN_TRY(hn_program_result(s->c.program, 0, &logits));
    s->logits = logits.data;
    return HN_OK;
}

const float *hn_session_logits(const hn_session *s)
{
    return s->logits;
}

int64_t hn_session_length(const hn_session *s)
{
    return s->length;
}

int64_t hn_session_context(const hn_session *s)
{
    return s->n_ctx;
}

size_t hn_session_cache_bytes(const hn_session *s)
{
    size_t bytes = 0;
    for (int i = 0; i < s->c.g->n_leaves; i++)
        if (s->c.g->leaves[i]->kind == HN_LEAF_STATE)
            bytes += hn_type_bytes(&s->c.g->leaves[i]->type);
    return bytes;
}

size_t hn_session_workspace(const hn_session *s)
{
    return s->c.plan->workspace[0];
}
