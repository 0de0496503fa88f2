/* Public embedding: the inner embedder, on a public model. */
#include "engine/lm.h"
#include "infer/embed.h"

struct hn_lm_embedder {
    hn_lm *lm;
    hn_embedder *inner;
};

hn_status hn_lm_embedder_new(hn_lm_embedder **out, hn_lm *lm, const hn_lm_embed_options *options)
{
    HN_ENTER();
    hn_lm_embed_options o;
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_embedder_new: expected out and a model, found NULL");
    *out = NULL;
    HN_TRY(hn_take_struct("hn_lm_embed_options", options, sizeof o, &o));
    HN_TRY(hn_lm_hold(lm));
    hn_lm_embedder *e = hn_alloc(&lm->engine->heap, HN_TAG_STATE, sizeof *e);
    if (!e) {
        hn_lm_let_go(lm);
        return HN_ERR_MEMORY;
    }
    e->lm = lm;
    HN_TELLS(lm->engine);
    const hn_embedder_options inner = { .pooling = o.pooling, .normalizes = o.normalize != 0,
                                        .refuses_long = o.refuses_long != 0, .context = o.context,
                                        .adapters = &lm->adapters };
    const hn_status status = hn_embedder_new(&e->inner, &lm->engine->heap, lm->model, lm->tok,
                                             lm->run, &inner);
    if (status != HN_OK) {
        hn_lm_embedder_free(e);
        return status;
    }
    *out = e;
    return hn_work_done(HN_OK, "packing weights");
}

void hn_lm_embedder_free(hn_lm_embedder *e)
{
    HN_ENTER();
    if (!e)
        return;
    hn_lm *lm = e->lm;
    hn_embedder_free(e->inner);
    hn_free(&lm->engine->heap, e);
    hn_lm_let_go(lm);
}

int64_t hn_lm_embedder_width(const hn_lm_embedder *e)
{
    HN_ENTER();
    return e ? hn_embedder_width(e->inner) : 0;
}

int64_t hn_lm_embedder_longest(const hn_lm_embedder *e)
{
    HN_ENTER();
    return e ? hn_embedder_longest(e->inner) : 0;
}

hn_status hn_lm_embedder_run(hn_lm_embedder *e, const char *text, size_t bytes, float *vector, int64_t *n_tokens)
{
    HN_ENTER();
    int64_t n = 0;
    HN_REQUIRE(e && (text || !bytes) && vector, HN_ERR_ARGUMENT,
               "hn_lm_embedder_run: expected an embedder, a text and room, found NULL");
    HN_TRY(hn_lm_want_words(e->lm));
    HN_TRY(hn_engine_check(e->lm->engine));
    const hn_run_options run = hn_engine_run_options(e->lm->engine);
    const hn_status status = hn_embedder_run(e->inner, text ? text : "", bytes, &run, vector, &n);
    if (n_tokens)
        *n_tokens = n;
    return status;
}

hn_status hn_lm_embedder_run_ids(hn_lm_embedder *e, const int32_t *ids, size_t n, float *vector)
{
    HN_ENTER();
    HN_REQUIRE(e && (ids || !n) && vector, HN_ERR_ARGUMENT,
               "hn_lm_embedder_run_ids: expected an embedder, ids and room, found NULL");
    HN_TRY(hn_engine_check(e->lm->engine));
    const hn_run_options run = hn_engine_run_options(e->lm->engine);
    return hn_embedder_run_ids(e->inner, ids, n, &run, vector);
}
