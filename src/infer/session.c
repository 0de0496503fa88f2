#include "infer/session_state.h"

#include "base/os/memory.h"

#include <string.h>

enum { TILE = 64 }; /* keys that attention takes together: they must not wrap around */

static hn_status bind(const hn_session *s, const hn_node *node, const int32_t *data, int64_t n)
{
    return node ? hn_storage_bind(s->c.storage, node->leaf, data, (size_t)n * sizeof *data) : HN_OK;
}

static hn_status bind_inputs(const hn_session *s)
{
    const nn_build *b = &s->c.build;
    const int64_t n = s->max_batch;
    HN_TRY(bind(s, b->tokens, s->tokens, n));
    HN_TRY(bind(s, b->positions, s->positions, n));
    HN_TRY(bind(s, b->slots, s->positions, n));
    HN_TRY(bind(s, b->ring_slots, s->ring_slots, n));
    HN_TRY(bind(s, b->segments, s->spans, 3 * n));
    return bind(s, b->rows, &s->row, 1);
}

/* Rows that hold a window and a batch: what a batch writes is read by its own first token too. */
static int64_t ring_rows(const hn_session *s, const hn_session_options *o)
{
    const int64_t window = hn_model_hparams(s->model)->window;
    if (window <= 0 || o->keeps_all)
        return 0;
    const int64_t rows = (window + s->max_batch + TILE - 1) / TILE * TILE;
    return rows < s->n_ctx ? rows : 0;
}

static hn_status plan(hn_session *s)
{
    nn_build_options o = { .max_tokens = s->max_batch, .max_rows = 1, .capacity = s->n_ctx,
                           .cache = s->cache, .ring = s->ring, .numerics = s->run.numerics,
                           .packs = s->packs };
    hn_adapters_apply(s->adapters, &o);
    HN_TRY(hn_compiled_build(&s->c, s->heap, s->model, s->run, &o));
    if (!s->c.build.has_ring)
        s->ring = 0;
    HN_TRY(hn_compiled_plan(&s->c, 1, &s->c.result, NULL));
    return bind_inputs(s);
}

static const hn_dtype fit[] = { HN_F32, HN_F16, HN_BF16, HN_TYPE_q8_0, HN_TYPE_q4_0 };

static hn_status check_cache(hn_dtype dtype)
{
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++)
        if (dtype == fit[i])
            return HN_OK;
    return hn_fail(HN_ERR_UNSUPPORTED, "a cache of %s: expected f32, f16, bf16, q8_0 or q4_0",
                   hn_dtype_name(dtype));
}

hn_status hn_session_cache_parse(const char *word, hn_dtype *out)
{
    *out = HN_F32;
    for (size_t i = 0; word && i < sizeof fit / sizeof *fit; i++)
        if (!strcmp(word, hn_dtype_name(fit[i]))) {
            *out = fit[i];
            return HN_OK;
        }
    HN_REQUIRE(!word, HN_ERR_ARGUMENT, "a cache of %.40s: expected f32, f16, bf16, q8_0 or q4_0", word);
    return HN_OK;
}

bool hn_session_should_pack(const hn_model *model, int64_t tokens)
{
    enum { WORTH_IT = 32 };
    size_t bytes = 0, n;
    const hn_arch_tensor *all = hn_model_tensors(model, &n);
    for (size_t i = 0; i < n; i++) {
        const nn_weight *w = hn_model_find(model, all[i].gguf);
        bytes += w ? hn_type_bytes(&w->type) : 0;
    }
    const hn_free_memory left = hn_memory_free();
    return tokens >= WORTH_IT && bytes < left.physical / 2 && bytes < left.address / 2;
}

static hn_status take_options(hn_session *s, const hn_session_options *o)
{
    const bool is_bf16 = s->run.numerics == HN_NUMERICS_BF16;
    HN_REQUIRE(!hn_model_arch(s->model)->embeds_only, HN_ERR_UNSUPPORTED,
               "%s only embeds texts: there is nothing to generate from",
               hn_model_arch(s->model)->name);
    HN_TRY(check_cache(o->cache));
    const int64_t most = hn_hparams_longest(hn_model_hparams(s->model));
    s->n_ctx = o->n_ctx ? o->n_ctx : most > 0 && most < 4096 ? most : 4096;
    s->max_batch = o->max_batch ? o->max_batch : 512;
    if (s->max_batch > s->n_ctx)
        s->max_batch = s->n_ctx;
    HN_REQUIRE(s->n_ctx > 0 && s->n_ctx <= INT32_MAX && (most <= 0 || s->n_ctx <= most),
               HN_ERR_ARGUMENT, "a context of %lld tokens: the model was made for %lld",
               (long long)s->n_ctx, (long long)most);
    s->cache = is_bf16 && o->cache == HN_F32 ? HN_BF16 : o->cache;
    s->adapters = o->adapters;
    s->packs = o->packs;
    s->ring = ring_rows(s, o);
    return HN_OK;
}

/* Everything but the memory of cache and workspace. */
static hn_status prepare(hn_session *s, const hn_session_options *o)
{
    HN_TRY(take_options(s, o));
    const size_t n = (size_t)s->max_batch;
    s->held = hn_alloc_array(s->heap, HN_TAG_STATE, (size_t)s->n_ctx, sizeof *s->held);
    s->tokens = hn_alloc_array(s->heap, HN_TAG_STATE, n, sizeof *s->tokens);
    s->positions = hn_alloc_array(s->heap, HN_TAG_STATE, n, sizeof *s->positions);
    s->ring_slots = hn_alloc_array(s->heap, HN_TAG_STATE, n, sizeof *s->ring_slots);
    s->spans = hn_alloc_array(s->heap, HN_TAG_STATE, 3 * n, sizeof *s->spans);
    if (!s->held || !s->tokens || !s->positions || !s->ring_slots || !s->spans)
        return HN_ERR_MEMORY;
    return plan(s);
}

static hn_status start(hn_session **out, hn_heap *heap, const hn_model *model, hn_run_spec run,
                       const hn_session_options *options)
{
    *out = hn_alloc(heap, HN_TAG_STATE, sizeof **out);
    if (!*out)
        return HN_ERR_MEMORY;
    (*out)->heap = heap;
    (*out)->model = model;
    (*out)->run = run;
    return prepare(*out, options);
}

hn_status hn_session_plan(hn_session **out, hn_heap *heap, const hn_model *model,
                          hn_run_spec run, const hn_session_options *options)
{
    hn_session *s;
    *out = NULL;
    const hn_status status = start(&s, heap, model, run, options);
    if (status != HN_OK) {
        hn_session_free(s);
        return hn_fail_within(status, "%s: ", hn_model_path(model));
    }
    *out = s;
    return HN_OK;
}

hn_status hn_session_new(hn_session **out, hn_heap *heap, const hn_model *model,
                         hn_run_spec run, const hn_session_options *options)
{
    HN_TRY(hn_session_plan(out, heap, model, run, options));
    const hn_status status = hn_compiled_finish(&(*out)->c); /* the cache among what it makes */
    if (status == HN_OK)
        return HN_OK;
    hn_session_free(*out);
    *out = NULL;
    return hn_fail_within(status, "%s: ", hn_model_path(model));
}

hn_status hn_session_measure(hn_heap *heap, const hn_model *model, hn_run_spec run,
                             const hn_session_options *options, hn_session_sizes *out)
{
    hn_session *s;
    const int64_t before = heap->live_bytes;
    *out = (hn_session_sizes){ 0 };
    HN_TRY(hn_session_plan(&s, heap, model, run, options));
    *out = (hn_session_sizes){ .n_ctx = s->n_ctx, .cache = hn_session_cache_bytes(s),
                               .workspace = hn_session_workspace(s),
                               .other = (size_t)(heap->live_bytes - before) +
                                        hn_executable_measure(s->c.x).programs };
    hn_session_free(s);
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
    hn_free(s->heap, s->ring_slots);
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
        s->ring_slots[i] = s->ring ? (int32_t)(at % s->ring) : at;
        s->spans[3 * i] = 0;
        s->spans[3 * i + 1] = at;
        s->spans[3 * i + 2] = at + 1;
    }
    s->row = (int32_t)n - 1;
    if (s->ring && s->length + n - s->ring > s->first) /* gone, even if this is cancelled */
        s->first = s->length + n - s->ring;
    HN_TRY(hn_program_set_extent(s->c.program, s->c.build.tokens_extent, n));
    HN_TRY(hn_program_set_extent(s->c.program, s->c.build.rows_extent, 1));
    HN_TRY(hn_program_run(s->c.program, options));
    memcpy(s->held + s->length, tokens + s->length, (size_t)n * sizeof *tokens);
    s->length += n;
    return HN_OK;
}

/* How much of a common beginning serves: all of it, or nothing where the window before what
 * follows was overwritten: it cannot be had without what came before it. */
static int64_t usable(const hn_session *s, int64_t common)
{
    const int64_t window = hn_model_hparams(s->model)->window;
    const int64_t from = common - window + 1 > 0 ? common - window + 1 : 0;
    return s->first <= from ? common : 0;
}

int64_t hn_session_known(const hn_session *s, const int32_t *tokens, int64_t n)
{
    int64_t common = 0;
    while (common < s->length && common < n && s->held[common] == tokens[common])
        common++;
    if (common == n && n) /* its last token's logits are wanted, so that one is run again */
        common = n - 1;
    return usable(s, common);
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
    s->length = hn_session_known(s, tokens, n);
    if (!s->length)
        s->first = 0;
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

const int32_t *hn_session_tokens(const hn_session *s)
{
    return s->held;
}

int64_t hn_session_context(const hn_session *s)
{
    return s->n_ctx;
}

int64_t hn_session_batch(const hn_session *s)
{
    return s->max_batch;
}

size_t hn_session_cache_bytes(const hn_session *s)
{
    size_t bytes = 0;
    for (int i = 0; i < s->c.g->n_leaves; i++)
        if (hn_session_caches(s->c.g->leaves[i]))
            bytes += hn_type_bytes(&s->c.g->leaves[i]->type);
    return bytes;
}

size_t hn_session_workspace(const hn_session *s)
{
    return hn_executable_measure(s->c.x).workspace;
}

size_t hn_session_packed_bytes(const hn_session *s)
{
    return hn_executable_measure(s->c.x).weights;
}

const hn_plan *hn_session_look(const hn_session *s)
{
    return hn_executable_look(s->c.x, 0);
}
