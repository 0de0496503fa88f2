/* Tokens, positions and segments are this object's own memory, bound once: a run fills them and sets the extent.
 * Positions count up, for a sequence is always whole. What is wanted beside the logits is each product's input,
 * once, however many products read it. */
#include "infer/forward.h"

#include "infer/compiled.h"

#include <string.h>

struct hn_forward {
    hn_heap *heap;
    const hn_model *model;
    hn_compiled c;
    int32_t *tokens, *positions, *segments; /* segments: with a cache, spans */
    int64_t max_tokens;
    hn_node **wanted; /* logits, then x and ids of each use, once each */
    int n_wanted;
    bool wants_uses;
};

static int want(hn_forward *f, hn_node *node)
{
    for (int i = 0; i < f->n_wanted; i++)
        if (f->wanted[i] == node)
            return i;
    f->wanted[f->n_wanted] = node;
    return f->n_wanted++;
}

static hn_status list_wanted(hn_forward *f, hn_node *logits)
{
    const size_t room = 1 + 2 * (size_t)f->c.build.n_uses;
    f->wanted = hn_alloc_array(f->heap, HN_TAG_GRAPH, room, sizeof *f->wanted);
    if (!f->wanted)
        return HN_ERR_MEMORY;
    want(f, logits);
    for (int i = 0; f->wants_uses && i < f->c.build.n_uses; i++) {
        want(f, f->c.build.uses[i].x);
        if (f->c.build.uses[i].ids)
            want(f, f->c.build.uses[i].ids);
    }
    return HN_OK;
}

static hn_status bind(const hn_forward *f, const hn_node *node, const int32_t *data, int64_t n)
{
    return node ? hn_storage_bind(f->c.storage, node->leaf, data, (size_t)n * sizeof *data) : HN_OK;
}

static hn_status bind_inputs(const hn_forward *f)
{
    const nn_build *b = &f->c.build;
    HN_TRY(bind(f, b->tokens, f->tokens, f->max_tokens));
    HN_TRY(bind(f, b->positions, f->positions, f->max_tokens));
    HN_TRY(bind(f, b->slots, f->positions, f->max_tokens));
    return bind(f, b->segments, f->segments, 3 * f->max_tokens);
}

static hn_status make(hn_forward *f, hn_run_spec run, const hn_forward_options *o)
{
    HN_REQUIRE(o->max_tokens > 0 && o->max_tokens <= INT32_MAX, HN_ERR_ARGUMENT,
               "%lld tokens at a time", (long long)o->max_tokens);
    f->tokens = hn_alloc_array(f->heap, HN_TAG_STATE, (size_t)o->max_tokens, sizeof(int32_t));
    f->positions = hn_alloc_array(f->heap, HN_TAG_STATE, (size_t)o->max_tokens, sizeof(int32_t));
    f->segments = hn_alloc_array(f->heap, HN_TAG_STATE, 3 * (size_t)o->max_tokens, sizeof(int32_t));
    if (!f->tokens || !f->positions || !f->segments)
        return HN_ERR_MEMORY;
    for (int64_t i = 0; i < o->max_tokens; i++)
        f->positions[i] = (int32_t)i;
    const bool is_bf16 = run.numerics == HN_NUMERICS_BF16; /* keys and values are bf16 as it is */
    nn_build_options built = { .max_tokens = o->max_tokens, .numerics = run.numerics, .gives_states = o->gives_states };
    if (o->cache != HN_F32 && !(is_bf16 && o->cache == HN_BF16)) {
        built.capacity = o->max_tokens;
        built.cache = o->cache;
        for (int64_t i = 0; i < o->max_tokens; i++)
            f->segments[3 * i + 1] = (int32_t)i, f->segments[3 * i + 2] = (int32_t)i + 1;
    }
    hn_adapters_apply(o->adapters, &built);
    HN_TRY(hn_compiled_build(&f->c, f->heap, f->model, run, &built));
    HN_TRY(list_wanted(f, f->c.result));
    HN_TRY(hn_compiled_plan(&f->c, f->n_wanted, f->wanted, o->plan));
    HN_TRY(bind_inputs(f));
    return hn_compiled_finish(&f->c);
}

hn_status hn_forward_new(hn_forward **out, hn_heap *heap, const hn_model *model,
                         hn_run_spec run, const hn_forward_options *options)
{
    *out = NULL;
    hn_forward *f = hn_alloc(heap, HN_TAG_PLAN, sizeof *f);
    if (!f)
        return HN_ERR_MEMORY;
    f->heap = heap;
    f->model = model;
    f->max_tokens = options->max_tokens;
    f->wants_uses = options->wants_uses;
    const hn_status status = make(f, run, options);
    if (status != HN_OK) {
        hn_forward_free(f);
        return hn_fail_within(status, "%s: ", hn_model_path(model));
    }
    *out = f;
    return HN_OK;
}

void hn_forward_free(hn_forward *f)
{
    if (!f)
        return;
    hn_compiled_free(&f->c);
    hn_free(f->heap, f->wanted);
    hn_free(f->heap, f->tokens);
    hn_free(f->heap, f->positions);
    hn_free(f->heap, f->segments);
    hn_free(f->heap, f);
}

hn_status hn_forward_run(hn_forward *f, const int32_t *tokens, int64_t n,
                         const hn_run_options *options)
{
    const int64_t vocab = hn_model_hparams(f->model)->n_vocab;
    HN_REQUIRE(n >= 1 && n <= f->max_tokens, HN_ERR_ARGUMENT, "%lld tokens: expected 1 to %lld",
               (long long)n, (long long)f->max_tokens);
    HN_TRY(hn_hparams_check_length(hn_model_hparams(f->model), n));
    for (int64_t i = 0; i < n; i++)
        HN_REQUIRE(tokens[i] >= 0 && tokens[i] < vocab, HN_ERR_ARGUMENT,
                   "token %lld is %d: the vocabulary has %lld", (long long)i, tokens[i],
                   (long long)vocab);
    memcpy(f->tokens, tokens, (size_t)n * sizeof *tokens);
    HN_TRY(hn_program_set_extent(f->c.program, f->c.build.tokens_extent, n));
    return hn_program_run(f->c.program, options);
}

hn_status hn_forward_logits(const hn_forward *f, hn_tensor *out)
{
    return hn_program_result(f->c.program, 0, out);
}

int hn_forward_uses(const hn_forward *f)
{
    return f->wants_uses ? f->c.build.n_uses : 0;
}

static hn_status result_of(const hn_forward *f, const hn_node *node, hn_tensor *out)
{
    for (int i = 0; i < f->n_wanted; i++)
        if (f->wanted[i] == node)
            return hn_program_result(f->c.program, i, out);
    return hn_fail(HN_ERR_ARGUMENT, "a value that was not asked for");
}

hn_status hn_forward_use(const hn_forward *f, int i, const nn_weight **weight, hn_tensor *x,
                         hn_tensor *ids)
{
    const nn_use *use = &f->c.build.uses[i];
    *weight = use->weight;
    *ids = (hn_tensor){ 0 };
    HN_TRY(result_of(f, use->x, x));
    return use->ids ? result_of(f, use->ids, ids) : HN_OK;
}

size_t hn_forward_workspace(const hn_forward *f)
{
    return hn_executable_measure(f->c.x).workspace;
}
