/* A step of a scheduler: pieces of prompts and tokens of all that run, what is drawn after them, and who is told.
 *
 *     turns   who has what in it: first a token of each that generates, then pieces of prompts, in the order in
 *             which they are due, then guesses, where rows and tokens are left
 *     room    blocks for all of it; if somebody gives way, turns are made anew
 *     run     one step of the batch. If it fails, each alone: what fails alone is at fault, and ends
 *     draw    of each whose last id was run; told at once, so that those who listen may cancel
 *
 * Of each that runs, ids [0, n_known) are in its sequence and the rest is to be run: one id, and it generates;
 * more, and it is a prompt, or came back after it gave way. A guess is no id before it was drawn: whatever comes
 * of it, the sequence is cut to what was.
 *
 * A request that ends is freed at its turn, which is not looked at afterwards; before turns are made or after all
 * of them; or while they are made, and then they are made anew. Who is told may ask and cancel, which only marks a
 * request, but not step. Who is served first moves on once a step, however often its turns were made. */
#include "base/os/clock.h"
#include "engine/scheduler.h"

/* ---- turns ---- */

static bool generates(const hn_request *r) { return r->n_ids - r->n_known == 1; }

typedef struct left {
    int64_t tokens, rows, n; /* of a step; n turns are made */
} left;

/* From s->from on, so that all come by turns where a step is too short for them. */
static void take_tokens(hn_lm_scheduler *s, left *l)
{
    int64_t served = 0;
    for (int64_t i = 0; i < s->n_running && l->tokens && l->rows; i++) {
        hn_request *r = s->running[(s->from + i) % s->n_running];
        if (!generates(r))
            continue;
        s->turns[l->n++] = (hn_turn){ .r = r, .n = 1 };
        l->tokens--;
        l->rows--;
        served = i + 1;
    }
    s->from = s->n_running ? (s->from + served) % s->n_running : 0;
}

/* Rows of logits for the scores that the first n ids of what is to be run give: those from here on. */
static int64_t rows_for_scores(const hn_request *r, int64_t n)
{
    const int64_t from = r->n_known > r->n_scored - 1 ? r->n_known : r->n_scored - 1, to = r->n_known + n;
    return r->n_scored < r->n_prompt && to > from ? to - from : 0;
}

/* How much of a prompt goes with so many tokens, and the rows that are left; *rows: that it takes. */
static int64_t piece_of(const hn_request *r, int64_t tokens, int64_t rows_left, int64_t *rows)
{
    const int64_t rest = r->n_ids - r->n_known;
    int64_t n = rest < tokens ? rest : tokens;
    const int64_t over = rows_for_scores(r, n) - rows_left;
    if (over > 0)
        n -= over;
    else if (n == rest && !rows_left)
        n--;
    *rows = rows_for_scores(r, n);
    if (n == rest && !*rows)
        *rows = 1;
    return n;
}

static bool is_due_before(const hn_request *a, const hn_request *b)
{
    return a->due < b->due || (a->due == b->due && a->admitted < b->admitted);
}

/* The prompt that is due next after that of `last`, or first, where that is NULL; NULL: there is none. */
static hn_request *next_prompt(const hn_lm_scheduler *s, const hn_request *last)
{
    hn_request *next = NULL;
    for (int64_t i = 0; i < s->n_running; i++) {
        hn_request *r = s->running[i];
        if (!generates(r) && (!last || is_due_before(last, r)) && (!next || is_due_before(r, next)))
            next = r;
    }
    return next;
}

static void take_prompts(hn_lm_scheduler *s, left *l)
{
    const int64_t piece = l->n ? hn_pace_piece(&s->pace, l->n) : l->tokens; /* nobody waits for its next token: all that there is room for */
    int64_t most = l->tokens < piece ? l->tokens : piece;
    for (hn_request *r = next_prompt(s, NULL); r && most; r = next_prompt(s, r)) {
        int64_t rows;
        const int64_t n = piece_of(r, most, l->rows, &rows);
        if (!n)
            continue;
        s->turns[l->n++] = (hn_turn){ .r = r, .n = n };
        l->rows -= rows;
        l->tokens -= n;
        most -= n;
    }
}

/* Whose drafter failed is in *at_fault. */
static hn_status take_guesses(hn_lm_scheduler *s, left *l, hn_request **at_fault)
{
    for (int64_t i = 0; i < l->n; i++) {
        hn_turn *t = &s->turns[i];
        hn_request *r = t->r;
        if (!generates(r) || r->r.draws_none)
            continue;
        int64_t most = r->most - r->n_ids - 1; /* the token after the last guess is one more */
        most = most < HN_MOST_GUESSES ? most : HN_MOST_GUESSES;
        most = most < l->rows ? most : l->rows;
        most = most < l->tokens ? most : l->tokens;
        if (most <= 0)
            continue;
        size_t n = 0;
        int32_t *to = s->guesses + i * (1 + HN_MOST_GUESSES);
        *at_fault = r;
        HN_TRY(hn_request_want_drafter(s, r));
        if (r->drafter)
            HN_TRY(hn_lm_drafter_guess(r->drafter, r->ids, (size_t)r->n_ids, (uint64_t)(r->n_ids - r->n_prompt), to + 1,
                                       (size_t)most, &n));
        HN_TRY(hn_lm_sampler_fit(r->sampler, r->ids, (size_t)r->n_ids, to + 1, (size_t)most, &n));
        to[0] = r->ids[r->n_ids - 1];
        t->n_guessed = (int64_t)n;
        l->rows -= (int64_t)n;
        l->tokens -= (int64_t)n;
    }
    return HN_OK;
}

/* n turns, of which the first n_tokens are of those who generate. */
static hn_status make_turns(hn_lm_scheduler *s, int64_t *n, int64_t *n_tokens)
{
    const int64_t from = s->from;
    for (;;) {
        left l = { s->n_tokens, s->n_rows, 0 };
        hn_request *at_fault = NULL;
        s->from = from;
        take_tokens(s, &l);
        *n_tokens = l.n;
        take_prompts(s, &l);
        *n = l.n;
        const hn_status status = take_guesses(s, &l, &at_fault);
        if (status == HN_ERR_CANCELLED)
            return status;
        if (status != HN_OK)
            hn_scheduler_end(s, at_fault, status, HN_LM_DONE);
        else if (hn_scheduler_makes_room(s, l.n))
            return HN_OK;
    }
}

/* ---- running ---- */

/* Turns from `from` on, n of them. */
static hn_status run_turns(hn_lm_scheduler *s, int64_t from, int64_t n)
{
    int64_t row = 0;
    for (int64_t i = from; i < from + n; i++) {
        hn_turn *t = &s->turns[i];
        const hn_request *r = t->r;
        const bool ends = r->n_known + t->n == r->n_ids;
        const int64_t scores = rows_for_scores(r, t->n); /* of a prompt's end one is more than there are ids to score */
        const int64_t wanted = scores ? scores : ends ? 1 + t->n_guessed : 0;
        t->n_scores = scores - (scores && ends);
        t->score_row = row;
        t->row = ends ? row + t->n_scores : -1;
        s->pieces[i] = (hn_lm_batch_piece){ sizeof *s->pieces, r->sequence, (int32_t)wanted,
                                            t->n_guessed ? s->guesses + i * (1 + HN_MOST_GUESSES) : r->ids + r->n_known,
                                            (size_t)(t->n + t->n_guessed) };
        row += wanted;
    }
    return hn_lm_batch_step(s->batch, s->pieces + from, (size_t)n);
}

/* ---- telling ---- */

void hn_scheduler_end(hn_lm_scheduler *s, hn_request *r, hn_status status, hn_lm_end end)
{
    int64_t accepted = 0, rejected = 0;
    r->has_ended = true;
    if (r->drafter)
        hn_lm_drafter_counts(r->drafter, &accepted, &rejected);
    s->counts.accepted += accepted;
    s->counts.rejected += rejected;
    if (r->sequence >= 0 && status == HN_OK)
        hn_scheduler_keep(s, r);
    if (r->sequence >= 0)
        hn_scheduler_leave(s, r);
    const hn_lm_ended ended = { r->number, status, end, r->n_prompt, r->n_reused, r->n_ids - r->n_prompt, r->n_returned };
    hn_scheduler_tell_end(r, &ended);
    hn_request_free(s, r);
}

/* ---- drawing ---- */

/* Takes one token that was drawn. True: the request has ended, as *end, or with *status. */
static bool take(hn_lm_scheduler *s, hn_request *r, int32_t id, int64_t row, hn_lm_end *end, hn_status *status)
{
    if (r->is_cancelled) {
        *end = HN_LM_CANCELLED;
        return true;
    }
    if (!r->r.goes_on && hn_lm_ends(s->lm, id)) {
        *end = HN_LM_DONE;
        return true;
    }
    r->ids[r->n_ids++] = id;
    s->counts.drawn++;
    *status = hn_scheduler_tell_token(s, r, id, row);
    *end = r->n_ids - r->n_prompt == r->r.most ? HN_LM_COUNTED : HN_LM_FULL;
    return r->n_ids == r->most || *status != HN_OK;
}

static void draw(hn_lm_scheduler *s, const hn_turn *t)
{
    hn_request *r = t->r;
    int32_t drawn[1 + HN_MOST_GUESSES];
    size_t n = 1;
    hn_lm_end end = HN_LM_DONE;
    s->counts.computed += t->n + t->n_guessed;
    r->n_known += t->n;
    hn_scheduler_keep(s, r);
    for (int64_t i = 0; i < t->n_scores && !r->is_cancelled; i++, r->n_scored++)
        hn_scheduler_tell_score(s, r, t->score_row + i);
    if (t->row < 0)
        return;
    if (r->r.draws_none || r->is_cancelled) {
        hn_scheduler_end(s, r, HN_OK, r->is_cancelled ? HN_LM_CANCELLED : HN_LM_COUNTED);
        return;
    }
    hn_status status =
        t->n_guessed
            ? hn_lm_batch_settle(s->batch, r->sequence, r->sampler, (size_t)t->row, (size_t)(1 + t->n_guessed), drawn, &n)
            : hn_lm_sampler_next(r->sampler, hn_lm_batch_logits(s->batch, (size_t)t->row), r->ids, (size_t)r->n_ids, drawn);
    if (status != HN_OK) {
        hn_scheduler_end(s, r, status, end);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (take(s, r, drawn[i], t->row + (int64_t)i, &end, &status)) {
            hn_scheduler_end(s, r, status, end);
            return;
        }
        r->n_known += i + 1 < n; /* a guess that was right has been run */
    }
}

static hn_status run(hn_lm_scheduler *s, int64_t n)
{
    hn_status status = run_turns(s, 0, n);
    if (status == HN_OK) {
        for (int64_t i = 0; i < n; i++)
            draw(s, &s->turns[i]);
        return HN_OK;
    }
    for (int64_t i = 0; i < n && status != HN_ERR_CANCELLED; i++) {
        status = run_turns(s, i, 1);
        if (status == HN_OK)
            draw(s, &s->turns[i]);
        else if (status != HN_ERR_CANCELLED)
            hn_scheduler_end(s, s->turns[i].r, status, HN_LM_DONE);
    }
    return status == HN_ERR_CANCELLED ? status : HN_OK;
}

static void end_cancelled(hn_lm_scheduler *s)
{
    for (int64_t i = s->n_running - 1; i >= 0; i--)
        if (s->running[i]->is_cancelled)
            hn_scheduler_end(s, s->running[i], HN_OK, HN_LM_CANCELLED);
    for (hn_request **at = &s->waiting; *at;) {
        hn_request *r = *at;
        if (!r->is_cancelled) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        s->n_waiting--;
        hn_scheduler_end(s, r, HN_OK, HN_LM_CANCELLED);
    }
}

static hn_status step(hn_lm_scheduler *s)
{
    int64_t n = 0, n_tokens = 0, n_read = 0;
    end_cancelled(s);
    HN_TRY(hn_scheduler_admit(s));
    if (!s->n_running)
        return HN_OK;
    HN_TRY(make_turns(s, &n, &n_tokens));
    if (!n)
        return HN_OK;
    for (int64_t i = n_tokens; i < n; i++)
        n_read += s->turns[i].n;
    const int64_t begin = hn_clock_ns();
    HN_TRY(run(s, n));
    if (n_tokens)
        hn_pace_took(&s->pace, n_tokens, n_read, hn_clock_ns() - begin);
    s->n_read += n_read;
    s->counts.steps++;
    s->counts.mixed += n_tokens && n_read;
    end_cancelled(s);
    return HN_OK;
}

hn_status hn_lm_scheduler_step(hn_lm_scheduler *s, int64_t *to)
{
    HN_ENTER();
    HN_REQUIRE(s && to, HN_ERR_ARGUMENT, "hn_lm_scheduler_step: expected a scheduler and room, found NULL");
    HN_TRY(hn_engine_check(s->lm->engine));
    HN_REQUIRE(!s->is_stepping, HN_ERR_BUSY, "hn_lm_scheduler_step: called in a step of the scheduler");
    s->is_stepping = true;
    const hn_status status = step(s);
    s->is_stepping = false;
    *to = s->n_running + s->n_waiting;
    return status;
}
