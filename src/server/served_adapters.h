/* served_adapters.h: adapters of requests, which come and go while others are answered.
 *
 *     clerk    loads the model, reads the file's digest
 *     runner   between two steps: tries it, places it in the batch, lists it; the one whose place it takes is found no more,
 *              and leaves the batch when the last request that has it has been answered
 *
 * A batch has room for so many; of those that nobody has, the one longest not asked for gives way to one that is asked for. */
#ifndef HN_SERVER_SERVED_ADAPTERS_H
#define HN_SERVER_SERVED_ADAPTERS_H

#include "server/contract.h"
#include "server/served.h"

enum { HN_MOST_SERVED_ADAPTERS = 256 }; /* of a model */

struct hn_served_adapter {
    hn_served_adapter *next;
    char name[HN_ADAPTER_NAME];
    double scale;
    uint64_t owner; /* hn_key.owner: whose it is, and nobody else finds it; 0: everybody's */

    bool is_listed; /* these three by the shelf's lock */
    int64_t held;
    int64_t last_asked;

    int32_t number;    /* these, of the thread that has the batch: as the batch has it; -1: it has not */
    char digest[65];   /* of its file, as it was taken */
    hn_contract contract; /* of the same, written by the shelf's lock */
    char path[];
};

/* "NAME=FILE" or "MODEL:NAME=FILE", with ":SCALE" after it if wanted. Before anything is served. */
hn_status hn_shelf_add_adapter(hn_shelf *shelf, const char *word);
/* "FOLDER" or "MODEL:FOLDER", with its adapters, each NAME.gguf. Before anything is served; the text outlives the shelf. */
hn_status hn_shelf_add_folder(hn_shelf *shelf, const char *word);

typedef struct hn_adapter_order {
    const char *model; /* NULL: the first */
    const char *name, *path;
    double scale;   /* 0: 1 */
    uint64_t owner; /* hn_key.owner: for whom; 0: for everybody */
    bool is_new;    /* refused where he has one of this name; otherwise it takes that one's place */
} hn_adapter_order;

/* Loads the model if it is not loaded, holds the adapter to its contract, and has it found from here on. Who was found with one
 * that is replaced keeps it, and nothing that was computed with that one is used for this. After a refusal all is as before.
 * Waits; for any thread but the desk's and a model's, between hn_server_open and hn_server_close. Nothing of the order is kept. */
bool hn_shelf_take_adapter(hn_shelf *shelf, const hn_adapter_order *o, hn_failure *why);
/* It is found no more; who has it keeps it. The same threads. HN_REFUSED_NO_MODEL: he has none of this name. */
bool hn_shelf_drop_adapter(hn_shelf *shelf, const char *model_or_null, const char *name, uint64_t owner, hn_failure *why);
/* The same for a model that is held, on its clerk. */
bool hn_served_take_adapter(hn_served *model, const hn_adapter_order *o, hn_failure *why);
bool hn_served_drop_adapter(hn_served *model, const char *name, uint64_t owner, hn_failure *why);
/* Taken as it was before: a model that is not loaded is not loaded for it. */
bool hn_served_retake_adapter(hn_served *model, const hn_adapter_order *o, hn_failure *why);
/* By the order, in no list. */
hn_status hn_adapter_new(hn_served *model, const hn_adapter_order *o, hn_served_adapter **out);
/* Files that are others than they were when they were taken are taken anew, and a folder's that are new; what a folder no longer
 * has is dropped. Each is told of in a sentence; of those that cannot be taken the old ones stay. The same threads. */
void hn_shelf_reload(hn_shelf *shelf, void (*tell)(void *context, const char *sentence), void *context);

/* The name of the i-th that `asker` finds; false: there are no more. */
bool hn_served_adapter_name(hn_served *model, uint64_t asker, int32_t i, char name[HN_ADAPTER_NAME]);
/* By the shelf's lock: his own of this name, or everybody's; NULL: neither. */
hn_served_adapter *hn_served_adapter_of(const hn_served *model, const char *name, uint64_t asker);
/* `contract` of what is told of a model: null of one that was not tried yet, its model being away. Nothing where he finds none of this name. */
void hn_served_adapter_tell(hn_served *model, const char *name, uint64_t asker, hn_json_writer *w);
void hn_adapter_let_go(hn_served *model, hn_served_adapter *adapter_or_null);
/* On the runner: the batch has it, if need be in the place of one that nobody has and that was longest not asked for. */
hn_status hn_adapter_ready(hn_served *model, hn_served_adapter *adapter);
/* On the clerk, before the model is there: what the batch begins with; and how many it is to have room for. */
hn_status hn_adapters_place(hn_served *model);
int64_t hn_adapters_room(const hn_served *model);
/* On the runner: those that are replaced or dropped, and that nobody has, leave the batch. */
void hn_adapters_sweep(hn_served *model);
/* The batch is gone. */
void hn_adapters_leave(hn_served *model);
void hn_adapters_free(hn_served *model);

#endif
