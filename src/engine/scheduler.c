/* What asks of a scheduler: requests come, are cancelled, and go.
 *
 * A request is the scheduler's from hn_lm_scheduler_ask until its on_end was told, and is in one place all the while: in the
 * list `waiting`, in the order of turns and with sequence -1, or in the array `running`, with a sequence of the batch. Its ids have
 * room for all that it may ever have, so it can be sent back to wait with what it has drawn, and only keys are lost. Nothing that
 * the caller's struct points at is kept but callbacks and their context.
 *
 * What is refused is refused here, at once: a prompt that never fits, ids that are none, a grammar with goes_on. Whoever stands in
 * line can run to its end, alone if need be; what fails later ends that request (hn_scheduler_end) and no other.
 *
 * Callbacks run within a step. There a host may ask and cancel: the first stands in line, the second sets a mark that the step
 * heeds, and frees by, when it comes to the request. To step, to forget and to list who runs are refused there as busy (outside):
 * they would move what the step has in its hands. Nothing is locked: a scheduler is used by one thread at a time.
 *
 * Sequences and beginnings hold blocks of the batch's keys, so they go before the batch does: hn_lm_scheduler_free closes those
 * that run, tells nobody, and lets what the disk is to keep be written. */
#include "engine/scheduler.h"

#include "engine/beginnings_disk.h"

#include <string.h>

static hn_status check(const hn_lm_scheduler *s, const char *call)
{
    HN_REQUIRE(s, HN_ERR_ARGUMENT, "%s: expected a scheduler, found NULL", call);
    return hn_engine_check(s->lm->engine);
}

static hn_status outside(const hn_lm_scheduler *s, const char *call)
{
    HN_TRY(check(s, call));
    HN_REQUIRE(!s->is_stepping, HN_ERR_BUSY, "%s: called in a step of the scheduler", call);
    return HN_OK;
}

/* ---- beginning and end ---- */

static hn_status take_options(hn_lm_scheduler *s, const hn_lm_scheduler_options *options)
{
    enum { WAITING = 1024 };
    int64_t blocks;
    hn_lm_scheduler_options o;
    HN_TRY(hn_take_struct("hn_lm_scheduler_options", options, sizeof o, &o));
    hn_lm_batch_blocks(s->batch, &blocks);
    HN_REQUIRE(o.running >= 0 && o.running <= s->n_sequences && o.waiting >= 0 && o.kept >= 0 && o.kept <= blocks && o.piece >= 0,
               HN_ERR_ARGUMENT, "hn_lm_scheduler_options: expected numbers of at least 0, running of at most %lld and kept of at most "
               "%lld, found running %lld, waiting %lld, kept %lld, piece %lld", (long long)s->n_sequences, (long long)blocks,
               (long long)o.running, (long long)o.waiting, (long long)o.kept, (long long)o.piece);
    HN_REQUIRE(!o.keeps_none || !o.kept, HN_ERR_ARGUMENT, "hn_lm_scheduler_options: kept %lld, and keeps_none", (long long)o.kept);
    o.running = o.running ? o.running : s->n_sequences;
    o.waiting = o.waiting ? o.waiting : WAITING;
    s->pace = hn_pace_of(o.piece, s->n_tokens);
    o.kept = o.keeps_none ? 0 : o.kept ? o.kept : blocks;
    if (o.draft) {
        HN_TRY(hn_lm_take_draft(o.draft, &s->draft));
        o.draft = &s->draft;
    }
    s->o = o;
    return HN_OK;
}

static hn_status make(hn_lm_scheduler *s, const hn_lm_scheduler_options *options)
{
    const size_t n = (size_t)s->n_sequences;
    hn_heap *heap = &s->lm->engine->heap;
    HN_TRY(take_options(s, options));
    s->running = hn_alloc_array(heap, HN_TAG_STATE, n, sizeof *s->running);
    HN_TRY(hn_scheduler_known_new(s));
    s->inner_pieces = hn_alloc_array(heap, HN_TAG_STATE, n, sizeof *s->inner_pieces);
    s->turns = hn_alloc_array(heap, HN_TAG_STATE, n, sizeof *s->turns);
    s->pieces = hn_alloc_array(heap, HN_TAG_STATE, n, sizeof *s->pieces);
    s->guesses = hn_alloc_array(heap, HN_TAG_STATE, n * (1 + HN_MOST_GUESSES), sizeof *s->guesses);
    return s->running && s->inner_pieces && s->turns && s->pieces && s->guesses ? HN_OK : HN_ERR_MEMORY;
}

hn_status hn_lm_scheduler_new(hn_lm_scheduler **out, hn_lm_batch *batch, const hn_lm_scheduler_options *options)
{
    HN_ENTER();
    hn_lm *lm;
    int64_t sequences, tokens, rows;
    HN_REQUIRE(out && batch, HN_ERR_ARGUMENT, "hn_lm_scheduler_new: expected out and a batch, found NULL");
    *out = NULL;
    hn_lm_batch_limits(batch, &lm, &sequences, &tokens, &rows);
    HN_TRY(hn_lm_hold(lm));
    hn_lm_scheduler *s = hn_alloc(&lm->engine->heap, HN_TAG_STATE, sizeof *s);
    if (!s) {
        hn_lm_let_go(lm);
        return HN_ERR_MEMORY;
    }
    *s = (hn_lm_scheduler){ .lm = lm, .batch = batch, .n_sequences = sequences, .n_tokens = tokens, .n_rows = rows };
    const hn_status status = make(s, options);
    if (status != HN_OK) {
        hn_lm_scheduler_free(s);
        return status;
    }
    *out = s;
    return HN_OK;
}

void hn_request_free(hn_lm_scheduler *s, hn_request *r)
{
    hn_heap *heap = &s->lm->engine->heap;
    hn_lm_sampler_free(r->sampler);
    hn_lm_drafter_free(r->drafter);
    hn_free(heap, r->bias);
    hn_free(heap, r->ids);
    hn_free(heap, r);
}

void hn_lm_scheduler_free(hn_lm_scheduler *s)
{
    HN_ENTER();
    if (!s)
        return;
    hn_lm *lm = s->lm;
    hn_heap *heap = &lm->engine->heap;
    while (s->n_running) {
        hn_request *r = s->running[s->n_running - 1];
        hn_scheduler_leave(s, r);
        hn_request_free(s, r);
    }
    while (s->waiting) {
        hn_request *r = s->waiting;
        s->waiting = r->next;
        hn_request_free(s, r);
    }
    s->is_ending = true; /* nobody reads any more: all of it is kept, however long the disk takes */
    hn_beginnings_free(&s->beginnings);
    if (s->o.disk)
        hn_disk_settle(s->o.disk);
    hn_free(heap, s->way);
    hn_free(heap, s->nodes);
    hn_free(heap, s->running);
    hn_free(heap, s->inner_pieces);
    hn_free(heap, s->turns);
    hn_free(heap, s->pieces);
    hn_free(heap, s->guesses);
    hn_free(heap, s);
    hn_lm_let_go(lm);
}

/* ---- turns ---- */

static uint64_t asker_of(const hn_lm_request *r) { return r->asker ? r->asker : r->owner; }

static int64_t count_waiting(const hn_lm_scheduler *s, uint64_t asker)
{
    int64_t n = 0;
    for (const hn_request *r = s->waiting; r; r = r->next)
        n += r->r.asker == asker;
    return n;
}

static void stand_in_line(hn_lm_scheduler *s, hn_request *r)
{
    int64_t last = s->turn;
    hn_request **at = &s->waiting;
    for (int64_t i = 0; i < s->n_running; i++)
        if (s->running[i]->r.asker == r->r.asker && s->running[i]->turn > last)
            last = s->running[i]->turn;
    for (const hn_request *w = s->waiting; w; w = w->next)
        if (w->r.asker == r->r.asker && w->turn > last)
            last = w->turn;
    r->turn = last + 1;
    while (*at && (*at)->turn <= r->turn)
        at = &(*at)->next;
    r->next = *at;
    *at = r;
    s->n_waiting++;
}

/* ---- requests ---- */

static hn_status check_request(const hn_lm_scheduler *s, const hn_lm_request *r)
{
    const int64_t context = hn_lm_batch_context(s->batch), vocab = hn_lm_vocabulary(s->lm);
    int64_t blocks;
    HN_REQUIRE(r->ids && r->n, HN_ERR_ARGUMENT, "hn_lm_request: expected ids, found none");
    HN_REQUIRE(r->n < (size_t)context, HN_ERR_ARGUMENT, "a prompt of %zu tokens leaves no room for an answer in a context of %lld",
               r->n, (long long)context);
    for (size_t i = 0; i < r->n; i++)
        HN_REQUIRE(r->ids[i] >= 0 && r->ids[i] < vocab, HN_ERR_ARGUMENT, "id %zu is %d: the vocabulary has %lld", i, r->ids[i],
                   (long long)vocab);
    HN_REQUIRE(r->most >= 0 && r->likeliest >= 0 && r->likeliest <= HN_MOST_LIKELY, HN_ERR_ARGUMENT,
               "hn_lm_request: expected most of at least 0 and likeliest of 0 to %d, found %lld and %d", HN_MOST_LIKELY,
               (long long)r->most, r->likeliest);
    const int64_t room = context - (int64_t)r->n;
    const int64_t ids = (int64_t)r->n + (r->most && r->most < room ? r->most : room);
    const int64_t needs = (ids + HN_KEY_BLOCK_IDS - 1) / HN_KEY_BLOCK_IDS;
    hn_lm_batch_blocks(s->batch, &blocks);
    HN_REQUIRE(needs <= blocks, HN_ERR_MEMORY, "%lld tokens take %lld blocks of keys: the batch has %lld", (long long)ids,
               (long long)needs, (long long)blocks);
    const int64_t n = count_waiting(s, asker_of(r));
    HN_REQUIRE(n < s->o.waiting, HN_ERR_BUSY, "%lld requests wait, as many as may", (long long)n);
    return HN_OK;
}

/* With the request's own grammar. */
static hn_status take_sampling(const hn_lm_request *o, hn_lm_sampling *out)
{
    if (o->sampling)
        HN_TRY(hn_take_struct("hn_lm_sampling", o->sampling, sizeof *out, out));
    else
        HN_TRY(hn_lm_sampling_default(out, sizeof *out));
    out->grammar = o->grammar ? o->grammar : out->grammar;
    HN_REQUIRE(!out->grammar || !o->goes_on, HN_ERR_ARGUMENT,
               "hn_lm_request: a grammar, and goes_on: a grammar's text ends where the model says that it is done");
    return HN_OK;
}

/* What a draft model is to draw by. */
static hn_status keep_sampling(hn_lm_scheduler *s, hn_request *r, const hn_lm_sampling *sampling)
{
    r->sampling = *sampling;
    r->sampling.grammar = NULL;
    r->sampling.bias = NULL;
    if (!s->draft.model || !sampling->n_bias)
        return HN_OK;
    HN_TRY(hn_lm_take_biases(&s->lm->engine->heap, sampling, &r->bias));
    r->sampling.bias = r->bias;
    return HN_OK;
}

static hn_status fill(hn_lm_scheduler *s, hn_request *r, const hn_lm_request *o)
{
    const int64_t room = hn_lm_batch_context(s->batch) - (int64_t)o->n;
    r->r = *o;
    r->r.ids = NULL;
    r->r.sampling = NULL;
    r->r.adapter = NULL;
    r->r.grammar = NULL;
    r->r.asker = asker_of(o);
    r->adapter = o->adapter ? *o->adapter : -1;
    r->sequence = -1;
    r->n_ids = r->n_prompt = (int64_t)o->n;
    r->n_scored = o->on_scored ? 1 : r->n_prompt;
    r->most = r->n_prompt + (o->most && o->most < room ? o->most : room);
    r->ids = hn_alloc_array(&s->lm->engine->heap, HN_TAG_STATE, (size_t)r->most, sizeof *r->ids);
    if (!r->ids)
        return HN_ERR_MEMORY;
    memcpy(r->ids, o->ids, o->n * sizeof *r->ids);
    hn_lm_sampling sampling;
    HN_TRY(take_sampling(o, &sampling));
    HN_TRY(hn_lm_sampler_new(&r->sampler, s->lm, &sampling));
    HN_TRY(hn_lm_sampler_begin(r->sampler, o->n, 0));
    HN_TRY(keep_sampling(s, r, &sampling));
    return s->draft.model ? HN_OK : hn_request_want_drafter(s, r); /* what needs little is there before the first step */
}

hn_status hn_request_want_drafter(hn_lm_scheduler *s, hn_request *r)
{
    if (!s->o.draft || r->drafter)
        return HN_OK;
    hn_lm_draft_options o = s->draft;
    if (o.model && !o.sampling)
        o.sampling = &r->sampling; /* what is drawn alike is guessed right */
    return hn_lm_drafter_new(&r->drafter, s->lm, &o, hn_lm_batch_context(s->batch));
}

hn_status hn_lm_scheduler_ask(hn_lm_scheduler *s, const hn_lm_request *request, int64_t *number)
{
    HN_ENTER();
    hn_lm_request o;
    HN_TRY(check(s, "hn_lm_scheduler_ask"));
    HN_REQUIRE(request && number, HN_ERR_ARGUMENT, "hn_lm_scheduler_ask: expected a request and room, found NULL");
    HN_TRY(hn_take_struct("hn_lm_request", request, sizeof o, &o));
    HN_TRY(check_request(s, &o));
    hn_request *r = hn_alloc(&s->lm->engine->heap, HN_TAG_STATE, sizeof *r);
    if (!r)
        return HN_ERR_MEMORY;
    *r = (hn_request){ .sequence = -1, .known = HN_NO_BEGINNING };
    const hn_status status = fill(s, r, &o);
    if (status != HN_OK) {
        hn_request_free(s, r);
        return status;
    }
    stand_in_line(s, r);
    *number = r->number = s->n_asked++;
    return HN_OK;
}

static hn_request *find(const hn_lm_scheduler *s, int64_t number)
{
    for (int64_t i = 0; i < s->n_running; i++)
        if (s->running[i]->number == number)
            return s->running[i];
    hn_request *r = s->waiting;
    while (r && r->number != number)
        r = r->next;
    return r;
}

hn_status hn_lm_scheduler_cancel(hn_lm_scheduler *s, int64_t number)
{
    HN_ENTER();
    HN_TRY(check(s, "hn_lm_scheduler_cancel"));
    hn_request *r = find(s, number);
    HN_REQUIRE(r && !r->has_ended, HN_ERR_ARGUMENT, "request %lld: there is none of this number, or it has ended",
               (long long)number);
    r->is_cancelled = true;
    return HN_OK;
}

hn_status hn_lm_scheduler_forget(hn_lm_scheduler *s, const int32_t *adapter)
{
    HN_ENTER();
    HN_TRY(outside(s, "hn_lm_scheduler_forget"));
    for (int64_t i = 0; i < s->n_running; i++)
        if (!adapter || s->running[i]->adapter == *adapter) {
            hn_scheduler_let_go(s, s->running[i]);
            s->running[i]->is_forgotten = true;
        }
    hn_beginnings_drop(&s->beginnings, adapter);
    return HN_OK;
}

hn_status hn_lm_scheduler_count(const hn_lm_scheduler *s, hn_lm_scheduler_counts *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_scheduler_counts, out, to, size);
    HN_TRY(check(s, "hn_lm_scheduler_count"));
    HN_REQUIRE(to, HN_ERR_ARGUMENT, "hn_lm_scheduler_count: expected room, found NULL");
    *out = s->counts;
    out->running = s->n_running;
    out->waiting = s->n_waiting;
    out->kept = s->beginnings.n;
    return HN_OK;
}

hn_status hn_lm_scheduler_running(const hn_lm_scheduler *s, int64_t i, hn_lm_scheduler_place *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_lm_scheduler_place, out, to, size);
    HN_TRY(outside(s, "hn_lm_scheduler_running"));
    HN_REQUIRE(to, HN_ERR_ARGUMENT, "hn_lm_scheduler_running: expected room, found NULL");
    HN_REQUIRE(i >= 0 && i < s->n_running, HN_ERR_ARGUMENT, "hn_lm_scheduler_running: %lld: expected one of the %lld that run",
               (long long)i, (long long)s->n_running);
    const hn_request *r = s->running[i];
    out->request = r->number;
    out->context = r->r.context;
    out->n_prompt = r->n_prompt;
    out->n_run = r->n_known;
    out->n_reused = r->n_reused;
    out->n_drawn = r->n_ids - r->n_prompt;
    out->most = r->most - r->n_prompt;
    out->n_returned = r->n_returned;
    return HN_OK;
}
