/* scheduler.h: requests to a model, from as many as ask: who runs, who waits, and what is kept of what was computed.
 *
 *     hn_lm_request r = { .size = sizeof r, .ids = ids, .n = n, .on_token = say, .on_end = close };
 *     hn_lm_scheduler_ask(scheduler, &r, &number);
 *     while (left)
 *         hn_lm_scheduler_step(scheduler, &left);
 *
 * It drives a batch: a step takes a token of each request that generates, and pieces of the prompts that enter. What is asked
 * has the tokens and log-probabilities that it has alone, in a session: whoever else asks, however a prompt is cut, whatever
 * was kept or guessed, and if it had to make room in between.
 *
 * Each block of 64 ids that was run is a beginning, after all that were before it, and is kept as long as nobody needs its room: a
 * request of the same owner and with the same adapter goes on after as many whole blocks as are known of it, also while the
 * request that computes them runs. What several begin with is there once, and what was not used for longest gives way first, the
 * end of a text before its beginning. Where keys have no room, the request that came last of the asker who has most makes room: it
 * returns first, is computed again to where it was, and after the second time it runs on to its end. */
#ifndef HONE_SCHEDULER_H
#define HONE_SCHEDULER_H

#include "hone/draft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller frees it, before its batch and its disk; it holds its model. Used by one thread at a time, on which it calls back;
 * so is its batch meanwhile. */
typedef struct hn_lm_scheduler hn_lm_scheduler;

/* ---- beginnings on disk ---- */

/* A folder of files, one for each block that left memory; of any number of schedulers, models and adapters, whose threads may use it
 * at once. The caller closes it, after the schedulers that have it and before its engine is freed. */
typedef struct hn_lm_disk hn_lm_disk;

typedef struct hn_lm_disk_options {
    size_t size;
    int64_t most; /* bytes of all files; 0: 1 GiB. The oldest go: who was longest not written, read or asked for */
    /* Told of a file that is not whole, or of something else than its name says: it was removed, and is not used; and of one that
     * cannot be written. On the thread that steps, or frees, a scheduler, or on the disk's own, which writes: one at a time each, but
     * maybe at the same time. NULL: not told. */
    void (*on_refused)(void *context, const char *sentence);
    void *context;
    int64_t waiting; /* bytes that wait to be written, so that steps need not wait for the disk; 0: 64 MiB. What would be more is not
                        kept; when a scheduler is freed all of it is */
} hn_lm_disk_options;

/* The folder is made if it is not there. It has to be this user's own, and nobody else's to write to; it is one process's at a time
 * (HN_ERR_BUSY). */
HN_API hn_status hn_lm_disk_open(hn_lm_disk **out, hn_engine *engine, const char *folder, const hn_lm_disk_options *options_or_null);
/* Its files stay. */
HN_API void hn_lm_disk_close(hn_lm_disk *disk); /* takes NULL */

typedef struct hn_lm_disk_counts {
    int64_t files, bytes;  /* now */
    int64_t written, read;
    int64_t refused, gone; /* that may not be used; and the oldest, which had no room */
    int64_t skipped;       /* that were not kept because too much waited to be written */
} hn_lm_disk_counts;

HN_API hn_status hn_lm_disk_count(const hn_lm_disk *disk, hn_lm_disk_counts *out, size_t size);

/* ---- schedulers ---- */

typedef struct hn_lm_scheduler_options {
    size_t size;
    int64_t running;    /* requests at a time; 0: as many as the batch has sequences */
    int64_t waiting;    /* beside them, of each who asks; 0: 1024 */
    int64_t kept;       /* beginnings, blocks of 64 ids; 0: as many as the batch has blocks of keys */
    int64_t piece;      /* of prompts a step while others generate, so that these do not wait; 0: so many tokens that a step
                           takes about twice as long as one without, by measure */
    int32_t keeps_none; /* no beginnings */
    const hn_lm_draft_options *draft; /* guesses ahead, where a step has rows to spare (hn_lm_batch_options.rows); NULL: none. A model has
                                           keys for each that runs, and without a sampling draws by each request's own */
    hn_lm_disk *disk;   /* where beginnings go that leave memory, all of them when it is freed, and are found again; NULL: nowhere */
} hn_lm_scheduler_options;

/* The batch has no sequence when it is made, and is stepped by nobody else. Adapters may be added to the batch at any time. */
HN_API hn_status hn_lm_scheduler_new(hn_lm_scheduler **out, hn_lm_batch *batch,
                                     const hn_lm_scheduler_options *options_or_null);
/* Requests that have not ended are forgotten; nobody is told. */
HN_API void hn_lm_scheduler_free(hn_lm_scheduler *scheduler); /* takes NULL */

typedef struct hn_lm_drawn {
    int64_t request;
    int64_t number; /* of the token, from 0 */
    int32_t id;
    int32_t n_likeliest;
    double log_probability; /* 0 unless it was asked for */
    const hn_lm_likely *likeliest; /* the likeliest first, of equals the lower id */
} hn_lm_drawn;

typedef struct hn_lm_ended {
    int64_t request;
    hn_status status; /* not HN_OK: hn_error_message says why, and `end` says nothing */
    hn_lm_end end;
    int64_t n_prompt, n_reused; /* of the prompt were known when it first ran */
    int64_t n_drawn;
    int64_t n_returned; /* how often it made room */
} hn_lm_ended;

typedef struct hn_lm_request {
    size_t size;
    const int32_t *ids; /* of the prompt */
    size_t n;
    const hn_lm_sampling *sampling; /* NULL: default */
    const int32_t *adapter;         /* as hn_lm_batch_add_adapter gave it; NULL: none */
    uint64_t owner;                 /* whose: no beginning of another owner is used */
    int64_t most;                   /* tokens; 0: to the end of the context */
    int32_t goes_on;                /* past tokens by which a model says that it is done */
    int32_t scores;                 /* log-probabilities are told, before biases, penalties and temperature */
    int32_t likeliest;              /* and of so many of the likeliest: at most 20 */
    int32_t draws_none;             /* ends where its first token would be drawn, as HN_LM_COUNTED */

    /* Called in a step, on its thread; both may ask, and cancel. NULL: not heard. The token by which a model says that it is done
     * is not told, unless `goes_on`. */
    void (*on_token)(void *context, const hn_lm_drawn *token);
    void (*on_end)(void *context, const hn_lm_ended *ended);
    void *context;
    hn_lm_grammar *grammar; /* of what is generated, in the place of the sampling's; held. NULL: none of its own */
    /* Called in a step for each id of the prompt from the second on, in their order and before any on_token: what it was given those
     * before it, `number` its place, `likeliest` as above. A prompt that is scored begins anew: keys that are known say no
     * logits. NULL: it is not scored. */
    void (*on_scored)(void *context, const hn_lm_drawn *id);
    uint64_t asker; /* who asks: those who do have turns, and who has most makes room; 0: the owner */
    int32_t scores_drawn; /* what is told of tokens is of what they are drawn from, after biases, penalties, the grammar, cuts and
                             temperature: as hn_lm_sampler_foretell. Of the prompt's ids it is not */
} hn_lm_request;

/* All of it is copied. HN_ERR_ARGUMENT: no ids, one beyond the vocabulary, or as many as the context takes; HN_ERR_MEMORY: it
 * can never have room; HN_ERR_BUSY: too many of its asker wait. `number` is of no other request. */
HN_API hn_status hn_lm_scheduler_ask(hn_lm_scheduler *scheduler, const hn_lm_request *request, int64_t *number);
/* It ends before the next token, as HN_LM_CANCELLED. HN_ERR_ARGUMENT: there is none of this number, or it has ended. */
HN_API hn_status hn_lm_scheduler_cancel(hn_lm_scheduler *scheduler, int64_t number);

/* One step of all that run; *left is how many requests have not ended: 0, and there is nothing to do. A request that fails ends with
 * its status, and the others go on. HN_ERR_CANCELLED: hn_engine_cancel stopped it, and all is as before. */
HN_API hn_status hn_lm_scheduler_step(hn_lm_scheduler *scheduler, int64_t *left);

/* Drops the beginnings that have this adapter, so that the batch can remove it; NULL: all. */
HN_API hn_status hn_lm_scheduler_forget(hn_lm_scheduler *scheduler, const int32_t *adapter_or_null);

typedef struct hn_lm_scheduler_counts {
    int64_t running, waiting, kept; /* now; the last in blocks of 64 ids */
    int64_t steps, mixed;     /* of which with pieces of prompts beside tokens that are generated */
    int64_t computed, reused; /* ids run, guesses too; and not, for they were known */
    int64_t begun_known;      /* requests that went on from a beginning */
    int64_t drawn, returned;  /* tokens; and how often a request made room */
    int64_t accepted, rejected; /* guesses, of requests that have ended */
} hn_lm_scheduler_counts;

HN_API hn_status hn_lm_scheduler_count(const hn_lm_scheduler *scheduler, hn_lm_scheduler_counts *out, size_t size);

/* One that runs, between two steps. */
typedef struct hn_lm_scheduler_place {
    int64_t request;
    void *context;     /* hn_lm_request.context */
    int64_t n_prompt;
    int64_t n_run;     /* ids whose keys are there: of the prompt, and then of what was drawn */
    int64_t n_reused;  /* of the prompt were known when it first ran */
    int64_t n_drawn, most; /* tokens; and at most, to the end of the context */
    int64_t n_returned; /* how often it made room */
} hn_lm_scheduler_place;

/* The i-th of those that run, in the order in which they came in. HN_ERR_ARGUMENT: there are not so many. */
HN_API hn_status hn_lm_scheduler_running(const hn_lm_scheduler *scheduler, int64_t i, hn_lm_scheduler_place *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
