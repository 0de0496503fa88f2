/* Who has room in a scheduler's batch: who comes in, and who makes room.
 *
 *     free blocks    | . . . . . . . . . . . . . . |
 *     spare          | . . . . . . . . |  what the settled may still need, to their end  |
 *
 * Everybody but the settled lives on what is spare; a settled one on its own, which nobody else may have. So a
 * settled one never lacks a block, is never sent back, and ends. Of the others somebody may give way in every
 * step, but only twice each: then it is settled, and waits until all that it can need is spare. Who gives way
 * stands first among those who wait, and who runs alone is admitted whatever is free, after the beginnings have
 * given up theirs. So it goes on, and nobody waits for ever.
 *
 * Beginnings go before requests: they are work that was done, not work that is owed. Keys of windows, and
 * sequences apart (whose adapter has its own graph), have room for all that run; there beginnings alone are in the
 * way. */
#include "engine/scheduler.h"

static int64_t needs(const hn_lm_scheduler *s, const hn_request *r, int64_t n)
{
    const hn_lm_batch_piece piece = { .size = sizeof piece, .sequence = r->sequence, .n = (size_t)n };
    return r->sequence < 0 || n <= 0 ? 0 : hn_lm_batch_needs(s->batch, &piece, 1);
}

static bool is_settled(const hn_request *r) { return r->n_returned >= HN_MOST_RETURNS; }

static int64_t spare(const hn_lm_scheduler *s)
{
    int64_t blocks = hn_lm_batch_blocks(s->batch, NULL);
    for (int64_t i = 0; i < s->n_running; i++)
        if (is_settled(s->running[i]))
            blocks -= needs(s, s->running[i], s->running[i]->most - s->running[i]->n_known);
    return blocks;
}

int64_t hn_scheduler_spare(const hn_lm_scheduler *s, const hn_sequences *inner)
{
    return inner == hn_lm_batch_inner(s->batch, -1) ? spare(s) : hn_sequences_free_blocks(inner, NULL);
}

/* ---- coming in ---- */

/* A block of the sequences without adapters, and of those whose adapters are the bank's, which `spare` counts. */
static bool gives_block(hn_lm_scheduler *s) { return hn_scheduler_gives_block(s, hn_lm_batch_inner(s->batch, -1), false); }

/* Blocks for it: for all that it has by now and a block for each that runs, so that it does not make room at once; or to its end.
 * Beginnings give way. */
static bool has_blocks(hn_lm_scheduler *s, const hn_request *r)
{
    const int64_t wanted = is_settled(r) ? needs(s, r, r->most - r->n_known)
                                         : needs(s, r, r->n_ids - r->n_known) + s->n_running;
    while (spare(s) < wanted)
        if (!gives_block(s))
            return !s->n_running;
    return true;
}

static void close(hn_lm_scheduler *s, hn_request *r)
{
    hn_scheduler_let_go(s, r);
    hn_lm_batch_close(s->batch, r->sequence);
    r->sequence = -1;
}

/* HN_ERR_BUSY: there is no room now. */
static hn_status admit(hn_lm_scheduler *s, hn_request *r, int32_t beginning)
{
    const hn_status status = hn_lm_batch_open(s->batch, r->adapter, &r->sequence);
    if (status != HN_OK) {
        r->sequence = -1;
        return status;
    }
    hn_scheduler_begin(s, r, beginning);
    if (!has_blocks(s, r)) {
        close(s, r);
        return HN_ERR_BUSY;
    }
    if (!r->has_run) { /* who gave way is due as it was */
        r->n_reused = r->n_known;
        r->due = s->n_read + r->n_ids - r->n_known;
    }
    r->has_run = true;
    r->is_forgotten = false;
    r->admitted = s->clock++;
    s->counts.reused += r->n_known;
    s->counts.begun_known += r->n_known > 0;
    s->running[s->n_running++] = r;
    return HN_OK;
}

hn_status hn_scheduler_admit(hn_lm_scheduler *s)
{
    hn_request **at = &s->waiting;
    while (*at && s->n_running < s->o.running) {
        hn_request *r = *at;
        int32_t beginning;
        const int64_t length = hn_scheduler_known(s, r, &beginning);
        if (hn_scheduler_is_being_computed(s, r, length)) { /* it is there soon, and others may pass */
            at = &r->next;
            continue;
        }
        hn_scheduler_read(s, r);
        hn_scheduler_known(s, r, &beginning);
        const hn_status status = admit(s, r, beginning);
        if (status == HN_ERR_BUSY && s->n_running)
            return HN_OK;
        *at = r->next;
        r->next = NULL;
        s->n_waiting--;
        s->turn = r->turn > s->turn ? r->turn : s->turn;
        if (status != HN_OK)
            hn_scheduler_end(s, r, status, HN_LM_DONE);
    }
    return HN_OK;
}

/* ---- making room ---- */

void hn_scheduler_leave(hn_lm_scheduler *s, hn_request *r)
{
    int64_t i = 0;
    while (s->running[i] != r)
        i++;
    for (s->n_running--; i < s->n_running; i++)
        s->running[i] = s->running[i + 1];
    close(s, r);
}

static int64_t blocks_of(const hn_lm_scheduler *s, uint64_t asker)
{
    int64_t blocks = 0;
    for (int64_t i = 0; i < s->n_running; i++)
        if (s->running[i]->r.asker == asker)
            blocks += (s->running[i]->n_known + HN_KEY_BLOCK_IDS - 1) / HN_KEY_BLOCK_IDS;
    return blocks;
}

/* The last that came in of the asker who has most, of those who may be sent back; NULL: none may. */
static hn_request *who_gives_way(const hn_lm_scheduler *s)
{
    hn_request *who = NULL;
    int64_t most = -1;
    for (int64_t i = 0; i < s->n_running; i++) {
        hn_request *r = s->running[i];
        const int64_t blocks = blocks_of(s, r->r.asker);
        if (is_settled(r) || blocks < most || (blocks == most && r->admitted < who->admitted))
            continue;
        who = r;
        most = blocks;
    }
    return who;
}

static void give_way(hn_lm_scheduler *s, hn_request *r)
{
    hn_scheduler_leave(s, r);
    r->n_returned++;
    r->has_looked = false;
    s->counts.returned++;
    r->next = s->waiting;
    s->waiting = r;
    s->n_waiting++;
}

/* What the turns lack there; *inner: of the sequences that turn i is among, if no turn before it is. */
static int64_t lacks(hn_lm_scheduler *s, int64_t i, int64_t n, bool of_windows, hn_sequences **inner)
{
    int64_t n_pieces = 0;
    *inner = hn_lm_batch_inner(s->batch, s->turns[i].r->adapter);
    for (int64_t j = 0; j < n; j++) {
        const hn_turn *t = &s->turns[j];
        if (hn_lm_batch_inner(s->batch, t->r->adapter) != *inner)
            continue;
        if (j < i)
            return 0;
        s->inner_pieces[n_pieces++] = (hn_piece){ .sequence = t->r->sequence, .n = t->n + t->n_guessed };
    }
    return hn_sequences_lacks(*inner, s->inner_pieces, n_pieces, of_windows);
}

/* Keys of windows, and all of those whose adapter is run apart, have room enough but for the beginnings, which give it up. */
static void clear_beginnings(hn_lm_scheduler *s, int64_t n_turns)
{
    hn_sequences *inner;
    for (int64_t i = 0; i < n_turns; i++) {
        while (lacks(s, i, n_turns, true, &inner) > 0 && hn_scheduler_gives_block(s, inner, true))
            ;
        while (inner != hn_lm_batch_inner(s->batch, -1) && lacks(s, i, n_turns, false, &inner) > 0 &&
               hn_scheduler_gives_block(s, inner, false))
            ;
    }
}

bool hn_scheduler_makes_room(hn_lm_scheduler *s, int64_t n_turns)
{
    int64_t wanted = 0;
    clear_beginnings(s, n_turns);
    for (int64_t i = 0; i < n_turns; i++)
        if (!is_settled(s->turns[i].r))
            wanted += needs(s, s->turns[i].r, s->turns[i].n + s->turns[i].n_guessed);
    while (spare(s) < wanted) {
        if (gives_block(s))
            continue;
        hn_request *r = who_gives_way(s);
        if (!r)
            return true; /* the batch says what it lacks */
        give_way(s, r);
        return false;
    }
    return true;
}
