/* served.h: a model that is served. It is loaded when it is first asked for, and put away again when another needs its place and
 * nobody asks it.
 *
 *     clerk    a thread that loads it, and makes ids of what is asked: a long prompt keeps nobody waiting who reads
 *     smith    a thread for what takes long: rules and embeddings. A schema that takes a second, or a thousand texts, keep those waiting
 *              alone who have some, too
 *     runner   a thread that steps its scheduler as long as anybody runs
 *
 * A request holds the model from hn_shelf_find until hn_served_let_go: what is held is not put away. */
#ifndef HN_SERVER_SERVED_H
#define HN_SERVER_SERVED_H

#include "base/heap.h"
#include "hone/hone.h"
#include "server/failure.h"
#include "server/worker.h"

typedef struct hn_shelf hn_shelf;
typedef struct hn_answer hn_answer;

enum { HN_MOST_SERVED = 64, HN_ADAPTER_NAME = 64 };

typedef struct hn_served_adapter hn_served_adapter; /* served_adapters.h */

typedef struct hn_served_options {
    const char *path;
    hn_lm_options model;
    hn_lm_batch_options batch;
    hn_lm_scheduler_options scheduler;
    const char *draft;       /* a smaller model that guesses, by scheduler.draft where that is not NULL; NULL: none */
    hn_lm_options draft_model;
    bool forces_adapters;
    int64_t adapters;    /* that the batch has at a time; 0: as many as there are when it is loaded, and two more if there are
                          * any, or some may come */
    const char *calls;   /* the family that calls of tools are of; NULL: the template's */
    bool takes_adapters; /* some may come */
    const char *folder;  /* of adapters, each NAME.gguf; NULL: none */
    const char *pooling; /* of its embeddings; NULL: as it says itself */
    const char *digests; /* hn_lm_keep_digests */
    int64_t first_ms;    /* from a request to its answer's first token, at most; 0: any */
    int64_t answer_ms;   /* to its last */
} hn_served_options;

typedef enum hn_served_state { HN_SERVED_AWAY, HN_SERVED_LOADING, HN_SERVED_READY } hn_served_state;

/* A request that runs, as it was after the last step. */
typedef struct hn_slot {
    hn_lm_scheduler_place place; /* without its context */
    hn_lm_sampling sampling;     /* without what it points at */
    char adapter[HN_ADAPTER_NAME]; /* "": none */
    int32_t likeliest;
    bool goes_on, streams;
} hn_slot;

typedef struct hn_served {
    hn_shelf *shelf;
    char name[128];
    hn_served_options o;
    hn_served_adapter *adapters; /* the first; who is in the list by the shelf's lock */
    int64_t room;                /* of its batch, for adapters */

    hn_served_state state; /* these eleven by the shelf's lock, and n_slots stays as it is */
    char weights[65];      /* hn_lm_fingerprint, as it was first loaded; "": it was not yet */
    int64_t bytes;         /* of its files */
    bool is_too_large;     /* it was refused all that the shelf's memory is */
    bool is_to_forget;     /* asked while it was loading: if that fails, its file may be another */
    bool is_broken;        /* it was not what it was when it was loaded */
    int64_t held;
    bool is_stepping; /* which is soon over; who is answered in a step holds it no more */
    int64_t last_asked; /* of a count of all requests */
    hn_lm_scheduler_counts counts;
    hn_slot *slots;         /* [n_slots], as many as may run */
    int32_t n_slots, n_running; /* the first so many are taken */

    hn_lm *lm; /* these, while it is held and after it was loaded */
    hn_lm_batch *batch;
    hn_lm_scheduler *scheduler;
    hn_lm *guesser;           /* that guesses; NULL: none */
    hn_lm_embedder *embedder; /* of a model that only embeds, which has neither batch nor scheduler; of another NULL until it is asked for one */

    hn_worker clerk, smith, runner;
    hn_answer *running; /* the runner's */
    int64_t created;    /* seconds since 1970 */
} hn_served;

/* Another name of a model. */
typedef struct hn_alias {
    char name[128];
    hn_served *of;
} hn_alias;

struct hn_shelf {
    hn_heap *heap;
    hn_engine *engine;
    hn_os_mutex lock;
    hn_os_condition stepped;
    hn_served *models[HN_MOST_SERVED];
    int32_t n;
    hn_alias aliases[HN_MOST_SERVED]; /* of before anything is served */
    int32_t n_aliases;
    int64_t most_loaded;
    size_t memory; /* that the engine may have; 0: any */
    int64_t n_asked;
    bool is_starting; /* what it begins with is being loaded */
};

void hn_shelf_open(hn_shelf *shelf, hn_heap *heap, hn_engine *engine, int64_t most_loaded);
/* One more, under `name`, or its path's last word; not loaded. Nothing of `o` is kept but what it points at. */
hn_status hn_shelf_add(hn_shelf *shelf, const char *name_or_null, const hn_served_options *o, hn_served **out);
/* "NAME=MODEL": the model that is called MODEL, by NAME too. After it was added, and before anything is served. */
hn_status hn_shelf_add_alias(hn_shelf *shelf, const char *word);
/* Stops all threads when they have done what they were given: nobody asks any more. */
void hn_shelf_stop(hn_shelf *shelf);
/* After that, or with it. */
void hn_shelf_close(hn_shelf *shelf);

/* By "model", "model:adapter" or "adapter"; NULL: the first. An adapter is found by who may: `asker` is the owner of the key
 * that asks, 0 where there are none, and his own comes before everybody's. Both are held for the caller; *adapter NULL: none. */
bool hn_shelf_find(hn_shelf *shelf, const char *name, uint64_t asker, hn_served **out, hn_served_adapter **adapter, hn_failure *why);
/* The same by name alone: nothing is held. "": no adapter. */
bool hn_shelf_look(hn_shelf *shelf, const char *name, uint64_t asker, hn_served **out, char adapter[HN_ADAPTER_NAME], hn_failure *why);
void hn_served_hold(hn_served *model);
void hn_served_let_go(hn_served *model);

/* On its clerk, held: loads it if it is not, and puts another away if there is no place. */
bool hn_served_load(hn_served *model, hn_failure *why);
/* On its clerk, held by nobody else: it is put away. False: others hold it. */
bool hn_served_unload(hn_served *model, hn_failure *why);
/* The SHA-256 of its weights, zeros if it was never loaded, and the bytes of its files. */
int64_t hn_served_about(hn_served *model, char weights[65]);
/* What it is at the moment. */
hn_served_state hn_served_now(hn_served *model, hn_lm_scheduler_counts *counts_or_null);

/* If it is not loaded: its file may be another than before. */
void hn_served_forget(hn_served *model);

/* Its embedder, on its smith, held. */
bool hn_served_embedder(hn_served *model, hn_lm_embedder **out, hn_failure *why);

/* What it is made of is not there any more: it is loaded anew when nobody holds it but who asks for it next. */
void hn_served_is_broken(hn_served *model);

/* By its name, or another that it has; NULL: there is none. */
hn_served *hn_shelf_model(const hn_shelf *shelf, const char *name, size_t n);
/* What "NAME" or "NAME:adapter" is another name by; NULL: it is a model's own. */
const hn_alias *hn_shelf_alias(const hn_shelf *shelf, const char *name);
/* Whether a model or an adapter may be called so: it has no blank, ':', '=' or quote. */
bool hn_shelf_is_name(const char *name);

#endif
