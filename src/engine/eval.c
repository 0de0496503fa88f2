/* Evaluations of a public model. */
#include "engine/files.h"
#include "hone/eval.h"
#include "infer/forward.h"
#include "infer/imatrix.h"
#include "infer/perplexity.h"

#include <string.h>

enum { DEFAULT_CHUNK = 512 };

static hn_status check_ids(const char *name, const hn_lm *lm, const int32_t *ids, size_t n)
{
    HN_REQUIRE(lm && (ids || !n), HN_ERR_ARGUMENT, "%s: expected a model and ids, found NULL", name);
    return hn_lm_want_model(lm);
}

/* A chunk longer than the model was made for would be judged, or weighed, by positions that it has never seen. */
static hn_status check_chunks(const char *name, const hn_lm *lm, int64_t *chunk, int64_t max_chunks, int64_t least)
{
    const int64_t longest = hn_hparams_longest(hn_model_hparams(lm->model));
    if (!*chunk)
        *chunk = longest > 0 && longest < DEFAULT_CHUNK ? longest : DEFAULT_CHUNK;
    HN_REQUIRE(*chunk >= least && *chunk <= 1048576 && max_chunks >= 0, HN_ERR_ARGUMENT,
               "%s: chunk %lld, max_chunks %lld: expected %lld to 1048576, and at least 0", name, (long long)*chunk,
               (long long)max_chunks, (long long)least);
    HN_REQUIRE(longest <= 0 || *chunk <= longest, HN_ERR_ARGUMENT,
               "%s: a chunk of %lld tokens: the model was made for %lld", lm->path, (long long)*chunk, (long long)longest);
    return HN_OK;
}

/* What begins a chunk in place of its first token; -1: nothing. */
static int32_t bos_of(const hn_lm *lm)
{
    return hn_tokenizer_adds_bos(lm->tok) ? hn_tokenizer_special(lm->tok, HN_SPECIAL_BOS) : -1;
}

/* ---- perplexity ---- */

static hn_lm_estimate outer(const hn_estimate *e)
{
    return (hn_lm_estimate){ e->n, e->mean, e->error };
}

hn_status hn_lm_perplexity_of(hn_lm *lm, const int32_t *ids, size_t n, const hn_lm_perplexity_options *options,
                              hn_lm_perplexity *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_perplexity, out, to, size);
    hn_lm_perplexity_options o;
    hn_sink save;
    hn_perplexity found;
    HN_REQUIRE(to, HN_ERR_ARGUMENT, "hn_lm_perplexity_of: out is NULL");
    HN_TRY(check_ids("hn_lm_perplexity_of", lm, ids, n));
    HN_TRY(hn_lm_want_words(lm));
    HN_TRY(hn_take_struct("hn_lm_perplexity_options", options, sizeof o, &o));
    HN_TRY(check_chunks("hn_lm_perplexity_options", lm, &o.chunk, o.max_chunks, 4));
    HN_TRY(hn_take_sink(o.save, o.overwrite, &save));
    hn_perplexity_options inner = { .chunk = o.chunk, .max_chunks = o.max_chunks, .bos = bos_of(lm),
                                    .save = save, .against = o.against,
                                    .adapters = &lm->adapters, .progress = hn_engine_tell,
                                    .progress_context = lm->engine };
    HN_TRY(hn_session_cache_parse(o.cache, &inner.cache));
    HN_TRY(hn_perplexity_run(&lm->engine->heap, lm->model, lm->run, ids, n, &inner, &found));
    *out = (hn_lm_perplexity){ outer(&found.loss), outer(&found.divergence), outer(&found.agreement) };
    return HN_OK;
}

/* ---- logits ---- */

hn_status hn_lm_logits_of(hn_lm *lm, const int32_t *ids, size_t n, const hn_lm_logits_options *options, float *logits,
                          size_t room)
{
    HN_ENTER();
    hn_lm_logits_options o;
    hn_forward *forward;
    hn_tensor found;
    HN_REQUIRE(logits || !room, HN_ERR_ARGUMENT, "hn_lm_logits_of: room for %zu numbers at NULL", room);
    HN_TRY(check_ids("hn_lm_logits_of", lm, ids, n));
    HN_TRY(hn_take_struct("hn_lm_logits_options", options, sizeof o, &o));
    HN_REQUIRE(n > 0, HN_ERR_ARGUMENT, "the sequence is empty");
    const int64_t longest = hn_hparams_longest(hn_model_hparams(lm->model));
    HN_REQUIRE(longest <= 0 || (int64_t)n <= longest, HN_ERR_ARGUMENT, "%s: a sequence of %zu tokens: the model was made for %lld",
               lm->path, n, (long long)longest);
    hn_forward_options inner = { .max_tokens = (int64_t)n, .plan = o.plan, .adapters = &lm->adapters };
    HN_TRY(hn_session_cache_parse(o.cache, &inner.cache));
    HN_REQUIRE(!hn_model_embeds_only(lm->model), HN_ERR_UNSUPPORTED,
               "%s only embeds texts: it has no logits; see hone embed", hn_model_arch(lm->model)->name);
    const size_t vocab = (size_t)hn_lm_vocabulary(lm);
    HN_REQUIRE(room / vocab >= n, HN_ERR_ARGUMENT, "hn_lm_logits_of: room for %zu numbers: expected %zu times %zu", room, n,
               vocab);
    HN_TELLS(lm->engine);
    HN_TRY(hn_work_tell(0, 1, "logits"));
    HN_TRY(hn_forward_new(&forward, &lm->engine->heap, lm->model, lm->run, &inner));
    const hn_run_options run = hn_engine_run_options(lm->engine);
    hn_status status = hn_forward_run(forward, ids, (int64_t)n, &run);
    if (status == HN_OK)
        status = hn_forward_logits(forward, &found);
    if (status == HN_OK)
        status = hn_engine_read_tensor(&found, logits, n * vocab * sizeof *logits);
    hn_forward_free(forward);
    return hn_work_done(status, "logits");
}

/* ---- what inputs weigh ---- */

hn_status hn_lm_write_imatrix(hn_lm *lm, const int32_t *ids, size_t n, const char *out,
                              const hn_lm_imatrix_options *options)
{
    HN_ENTER();
    hn_lm_imatrix_options o;
    hn_sink to;
    HN_REQUIRE(out, HN_ERR_ARGUMENT, "hn_lm_write_imatrix: out is NULL");
    HN_TRY(check_ids("hn_lm_write_imatrix", lm, ids, n));
    HN_TRY(hn_lm_want_words(lm));
    HN_TRY(hn_take_struct("hn_lm_imatrix_options", options, sizeof o, &o));
    HN_TRY(check_chunks("hn_lm_imatrix_options", lm, &o.chunk, o.max_chunks, 2));
    HN_REQUIRE(!lm->adapters.n, HN_ERR_UNSUPPORTED, "%s: activations with adapters: expected the model alone", lm->path);
    HN_TRY(hn_take_sink(out, o.overwrite, &to));
    const hn_imatrix_options inner = { .chunk = o.chunk, .max_chunks = o.max_chunks, .bos = bos_of(lm),
                                       .dataset = o.dataset ? o.dataset : "", .progress = hn_engine_tell,
                                       .progress_context = lm->engine };
    return hn_imatrix_write(&lm->engine->heap, lm->model, lm->run, ids, n, to, &inner);
}
