/* Public guessing: a drafter with its model, and what settles guesses in a batch. */
#include "engine/lm.h"

#include <string.h>

struct hn_lm_drafter {
    hn_lm *lm, *model; /* model: held; NULL: none */
    hn_session *session;
    hn_sampler *sampler;
    hn_logit_bias *bias;
    hn_drafter *inner;
    int64_t vocab, n_ctx;
    bool has_begun;  /* of a session: the token after `from` ids was drawn as number `number` */
    size_t from;
    uint64_t number;
};

enum { MOST = 8, NGRAM = 4, NGRAM_LEAST = 2, MOST_GUESSES = 1024 };

hn_status hn_lm_take_draft(const hn_lm_draft_options *given, hn_lm_draft_options *o)
{
    HN_TRY(hn_take_struct("hn_lm_draft_options", given, sizeof *o, o));
    HN_REQUIRE(o->most >= 0 && o->most <= MOST_GUESSES && o->ngram >= 0 && o->ngram_least >= 0, HN_ERR_ARGUMENT,
               "hn_lm_draft_options: expected most of 0 to %d, and ngram and ngram_least of at least 0, found %lld, %lld and %lld",
               MOST_GUESSES, (long long)o->most, (long long)o->ngram, (long long)o->ngram_least);
    HN_REQUIRE(o->model || !o->sampling, HN_ERR_ARGUMENT,
               "hn_lm_draft_options.sampling: expected a model, which draws by it, found NULL");
    o->most = o->most ? o->most : MOST;
    o->ngram = o->ngram || o->model ? o->ngram : NGRAM;
    const int64_t least = o->ngram < NGRAM_LEAST ? o->ngram : NGRAM_LEAST;
    o->ngram_least = o->ngram_least ? o->ngram_least : least;
    HN_REQUIRE(o->ngram_least <= o->ngram, HN_ERR_ARGUMENT,
               "hn_lm_draft_options.ngram_least: expected at most the ngram of %lld, found %lld", (long long)o->ngram,
               (long long)o->ngram_least);
    return HN_OK;
}

/* ---- the same tokens ---- */

static hn_status check_token(const hn_lm *lm, const hn_lm *draft, int32_t id)
{
    const hn_span a = hn_tokenizer_piece(lm->tok, id), b = hn_tokenizer_piece(draft->tok, id);
    const bool is_same = a.bytes == b.bytes && !memcmp(a.data, b.data, a.bytes);
    HN_REQUIRE(is_same, HN_ERR_ARGUMENT, "the draft model %s: token %d: expected '%.*s', that of %s, found '%.*s'",
               hn_model_path(draft->model), id, (int)(a.bytes < 40 ? a.bytes : 40), (const char *)a.data,
               hn_model_path(lm->model), (int)(b.bytes < 40 ? b.bytes : 40), (const char *)b.data);
    HN_REQUIRE(hn_tokenizer_token_kind(lm->tok, id) == hn_tokenizer_token_kind(draft->tok, id), HN_ERR_ARGUMENT,
               "the draft model %s: token %d, '%.*s': expected a token of the kind that it is in %s",
               hn_model_path(draft->model), id, (int)(a.bytes < 40 ? a.bytes : 40), (const char *)a.data,
               hn_model_path(lm->model));
    return HN_OK;
}

static hn_status check_tokens(const hn_lm *lm, const hn_lm *draft)
{
    HN_TRY(hn_lm_want_words(lm));
    HN_TRY(hn_lm_want_words(draft));
    const int64_t n = hn_tokenizer_size(lm->tok);
    HN_REQUIRE(hn_tokenizer_size(draft->tok) == n, HN_ERR_ARGUMENT,
               "the draft model %s: expected the %lld tokens of %s, found %lld", hn_model_path(draft->model),
               (long long)n, hn_model_path(lm->model), (long long)hn_tokenizer_size(draft->tok));
    for (int64_t i = 0; i < n; i++)
        HN_TRY(check_token(lm, draft, (int32_t)i));
    return HN_OK;
}

/* ---- making one ---- */

/* As the text is drawn; but a bias of an id that is padding of the larger vocabulary changes nothing of the smaller. */
static hn_status make_sampler(hn_lm_drafter *d, const hn_lm_sampling *sampling)
{
    const hn_lm_sampling likeliest = { .size = sizeof likeliest };
    hn_lm_sampling o;
    HN_TRY(hn_take_struct("hn_lm_sampling", sampling ? sampling : &likeliest, sizeof o, &o));
    hn_heap *heap = &d->lm->engine->heap;
    hn_lm_bias *known;
    HN_TRY(hn_lm_take_biases(heap, &o, &known));
    int32_t n = 0;
    for (int32_t i = 0; i < o.n_bias; i++)
        if (known[i].id < hn_lm_vocabulary(d->model) || known[i].id >= d->vocab)
            known[n++] = known[i];
    o.bias = known;
    o.n_bias = n;
    const hn_status status = hn_lm_inner_sampler(d->model, &o, &d->bias, &d->sampler);
    hn_free(heap, known);
    return status;
}

/* With the context of what it guesses for, or its own if that is less: it guesses nothing behind it. */
static hn_status make_model(hn_lm_drafter *d, const hn_lm_draft_options *o)
{
    HN_TRY(check_tokens(d->lm, d->model));
    const int64_t longest = hn_hparams_longest(hn_model_hparams(d->model->model));
    const hn_lm_session_options session = { .size = sizeof session, .mapped = o->mapped,
                                            .context = longest > 0 && longest < d->n_ctx ? longest : d->n_ctx };
    HN_TRY(make_sampler(d, o->sampling));
    return hn_lm_inner_session(d->model, &session, 0, &d->session);
}

static hn_status make(hn_lm_drafter *d, const hn_lm_draft_options *o)
{
    if (o->model) {
        HN_TRY(hn_lm_hold(o->model));
        d->model = o->model;
        const hn_status status = make_model(d, o);
        if (status != HN_OK)
            return status;
    }
    const hn_drafter_options inner = { .n_ctx = d->n_ctx, .most = o->most, .is_fixed = o->fixed != 0, .longest = o->ngram,
                                       .shortest = o->ngram_least, .vocab = d->vocab, .model = d->session,
                                       .sampler = d->sampler, .tok = d->lm->tok };
    return hn_drafter_new(&d->inner, &d->lm->engine->heap, &inner);
}

hn_status hn_lm_drafter_of(hn_lm_drafter **out, hn_lm *lm, const hn_lm_draft_options *o, int64_t context)
{
    *out = NULL;
    HN_TRY(hn_lm_hold(lm));
    hn_lm_drafter *d = hn_alloc(&lm->engine->heap, HN_TAG_STATE, sizeof *d);
    if (!d) {
        hn_lm_let_go(lm);
        return HN_ERR_MEMORY;
    }
    d->lm = lm;
    d->vocab = hn_lm_vocabulary(lm);
    d->n_ctx = context;
    const hn_status status = make(d, o);
    if (status != HN_OK) {
        hn_lm_drafter_free(d);
        return status;
    }
    *out = d;
    return HN_OK;
}

hn_status hn_lm_drafter_new(hn_lm_drafter **out, hn_lm *lm, const hn_lm_draft_options *draft, int64_t context)
{
    HN_ENTER();
    enum { CONTEXT = 4096 };
    hn_lm_draft_options o;
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_drafter_new: expected out and a model, found NULL");
    *out = NULL;
    HN_TRY(hn_lm_take_draft(draft, &o));
    HN_TRY(hn_lm_want_model(lm));
    const int64_t longest = hn_hparams_longest(hn_model_hparams(lm->model));
    HN_REQUIRE(context >= 0 && context <= INT32_MAX && (longest <= 0 || context <= longest), HN_ERR_ARGUMENT,
               "a context of %lld tokens: the model was made for %lld", (long long)context, (long long)longest);
    if (!context)
        context = longest > 0 && longest < CONTEXT ? longest : CONTEXT;
    HN_TELLS(lm->engine);
    return hn_work_done(hn_lm_drafter_of(out, lm, &o, context), "packing weights");
}

void hn_lm_drafter_free(hn_lm_drafter *d)
{
    HN_ENTER();
    if (!d)
        return;
    hn_lm *lm = d->lm, *model = d->model;
    hn_drafter_free(d->inner);
    hn_session_free(d->session);
    hn_sampler_free(d->sampler);
    if (model)
        hn_free(&model->engine->heap, d->bias);
    hn_free(&lm->engine->heap, d);
    hn_lm_let_go(model);
    hn_lm_let_go(lm);
}

/* ---- guessing ---- */

hn_drafter *hn_lm_drafter_inner(const hn_lm_drafter *d)
{
    return d ? d->inner : NULL;
}

void hn_lm_drafter_drawn(hn_lm_drafter *d, size_t n, uint64_t number)
{
    if (!d)
        return;
    d->has_begun = true;
    d->from = n;
    d->number = number;
}

uint64_t hn_lm_drafter_number(const hn_lm_drafter *d, size_t n)
{
    return d && d->has_begun && n >= d->from ? d->number + (n - d->from) : 0;
}

hn_status hn_lm_drafter_guess(hn_lm_drafter *d, const int32_t *ids, size_t n, uint64_t number, int32_t *to, size_t room,
                              size_t *guessed)
{
    HN_ENTER();
    const int32_t *guess;
    int64_t found;
    HN_REQUIRE(d && ids && n && (to || !room) && guessed, HN_ERR_ARGUMENT,
               "hn_lm_drafter_guess: expected a drafter, ids and room, found %s", d && ids && !n ? "no ids" : "NULL");
    *guessed = 0;
    HN_TRY(hn_engine_check(d->lm->engine));
    HN_REQUIRE(n <= (size_t)d->n_ctx, HN_ERR_ARGUMENT, "%zu ids: the drafter's context is %lld", n, (long long)d->n_ctx);
    for (size_t i = 0; i < n; i++)
        HN_REQUIRE(ids[i] >= 0 && ids[i] < d->vocab, HN_ERR_ARGUMENT, "id %zu is %d: the vocabulary has %lld", i, ids[i],
                   (long long)d->vocab);
    const int64_t left = d->n_ctx - (int64_t)n;
    const hn_run_options options = { .cancel = hn_engine_cancelled(d->lm->engine) };
    HN_TRY(hn_drafter_guess(d->inner, ids, (int64_t)n, number, room < (size_t)left ? (int64_t)room : left, &options, &guess,
                            &found));
    if (found)
        memcpy(to, guess, (size_t)found * sizeof *to);
    *guessed = (size_t)found;
    return HN_OK;
}

hn_status hn_lm_drafted(const hn_lm_drafter *d, int64_t *accepted, int64_t *rejected)
{
    *accepted = *rejected = 0;
    if (d)
        hn_drafter_counts(d->inner, accepted, rejected);
    return HN_OK;
}

hn_status hn_lm_drafter_counts(const hn_lm_drafter *d, int64_t *accepted, int64_t *rejected)
{
    HN_ENTER();
    HN_REQUIRE(d && accepted && rejected, HN_ERR_ARGUMENT, "hn_lm_drafter_counts: expected a drafter and room, found NULL");
    return hn_lm_drafted(d, accepted, rejected);
}

/* ---- settling ---- */

hn_status hn_lm_batch_settle(hn_lm_batch *b, int32_t sequence, hn_lm_sampler *sampler, size_t row, size_t rows,
                             int32_t *drawn, size_t *n)
{
    HN_ENTER();
    size_t length;
    HN_REQUIRE(b && sampler && drawn && n, HN_ERR_ARGUMENT,
               "hn_lm_batch_settle: expected a batch, a sampler and room, found NULL");
    *n = 0;
    const int32_t *ids = hn_lm_batch_ids(b, sequence, &length);
    HN_REQUIRE(ids, HN_ERR_ARGUMENT, "sequence %d is not open", sequence);
    HN_REQUIRE(rows >= 1 && rows <= length && hn_lm_batch_logits(b, row) && hn_lm_batch_logits(b, row + rows - 1),
               HN_ERR_ARGUMENT, "rows %zu to %zu of the last step, of a sequence of %zu: the step has not as many", row,
               row + rows - 1, length);
    const size_t before = length - rows + 1; /* ids that the first draw is after */
    for (size_t i = 0; i < rows; i++) {
        HN_TRY(hn_lm_sampler_next(sampler, hn_lm_batch_logits(b, row + i), ids, before + i, &drawn[i]));
        *n = i + 1;
        if (i + 1 < rows && drawn[i] != ids[before + i])
            break;
    }
    return hn_lm_batch_trim(b, sequence, before + *n - 1);
}
