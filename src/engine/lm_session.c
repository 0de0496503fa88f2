/* A public session: the sequence is its own, so that it can be fed, cut back and fed again. */
#include "engine/lm.h"
#include "engine/likeliest.h"
#include "infer/log_sum.h"

#include <math.h>
#include <string.h>

struct hn_lm_session {
    hn_lm *lm;
    hn_session *inner;
    int32_t *ids; /* [context] */
    int64_t n;
    bool has_logits;
    hn_lm_drafter *drafter; /* NULL: nothing is guessed ahead */
    int64_t batch, n_batches; /* of the feed that runs */
};

hn_status hn_lm_inner_session(hn_lm *lm, const hn_lm_session_options *options, int64_t max_ahead, hn_session **out)
{
    hn_lm_session_options o;
    HN_TRY(hn_take_struct("hn_lm_session_options", options, sizeof o, &o));
    HN_REQUIRE(o.context >= 0 && o.batch >= 0, HN_ERR_ARGUMENT,
               "hn_lm_session_options: expected context and batch of at least 0, found %lld and %lld",
               (long long)o.context, (long long)o.batch);
    hn_session_options inner = { .n_ctx = o.context, .max_batch = o.batch, .keeps_all = o.keeps_all != 0,
                                 .keeps_state = o.keeps_state != 0, .max_ahead = max_ahead,
                                 .adapters = &lm->adapters,
                                 .packs = !o.mapped && hn_session_should_pack(lm->model, INT64_MAX) };
    HN_TRY(hn_session_cache_parse(o.cache, &inner.cache));
    return hn_session_new(out, &lm->engine->heap, lm->model, lm->run, &inner);
}

/* `draft`: taken already; NULL: nothing is guessed. */
static hn_status make(hn_lm_session *s, const hn_lm_session_options *options, const hn_lm_draft_options *draft)
{
    HN_TRY(hn_lm_inner_session(s->lm, options, draft ? draft->most : 0, &s->inner));
    const int64_t n_ctx = hn_session_context(s->inner);
    s->ids = hn_alloc_array(&s->lm->engine->heap, HN_TAG_STATE, (size_t)n_ctx, sizeof *s->ids);
    if (!s->ids)
        return HN_ERR_MEMORY;
    return draft ? hn_lm_drafter_of(&s->drafter, s->lm, draft, n_ctx) : HN_OK;
}

static hn_status make_new(hn_lm_session **out, hn_lm *lm, const hn_lm_session_options *options,
                          const hn_lm_draft_options *draft)
{
    HN_TRY(hn_lm_hold(lm));
    hn_lm_session *s = hn_alloc(&lm->engine->heap, HN_TAG_STATE, sizeof *s);
    if (!s) {
        hn_lm_let_go(lm);
        return HN_ERR_MEMORY;
    }
    s->lm = lm;
    const hn_status status = make(s, options, draft);
    if (status != HN_OK) {
        hn_lm_session_free(s);
        return status;
    }
    *out = s;
    return hn_work_done(HN_OK, "packing weights");
}

hn_status hn_lm_session_new(hn_lm_session **out, hn_lm *lm, const hn_lm_session_options *options)
{
    HN_ENTER();
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_session_new: expected out and a model, found NULL");
    *out = NULL;
    HN_TELLS(lm->engine);
    return make_new(out, lm, options, NULL);
}

hn_status hn_lm_session_new_drafting(hn_lm_session **out, hn_lm *lm, const hn_lm_session_options *options,
                                     const hn_lm_draft_options *draft)
{
    HN_ENTER();
    hn_lm_draft_options o;
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_session_new_drafting: expected out and a model, found NULL");
    *out = NULL;
    HN_TRY(hn_lm_take_draft(draft, &o));
    HN_TELLS(lm->engine);
    return make_new(out, lm, options, &o);
}

void hn_lm_session_free(hn_lm_session *s)
{
    HN_ENTER();
    if (!s)
        return;
    hn_lm *lm = s->lm;
    hn_lm_drafter_free(s->drafter);
    hn_session_free(s->inner);
    hn_free(&lm->engine->heap, s->ids);
    hn_free(&lm->engine->heap, s);
    hn_lm_let_go(lm);
}

/* Each batch tells its own share: here of all of them. */
static void on_progress(void *context, double done)
{
    hn_lm_session *s = context;
    const hn_engine *e = s->lm->engine;
    const double share = ((double)s->batch + done) / (double)s->n_batches;
    if (done >= 1)
        s->batch++;
    HN_CALL_HOST();
    e->progress(e->progress_context, share < 1 ? share : 1);
}

static hn_status run(hn_lm_session *s, int64_t n, hn_lm_drafter *drafter)
{
    hn_engine *e = s->lm->engine;
    const int64_t per_batch = hn_session_batch(s->inner);
    const int64_t left = n - hn_session_known(s->inner, s->ids, n);
    const hn_run_options options = { .cancel = hn_engine_cancelled(e), .progress = e->progress ? on_progress : NULL,
                                     .progress_context = s };
    s->batch = 0;
    s->n_batches = (left + per_batch - 1) / per_batch;
    s->has_logits = false;
    HN_TRY(hn_drafter_sync(hn_lm_drafter_inner(drafter), s->inner, s->ids, n, hn_lm_drafter_number(drafter, (size_t)n),
                           &options));
    if (!left && options.progress) { /* it was guessed: nothing was left to tell of */
        HN_CALL_HOST();
        e->progress(e->progress_context, 1);
    }
    s->n = n;
    s->has_logits = true;
    return HN_OK;
}

static hn_status check_ids(const hn_lm_session *s, const int32_t *ids, size_t n)
{
    const int64_t room = hn_session_context(s->inner) - s->n, vocab = hn_lm_vocabulary(s->lm);
    HN_REQUIRE(ids || !n, HN_ERR_ARGUMENT, "%zu ids at NULL", n);
    HN_REQUIRE(n <= (size_t)room, HN_ERR_ARGUMENT,
               "%zu ids after %lld: the session's context of %lld takes %lld more", n, (long long)s->n,
               (long long)hn_session_context(s->inner), (long long)room);
    for (size_t i = 0; i < n; i++)
        HN_REQUIRE(ids[i] >= 0 && ids[i] < vocab, HN_ERR_ARGUMENT, "id %zu is %d: the vocabulary has %lld", i,
                   ids[i], (long long)vocab);
    return HN_OK;
}

hn_status hn_lm_session_feed(hn_lm_session *s, const int32_t *ids, size_t n)
{
    HN_ENTER();
    HN_REQUIRE(s, HN_ERR_ARGUMENT, "hn_lm_session_feed: expected a session, found NULL");
    HN_TRY(hn_engine_check(s->lm->engine));
    HN_TRY(check_ids(s, ids, n));
    HN_REQUIRE(s->n + (int64_t)n > 0, HN_ERR_ARGUMENT, "hn_lm_session_feed: expected ids, found an empty sequence");
    if (n)
        memcpy(s->ids + s->n, ids, n * sizeof *ids);
    return run(s, s->n + (int64_t)n, s->drafter);
}

const float *hn_lm_session_logits(const hn_lm_session *s)
{
    HN_ENTER();
    return s && s->has_logits ? hn_session_logits(s->inner) : NULL;
}

const float *hn_lm_session_state(const hn_lm_session *s)
{
    HN_ENTER();
    return s && s->has_logits ? hn_session_state(s->inner) : NULL;
}

const int32_t *hn_lm_session_ids(const hn_lm_session *s, size_t *n)
{
    HN_ENTER();
    if (n)
        *n = s ? (size_t)s->n : 0;
    return s ? s->ids : NULL;
}

int64_t hn_lm_session_length(const hn_lm_session *s)
{
    HN_ENTER();
    return s ? s->n : 0;
}

int64_t hn_lm_session_context(const hn_lm_session *s)
{
    HN_ENTER();
    return s ? hn_session_context(s->inner) : 0;
}

hn_status hn_lm_session_trim(hn_lm_session *s, size_t length)
{
    HN_ENTER();
    HN_REQUIRE(s, HN_ERR_ARGUMENT, "hn_lm_session_trim: expected a session, found NULL");
    HN_REQUIRE(length <= (size_t)s->n, HN_ERR_ARGUMENT, "trim to %zu ids: the sequence has %lld", length,
               (long long)s->n);
    s->n = (int64_t)length;
    s->has_logits = false;
    return HN_OK;
}

hn_status hn_lm_session_foretell(const hn_lm_session *s, int32_t id, double *out)
{
    HN_ENTER();
    int64_t best;
    HN_REQUIRE(s && out, HN_ERR_ARGUMENT, "hn_lm_session_foretell: expected a session and room, found NULL");
    HN_TRY(hn_engine_check(s->lm->engine));
    const int64_t vocab = hn_lm_vocabulary(s->lm);
    HN_REQUIRE(s->has_logits, HN_ERR_ARGUMENT, "hn_lm_session_foretell: there are no logits: the session was not fed last");
    HN_REQUIRE(id >= 0 && id < vocab, HN_ERR_ARGUMENT, "id %d: the vocabulary has %lld", id, (long long)vocab);
    const float *logits = hn_session_logits(s->inner);
    *out = (double)logits[id] - hn_log_sum(logits, vocab, &best);
    return HN_OK;
}

hn_status hn_lm_session_likeliest(const hn_lm_session *s, hn_lm_likely *likeliest, int32_t *n)
{
    HN_ENTER();
    int64_t best;
    HN_REQUIRE(s && n && (likeliest || *n <= 0), HN_ERR_ARGUMENT, "hn_lm_session_likeliest: expected a session and room, found NULL");
    HN_REQUIRE(*n >= 0, HN_ERR_ARGUMENT, "hn_lm_session_likeliest: %d of them: expected 0 or more", *n);
    HN_TRY(hn_engine_check(s->lm->engine));
    HN_REQUIRE(s->has_logits, HN_ERR_ARGUMENT, "hn_lm_session_likeliest: there are no logits: the session was not fed last");
    const int64_t vocab = hn_lm_vocabulary(s->lm);
    const float *logits = hn_session_logits(s->inner);
    *n = hn_likeliest(logits, vocab, hn_log_sum(logits, vocab, &best), *n, likeliest);
    return HN_OK;
}

hn_status hn_lm_session_score(hn_lm_session *s, const int32_t *ids, size_t n, double *out)
{
    HN_ENTER();
    HN_REQUIRE(s && (out || !n), HN_ERR_ARGUMENT, "hn_lm_session_score: expected a session and room, found NULL");
    HN_TRY(hn_engine_check(s->lm->engine));
    HN_TRY(check_ids(s, ids, n));
    HN_REQUIRE(s->n > 0, HN_ERR_ARGUMENT, "hn_lm_session_score: expected a sequence that the ids follow, found none");
    const int64_t before = s->n, vocab = hn_lm_vocabulary(s->lm);
    hn_status status = s->has_logits ? HN_OK : run(s, s->n, NULL);
    for (size_t i = 0; i < n && status == HN_OK; i++) {
        int64_t best;
        const float *logits = hn_session_logits(s->inner);
        out[i] = (double)logits[ids[i]] - hn_log_sum(logits, vocab, &best);
        s->ids[s->n] = ids[i];
        status = run(s, s->n + 1, NULL);
    }
    if (status != HN_OK) { /* as it was; what was computed is still known */
        s->n = before;
        s->has_logits = false;
    }
    return status;
}

hn_status hn_lm_session_save(const hn_lm_session *s, const char *path)
{
    HN_ENTER();
    HN_REQUIRE(s && path, HN_ERR_ARGUMENT, "hn_lm_session_save: expected a session and a path, found NULL");
    HN_TRY(hn_engine_check(s->lm->engine));
    HN_REQUIRE(s->has_logits, HN_ERR_ARGUMENT,
               "%s: expected a session whose sequence is computed: feed it first", path);
    HN_TELLS(s->lm->engine);
    return hn_work_done(hn_session_save(s->inner, path), path);
}

hn_status hn_lm_session_load(hn_lm_session *s, const char *path)
{
    HN_ENTER();
    HN_REQUIRE(s && path, HN_ERR_ARGUMENT, "hn_lm_session_load: expected a session and a path, found NULL");
    HN_TRY(hn_engine_check(s->lm->engine));
    HN_TELLS(s->lm->engine);
    HN_TRY(hn_session_restore(s->inner, path));
    s->n = hn_session_length(s->inner);
    s->has_logits = false;
    memcpy(s->ids, hn_session_tokens(s->inner), (size_t)s->n * sizeof *s->ids);
    return hn_work_done(HN_OK, path);
}

hn_status hn_lm_session_save_known(const hn_lm_session *s, const char *path, size_t *n)
{
    HN_ENTER();
    HN_REQUIRE(s && path, HN_ERR_ARGUMENT, "hn_lm_session_save_known: expected a session and a path, found NULL");
    HN_TRY(hn_engine_check(s->lm->engine));
    const int64_t known = hn_session_length(s->inner);
    if (n)
        *n = (size_t)known;
    HN_TELLS(s->lm->engine);
    return known ? hn_work_done(hn_session_save(s->inner, path), path) : HN_OK;
}

hn_status hn_lm_session_drafted(const hn_lm_session *s, int64_t *accepted, int64_t *rejected)
{
    HN_ENTER();
    HN_REQUIRE(s && accepted && rejected, HN_ERR_ARGUMENT, "hn_lm_session_drafted: expected a session and room, found NULL");
    return hn_lm_drafted(s->drafter, accepted, rejected);
}

void hn_lm_session_drawn(const hn_lm_session *s, size_t n, uint64_t number)
{
    hn_lm_drafter_drawn(s->drafter, n, number);
}
