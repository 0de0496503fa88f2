/* scheduler.h: requests, and the room of a batch that they share.
 *
 *     ask -> waiting  . . . . . . . . .  in turns of who asks; who made room stands before all
 *              | admit: from a beginning, if one is known        ^ make room: its sequence is closed,
 *              v                                                  |  what was drawn stays with the request
 *            running  step: one token, or a piece of the prompt --+
 *              | each whole block that it knows is a beginning (beginnings.h), at once, for whoever comes
 *              v
 *            end      its sequence is closed; the beginnings stay until their blocks are wanted
 *
 * A turn is a number: a request has the one after the last of its asker's that wait or run, and none before the turn that came
 * in last. So whoever has a hundred waiting has a hundred turns, and who asks once stands behind one of them:
 *
 *     turn     5      6      7          5 has come in; c asks, and stands in the turn that is next
 *              a1     a2     a3  ...
 *                     b1
 *                     c1
 *
 * Prompts go in the order in which they are due: each when as many ids of prompts have been run, whosever, as its own has to be run
 * when it comes in. So a short one passes a long one that came a little before it, and a long one is passed only by who comes in
 * while as many ids as it has are run:
 *
 *     ids run     0 . . . . 4000 . . . . 8000
 *     4,000       comes in, due 4000
 *     10          comes in at 1000, due 1010: goes on at once
 *     10          comes in at 3995, due 4005: behind it
 *
 * Keys come in blocks. Who has made room twice is settled: it runs again only where all blocks are free that it can need to its
 * end, and they stay its own, free or taken, so that nobody is sent back for ever. */
#ifndef HN_ENGINE_SCHEDULER_H
#define HN_ENGINE_SCHEDULER_H

#include "engine/beginnings.h"
#include "engine/lm.h"
#include "engine/pace.h"
#include "hone/scheduler.h"

enum { HN_KEY_BLOCK_IDS = 64, HN_MOST_LIKELY = 20, HN_MOST_GUESSES = 16, HN_MOST_RETURNS = 2 };

typedef struct hn_request {
    hn_lm_request r; /* its pointers, save callbacks and their context, are NULL */
    int64_t number, turn;
    int32_t adapter; /* -1: none */
    int32_t *ids;    /* of the prompt and what was drawn; room for all that it may have */
    int64_t n_ids, n_prompt, n_known; /* these are in its sequence */
    int64_t most;    /* ids in all */
    hn_lm_sampler *sampler;
    hn_lm_sampling sampling;  /* without its grammar, */
    hn_lm_bias *bias;         /* and with this, its own */
    hn_lm_drafter *drafter;   /* of a draft model, whose keys it has: NULL until it first generates */
    int32_t sequence; /* -1: it waits */
    int64_t n_scored; /* ids of the prompt, the first among them, that were told of; n_prompt where none is asked for */
    int64_t n_reused, n_returned, admitted;
    int64_t due;     /* its prompt, by the count of ids of prompts that have been run */
    int32_t known;   /* the last block that it knows of the beginnings, and holds */
    bool is_forgotten; /* what it computes is no beginning any more */
    bool has_looked; /* for what the disk has of it, since it waits */
    bool has_run, is_cancelled, has_ended;
    struct hn_request *next; /* that waits */
} hn_request;

/* What a request has in a step. */
typedef struct hn_turn {
    hn_request *r;
    int64_t n, n_guessed; /* ids of its own, and after them guesses */
    int64_t row;          /* of the logits that its next token is drawn from; -1: none */
    int64_t n_scores, score_row; /* ids of the prompt that are scored, and the row of the first */
} hn_turn;

struct hn_lm_scheduler {
    hn_lm *lm;
    hn_lm_batch *batch;
    hn_lm_scheduler_options o;
    hn_lm_draft_options draft;
    int64_t n_sequences, n_tokens, n_rows; /* of the batch; the last two a step */
    hn_request *waiting;  /* the first */
    hn_request **running; /* [n_sequences], in the order of admission */
    hn_beginnings beginnings;
    const hn_lent_keys **way; /* [blocks of a context], to a block of the beginnings */
    const hn_beginning **nodes; /* the same */
    hn_turn *turns;       /* [n_sequences], of a step */
    hn_lm_batch_piece *pieces; /* the same */
    hn_piece *inner_pieces;    /* of those that run together */
    int32_t *guesses;     /* [n_sequences, 1 + HN_MOST_GUESSES] */
    int64_t n_running, n_waiting, clock, n_asked, turn; /* turn: the last that came in */
    int64_t n_read;       /* ids of prompts that have been run, whosever */
    int64_t from;         /* who is served first, where a step is too short for all */
    bool is_stepping, is_ending;
    hn_pace pace;
    hn_lm_scheduler_counts counts;
};

/* ---- scheduler_known.c: beginnings ---- */

hn_status hn_scheduler_known_new(hn_lm_scheduler *s);
int64_t hn_scheduler_most_shared(const hn_request *r); /* ids that it may begin with */
/* How many ids of `r` a sequence can begin with, and the last block of these. */
int64_t hn_scheduler_known(hn_lm_scheduler *s, const hn_request *r, int32_t *node);
/* Its sequence, which is open and has no ids, begins with them. */
void hn_scheduler_begin(hn_lm_scheduler *s, hn_request *r, int32_t node);
/* Whether someone is computing a block or more of what `r` begins with, beyond what is known already. */
bool hn_scheduler_is_being_computed(const hn_lm_scheduler *s, const hn_request *r, int64_t length);
/* The whole blocks that it knows by now are beginnings. */
void hn_scheduler_keep(hn_lm_scheduler *s, hn_request *r);
/* It holds none of them any more. */
void hn_scheduler_let_go(hn_lm_scheduler *s, hn_request *r);
/* Of the beginnings that nobody runs on, the longest not used gives up its block; false: none has one that this frees. Of `inner`: those
 * computed there; of windows: the keys of these alone, and the rest stays. */
bool hn_scheduler_gives_block(hn_lm_scheduler *s, const hn_sequences *inner, bool of_windows);

/* ---- scheduler_disk.c: beginnings on disk, where there is one ---- */

void hn_scheduler_write(hn_lm_scheduler *s, const hn_beginning *leaving);
/* What it begins with is known, as far as the disk has it; once while it waits. */
void hn_scheduler_read(hn_lm_scheduler *s, hn_request *r);

/* ---- scheduler_room.c ---- */

/* Blocks that are free there, and not somebody's own to his end. */
int64_t hn_scheduler_spare(const hn_lm_scheduler *s, const hn_sequences *inner);

/* Those who wait and have room run. */
hn_status hn_scheduler_admit(hn_lm_scheduler *s);
/* Room for the turns of a step; false: somebody who was in it gave way, and it is to be made anew. */
bool hn_scheduler_makes_room(hn_lm_scheduler *s, int64_t n_turns);
/* Its sequence is closed; it no longer runs. */
void hn_scheduler_leave(hn_lm_scheduler *s, hn_request *r);

/* ---- scheduler_tell.c: who asked is told ---- */

/* What a row of logits says of an id: of the one that was drawn, and of one of the prompt. */
hn_status hn_scheduler_tell_token(const hn_lm_scheduler *s, const hn_request *r, int32_t id, int64_t row);
void hn_scheduler_tell_score(const hn_lm_scheduler *s, const hn_request *r, int64_t row);
void hn_scheduler_tell_end(const hn_request *r, const hn_lm_ended *ended);

/* ---- scheduler_step.c ---- */

/* Tells that it has ended, and frees it. */
void hn_scheduler_end(hn_lm_scheduler *s, hn_request *r, hn_status status, hn_lm_end end);

void hn_request_free(hn_lm_scheduler *s, hn_request *r);
/* Has one that guesses, where there are guesses. */
hn_status hn_request_want_drafter(hn_lm_scheduler *s, hn_request *r);

/* Those that run with an adapter, or -1. */
hn_sequences *hn_lm_batch_inner(const hn_lm_batch *batch, int32_t adapter);
int32_t hn_lm_batch_slot(const hn_lm_batch *batch, int32_t adapter); /* there */
/* What the batch was made for. */
void hn_lm_batch_limits(const hn_lm_batch *batch, hn_lm **lm, int64_t *sequences, int64_t *tokens, int64_t *rows);

#endif
