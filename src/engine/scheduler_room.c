/* Who has room in a scheduler's batch: beginnings that are kept, who comes in, and who makes room. */
#include "engine/scheduler.h"

static int64_t needs(const hn_lm_scheduler *s, const hn_request *r, int64_t n)
{
    const hn_lm_batch_piece piece = { .sequence = r->sequence, .n = (size_t)n };
    return r->sequence < 0 || n <= 0 ? 0 : hn_lm_batch_needs(s->batch, &piece, 1);
}

static bool is_settled(const hn_request *r) { return r->n_returned >= HN_MOST_RETURNS; }

/* Blocks that are free, and not somebody's own to his end. */
static int64_t spare(const hn_lm_scheduler *s)
{
    int64_t blocks = hn_lm_batch_blocks(s->batch, NULL);
    for (int64_t i = 0; i < s->n_running; i++)
        if (is_settled(s->running[i]))
            blocks -= needs(s, s->running[i], s->running[i]->most - s->running[i]->n_known);
    return blocks;
}

/* ---- beginnings ---- */

void hn_scheduler_drop(hn_lm_scheduler *s, int64_t i)
{
    hn_lm_batch_close(s->batch, s->kept[i].sequence);
    s->kept[i] = s->kept[--s->n_kept];
}

/* The one that was longest not used is dropped, save `but`; false: there is no other. */
static bool drop_oldest(hn_lm_scheduler *s, int32_t but)
{
    int64_t oldest = -1;
    for (int64_t i = 0; i < s->n_kept; i++)
        if (s->kept[i].sequence != but && (oldest < 0 || s->kept[i].used < s->kept[oldest].used))
            oldest = i;
    if (oldest < 0)
        return false;
    hn_scheduler_drop(s, oldest);
    return true;
}

static int64_t common(const int32_t *a, int64_t n_a, const int32_t *b, int64_t n_b)
{
    const int64_t n = n_a < n_b ? n_a : n_b;
    int64_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* The row after which n ids are known tells of id n: what is to be scored yet is to be run. */
static int64_t most_shared(const hn_request *r)
{
    return r->n_scored < r->n_prompt ? r->n_scored - 1 : r->n_ids - 1;
}

/* How many ids of `r` a sequence has, of which the last is run anew: its logits are wanted. */
static int64_t shared(const hn_lm_scheduler *s, int32_t sequence, const hn_request *r)
{
    size_t n;
    const int32_t *ids = hn_lm_batch_ids(s->batch, sequence, &n);
    const int64_t same = common(ids, (int64_t)n, r->ids, most_shared(r));
    return (int64_t)hn_lm_batch_usable(s->batch, sequence, (size_t)same);
}

/* The sequence that has most of it, of the same owner and adapter; -1: none has any. */
static int32_t best_beginning(hn_lm_scheduler *s, const hn_request *r, int64_t *length)
{
    int32_t best = -1;
    *length = 0;
    for (int64_t i = 0; i < s->n_kept; i++) {
        hn_beginning *k = &s->kept[i];
        const int64_t n = k->owner == r->r.owner && k->adapter == r->adapter ? shared(s, k->sequence, r) : 0;
        if (n > *length) {
            *length = n;
            best = k->sequence;
        }
    }
    for (int64_t i = 0; i < s->n_running; i++) {
        const hn_request *other = s->running[i];
        const int64_t n = other->r.owner == r->r.owner && other->adapter == r->adapter ? shared(s, other->sequence, r) : 0;
        if (n > *length) {
            *length = n;
            best = other->sequence;
        }
    }
    return best;
}

/* Whether someone is computing a block or more of what `r` begins with, beyond what there is already. */
static bool is_being_computed(const hn_lm_scheduler *s, const hn_request *r, int64_t length)
{
    for (int64_t i = 0; i < s->n_running && !s->o.keeps_none; i++) {
        const hn_request *other = s->running[i];
        if (other->r.owner == r->r.owner && other->adapter == r->adapter && other->n_ids - other->n_known > 1 &&
            common(other->ids, other->n_ids, r->ids, most_shared(r)) >= length + HN_KEY_BLOCK_IDS)
            return true;
    }
    return false;
}

static void keep(hn_lm_scheduler *s, const hn_request *r)
{
    size_t n;
    hn_lm_batch_ids(s->batch, r->sequence, &n);
    for (int64_t i = s->n_kept - 1; i >= 0; i--) { /* those that it begins with */
        size_t length;
        const int32_t *ids = hn_lm_batch_ids(s->batch, s->kept[i].sequence, &length);
        if (s->kept[i].owner == r->r.owner && s->kept[i].adapter == r->adapter && length <= n &&
            common(ids, (int64_t)length, r->ids, r->n_ids) == (int64_t)length)
            hn_scheduler_drop(s, i);
    }
    while (s->n_kept >= s->o.kept && drop_oldest(s, -1))
        ;
    s->kept[s->n_kept++] = (hn_beginning){ r->sequence, r->adapter, r->r.owner, s->clock++ };
}

/* ---- coming in ---- */

/* A place for one more sequence. */
static bool has_place(hn_lm_scheduler *s, int32_t but)
{
    while (s->n_running + s->n_kept >= s->n_sequences)
        if (!drop_oldest(s, but))
            return false;
    return true;
}

static void forget_kept(hn_lm_scheduler *s, int32_t sequence)
{
    for (int64_t i = 0; i < s->n_kept; i++)
        if (s->kept[i].sequence == sequence) {
            s->kept[i] = s->kept[--s->n_kept];
            return;
        }
}

/* A sequence of the first `length` ids: a fork of the beginning or, where there is no place for two, the beginning itself. */
static hn_status open_sequence(hn_lm_scheduler *s, hn_request *r, int32_t beginning, int64_t length)
{
    if (beginning < 0) {
        has_place(s, -1);
        return hn_lm_batch_open(s->batch, r->adapter, &r->sequence);
    }
    if (has_place(s, beginning)) {
        for (int64_t i = 0; i < s->n_kept; i++)
            if (s->kept[i].sequence == beginning)
                s->kept[i].used = s->clock++;
        return hn_lm_batch_fork(s->batch, beginning, (size_t)length, &r->sequence);
    }
    forget_kept(s, beginning);
    r->sequence = beginning;
    return hn_lm_batch_trim(s->batch, beginning, (size_t)length);
}

/* Blocks for it: for all that it has by now and a block for each that runs, so that it does not make room at once; or to its end.
 * Beginnings give way. */
static bool has_blocks(hn_lm_scheduler *s, const hn_request *r)
{
    const int64_t wanted = is_settled(r) ? needs(s, r, r->most - r->n_known)
                                         : needs(s, r, r->n_ids - r->n_known) + s->n_running;
    while (spare(s) < wanted)
        if (!drop_oldest(s, -1))
            return !s->n_running;
    return true;
}

/* HN_ERR_BUSY: there is no room now. */
static hn_status admit(hn_lm_scheduler *s, hn_request *r)
{
    int64_t length = 0;
    const int32_t beginning = s->o.keeps_none ? -1 : best_beginning(s, r, &length);
    hn_status status = open_sequence(s, r, beginning, length);
    while (status == HN_ERR_BUSY && drop_oldest(s, -1)) { /* those with an adapter that is run apart are fewer */
        status = hn_lm_batch_open(s->batch, r->adapter, &r->sequence);
        length = 0;
    }
    if (status != HN_OK) {
        r->sequence = -1;
        return status;
    }
    r->n_known = length;
    if (!has_blocks(s, r)) {
        hn_lm_batch_close(s->batch, r->sequence);
        r->sequence = -1;
        return HN_ERR_BUSY;
    }
    if (!r->has_run)
        r->n_reused = length;
    r->has_run = true;
    r->admitted = s->clock++;
    s->counts.reused += length;
    s->counts.begun_known += length > 0;
    s->running[s->n_running++] = r;
    return HN_OK;
}

hn_status hn_scheduler_admit(hn_lm_scheduler *s)
{
    hn_request **at = &s->waiting;
    while (*at && s->n_running < s->o.running) {
        hn_request *r = *at;
        int64_t length = 0;
        best_beginning(s, r, &length);
        if (is_being_computed(s, r, length)) { /* it is there soon, and others may pass */
            at = &r->next;
            continue;
        }
        const hn_status status = admit(s, r);
        if (status == HN_ERR_BUSY && s->n_running)
            return HN_OK;
        *at = r->next;
        r->next = NULL;
        s->n_waiting--;
        if (status != HN_OK)
            hn_scheduler_end(s, r, status, HN_LM_DONE);
    }
    return HN_OK;
}

/* ---- making room ---- */

void hn_scheduler_leave(hn_lm_scheduler *s, hn_request *r, bool keeps)
{
    int64_t i = 0;
    while (s->running[i] != r)
        i++;
    for (s->n_running--; i < s->n_running; i++)
        s->running[i] = s->running[i + 1];
    if (keeps && s->o.kept)
        keep(s, r);
    else
        hn_lm_batch_close(s->batch, r->sequence);
    r->sequence = -1;
}

static int64_t blocks_of(const hn_lm_scheduler *s, uint64_t owner)
{
    int64_t blocks = 0;
    for (int64_t i = 0; i < s->n_running; i++)
        if (s->running[i]->r.owner == owner)
            blocks += (s->running[i]->n_known + HN_KEY_BLOCK_IDS - 1) / HN_KEY_BLOCK_IDS;
    return blocks;
}

/* The last that came in of the owner who has most, of those who may be sent back; NULL: none may. */
static hn_request *who_gives_way(const hn_lm_scheduler *s)
{
    hn_request *who = NULL;
    int64_t most = -1;
    for (int64_t i = 0; i < s->n_running; i++) {
        hn_request *r = s->running[i];
        const int64_t blocks = blocks_of(s, r->r.owner);
        if (is_settled(r) || blocks < most || (blocks == most && r->admitted < who->admitted))
            continue;
        who = r;
        most = blocks;
    }
    return who;
}

static void give_way(hn_lm_scheduler *s, hn_request *r)
{
    hn_scheduler_leave(s, r, false);
    r->n_returned++;
    s->counts.returned++;
    r->next = s->waiting;
    s->waiting = r;
    s->n_waiting++;
}

bool hn_scheduler_makes_room(hn_lm_scheduler *s, int64_t n_turns)
{
    int64_t wanted = 0;
    for (int64_t i = 0; i < n_turns; i++)
        if (!is_settled(s->turns[i].r))
            wanted += needs(s, s->turns[i].r, s->turns[i].n + s->turns[i].n_guessed);
    while (spare(s) < wanted) {
        if (drop_oldest(s, -1))
            continue;
        hn_request *r = who_gives_way(s);
        if (!r)
            return true; /* the batch says what it lacks */
        give_way(s, r);
        return false;
    }
    return true;
}
