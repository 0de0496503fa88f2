/* What a session on a public model would take. */
#include "engine/lm.h"
#include "hone/plan.h"

static uint64_t weight_bytes(const hn_model *model)
{
    hn_gguf *gguf = hn_model_gguf(model);
    const hn_weights *all = gguf ? hn_gguf_weights(gguf) : &hn_model_hf_dir(model)->weights;
    uint64_t bytes = 0;
    for (size_t i = 0; i < all->n; i++)
        bytes += all->entries[i].bytes;
    return bytes;
}

hn_status hn_lm_measure(hn_lm *lm, const hn_lm_session_options *options, hn_lm_sizes *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_sizes, out, to, size);
    hn_lm_session_options o;
    hn_session_sizes sizes;
    HN_REQUIRE(lm && to, HN_ERR_ARGUMENT, "hn_lm_measure: expected a model and out, found NULL");
    HN_TRY(hn_take_struct("hn_lm_session_options", options, sizeof o, &o));
    HN_TRY(hn_lm_want_model(lm));
    hn_session_options inner = { .n_ctx = o.context, .max_batch = o.batch, .keeps_all = o.keeps_all != 0, .keeps_state = o.keeps_state != 0,
                                 .adapters = &lm->adapters };
    HN_TRY(hn_session_cache_parse(o.cache, &inner.cache));
    hn_heap *heap = &lm->engine->heap;
    const uint64_t before = (uint64_t)atomic_load(&heap->live_bytes);
    HN_TRY(hn_session_measure(heap, lm->model, lm->run, &inner, &sizes));
    *out = (hn_lm_sizes){ .context = sizes.n_ctx, .weights = weight_bytes(lm->model), .cache = sizes.cache,
                          .workspace = sizes.workspace, .other = before + sizes.other };
    return HN_OK;
}

int32_t hn_lm_worth_copying(const hn_lm *lm, int64_t tokens)
{
    HN_ENTER();
    return lm && lm->model && hn_session_should_pack(lm->model, tokens);
}
