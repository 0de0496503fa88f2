/* A guess is closed when the text goes on: what was drawn is compared, token by token, with what was guessed, and
 * that decides how long the next is. The small model's session is brought to the text before it guesses, so its
 * own guesses never stay in it. */
#include "infer/drafter.h"

#include "infer/ngram.h"

#include <string.h>

struct hn_drafter {
    hn_heap *heap;
    hn_drafter_options o;
    int32_t *guess;         /* [most] the last one, */
    int64_t at, n, n_right; /* made after `at` tokens; of the n, so many were drawn so far */
    int64_t length;         /* of the next */
    int64_t n_wrong;        /* guesses in a row of which nothing was right */
    int64_t pause;          /* steps without a guess */
    int32_t *tokens;        /* [n_ctx] that the model has seen; NULL: no model */
    int64_t n_accepted, n_rejected;
};

hn_status hn_drafter_new(hn_drafter **out, hn_heap *heap, const hn_drafter_options *o)
{
    *out = NULL;
    hn_drafter *d = hn_alloc(heap, HN_TAG_STATE, sizeof *d);
    if (!d)
        return HN_ERR_MEMORY;
    *d = (hn_drafter){ .heap = heap, .o = *o, .length = o->most };
    d->guess = hn_alloc_array(heap, HN_TAG_STATE, (size_t)o->most, sizeof *d->guess);
    if (o->model)
        d->tokens = hn_alloc_array(heap, HN_TAG_STATE, (size_t)o->n_ctx, sizeof *d->tokens);
    if (!d->guess || (o->model && !d->tokens)) {
        hn_drafter_free(d);
        return HN_ERR_MEMORY;
    }
    *out = d;
    return HN_OK;
}

void hn_drafter_free(hn_drafter *d)
{
    if (!d)
        return;
    hn_free(d->heap, d->guess);
    hn_free(d->heap, d->tokens);
    hn_free(d->heap, d);
}

/* ---- judging ---- */

/* What came after the last guess was made, as far as it is known. */
static void judge(hn_drafter *d, const int32_t *tokens, int64_t n)
{
    while (d->n_right < d->n && d->at + d->n_right < n && tokens[d->at + d->n_right] == d->guess[d->n_right]) {
        d->n_right++;
        d->n_accepted++;
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void learn(hn_drafter *d)
{
    enum { FORGIVEN = 2, LONGEST_PAUSE = 16 };
    d->n_wrong = d->n_right ? 0 : d->n_wrong + 1;
    d->length = least(d->o.most, d->n_right == d->n ? 2 * d->length : d->n_right + 1);
    for (int64_t i = FORGIVEN; i < d->n_wrong && d->pause < LONGEST_PAUSE; i++)
        d->pause += d->pause + 1;
}

/* The last guess is over: what nobody drew of it is wrong. */
static void close_guess(hn_drafter *d)
{
    if (!d->n)
        return;
    d->n_rejected += d->n - d->n_right;
    learn(d);
    d->n = d->n_right = 0;
}

void hn_drafter_counts(const hn_drafter *d, int64_t *accepted, int64_t *rejected)
{
    *accepted = d->n_accepted;
    *rejected = d->n_rejected;
}

/* ---- guessing ---- */

/* Ids that the model has no row of are padding of the larger one: nothing is guessed after them. */
static bool can_read(const hn_drafter *d, const int32_t *tokens, int64_t n)
{
    const int64_t size = hn_tokenizer_size(d->o.tok);
    for (int64_t i = 0; i < n; i++)
        if (tokens[i] >= size)
            return false;
    return true;
}

/* What nothing can follow: the end of a text, and what is no token of both models. */
static bool ends(const hn_drafter *d, int32_t id)
{
    return id >= d->o.vocab || (d->o.tok && (id >= hn_tokenizer_size(d->o.tok) || hn_tokenizer_ends(d->o.tok, id)));
}

static int64_t guess_by_ngram(hn_drafter *d, const int32_t *tokens, int64_t n, int64_t most)
{
    const int64_t found = hn_ngram_guess(tokens, n, d->o.longest, d->o.shortest, most, d->guess);
    int64_t i = 0;
    while (i < found && !ends(d, d->guess[i]))
        i++;
    return i;
}

static hn_status draw(hn_drafter *d, int64_t n, uint64_t number, const hn_run_options *options, int32_t *id)
{
    const hn_run_options cancel = { .cancel = options ? options->cancel : NULL };
    HN_TRY(hn_session_sync(d->o.model, d->tokens, n, &cancel));
    return hn_sampler_next(d->o.sampler, number, hn_session_logits(d->o.model), d->tokens, n, id);
}

/* Token by token. */
static hn_status guess_by_model(hn_drafter *d, const int32_t *tokens, int64_t n, uint64_t number, int64_t most,
                                const hn_run_options *options)
{
    const int64_t longest = least(hn_session_context(d->o.model), d->o.n_ctx - 1);
    if (n > longest || !can_read(d, tokens, n))
        return HN_OK;
    memcpy(d->tokens, tokens, (size_t)n * sizeof *tokens);
    for (int64_t i = 0; i < most && n + i <= longest; i++) {
        int32_t id;
        const hn_status status = draw(d, n + i, number + (uint64_t)i, options, &id);
        if (status != HN_OK)
            return hn_fail_within(status, "the draft model: ");
        if (ends(d, id))
            break;
        d->tokens[n + i] = d->guess[i] = id;
        d->n++;
    }
    return HN_OK;
}

hn_status hn_drafter_guess(hn_drafter *d, const int32_t *tokens, int64_t n, uint64_t number, int64_t room,
                           const hn_run_options *options, const int32_t **guess, int64_t *n_guess)
{
    judge(d, tokens, n);
    close_guess(d);
    *guess = d->guess;
    *n_guess = 0;
    if (d->o.is_fixed)
        d->length = d->o.most, d->pause = 0;
    if (d->pause) {
        d->pause--;
        return HN_OK;
    }
    const int64_t most = least(room, d->length);
    d->at = n;
    if (d->o.longest && most > 0)
        d->n = guess_by_ngram(d, tokens, n, most);
    if (!d->n && d->o.model) {
        const hn_status status = guess_by_model(d, tokens, n, number, most, options);
        if (status != HN_OK) {
            d->n = 0;
            return status;
        }
    }
    *n_guess = d->n;
    return HN_OK;
}

hn_status hn_drafter_sync(hn_drafter *d, hn_session *s, const int32_t *tokens, int64_t n, uint64_t number,
                          const hn_run_options *options)
{
    const int32_t *guess = NULL;
    int64_t n_guess = 0;
    const int64_t room = d ? hn_session_room_ahead(s, tokens, n) : 0;
    if (d)
        judge(d, tokens, n);
    if (room > 0)
        HN_TRY(hn_drafter_guess(d, tokens, n, number, room, options, &guess, &n_guess));
    return hn_session_sync_ahead(s, tokens, n, guess, n_guess, options);
}
