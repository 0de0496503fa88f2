/* beginnings.h: what is kept of what was computed, as a tree: a node is a block of 64 ids after all that are before it.
 *
 *     alice, no adapter   [ids 0-63]---[64-127]---[128-191]     one request went this way,
 *                                  \---[64-127]---[128-191]     another this: what both begin with is there once
 *     bob, no adapter     [ids 0-63]                            the same ids, and another's node
 *
 * A node is found by its parent, by whose it is, and by its ids, which are compared, never only hashed: all ids before it are those
 * of the way to it. Three things hold between calls:
 *
 *     used     a list of all, the last used first. Who is used goes to its front, then its parent, up to the top: a parent stands
 *              before its children, so the last of the list has none
 *     held     by each request that runs, on the deepest node that it knows. Who is held or has children stays
 *     n        at most as many as there may be; all are allocated at once, and none later
 *
 * What a node keeps of the keys is its owner's: it is told of each that leaves. Used by one thread at a time. */
#ifndef HN_ENGINE_BEGINNINGS_H
#define HN_ENGINE_BEGINNINGS_H

#include "base/heap.h"
#include "infer/sequences.h"

enum { HN_BEGINNING_IDS = 64, HN_NO_BEGINNING = -1 };

typedef struct hn_whose {
    uint64_t owner;
    int32_t adapter; /* -1: none */
} hn_whose;

typedef struct hn_beginning {
    hn_whose whose;
    uint64_t hash;
    int32_t parent;          /* HN_NO_BEGINNING: its ids are the first */
    int32_t depth;           /* blocks to its end: its parent's and one */
    int32_t n_children, n_holds;
    int32_t newer, older;    /* in the order of use */
    int32_t next;            /* of those with its hash's place, or of the free ones */
    hn_lent_keys keys;
    int32_t ids[HN_BEGINNING_IDS];
} hn_beginning;

typedef struct hn_beginnings {
    hn_heap *heap;
    hn_beginning *at;      /* [most] */
    int32_t *places;       /* [n_places], the first node of each; a power of two, or 0 */
    int32_t most, n, n_places, free, newest, oldest;
    void (*on_leave)(void *context, hn_beginning *leaving); /* its parents are still there */
    void *context;
} hn_beginnings;

/* At most `most`; 0: none is ever kept. */
hn_status hn_beginnings_new(hn_beginnings *all, hn_heap *heap, int32_t most, void (*on_leave)(void *context, hn_beginning *leaving),
                            void *context);
/* All leave: nobody holds one any more. Takes a zeroed one. */
void hn_beginnings_free(hn_beginnings *all);

/* The block of these 64 ids after `parent`; HN_NO_BEGINNING: it is not there. */
int32_t hn_beginnings_child(const hn_beginnings *all, hn_whose whose, int32_t parent, const int32_t *ids);
/* The last block of the longest way that the first n ids go, whole blocks of them. */
int32_t hn_beginnings_find(const hn_beginnings *all, hn_whose whose, const int32_t *ids, int64_t n);
/* One more, which was not there; it is the last used. HN_NO_BEGINNING: as many are there as may be. */
int32_t hn_beginnings_add(hn_beginnings *all, hn_whose whose, int32_t parent, const int32_t *ids, const hn_lent_keys *keys);

/* These take HN_NO_BEGINNING. */
void hn_beginnings_use(hn_beginnings *all, int32_t node);
void hn_beginnings_hold(hn_beginnings *all, int32_t node);
void hn_beginnings_let_go(hn_beginnings *all, int32_t node);

/* The one leaves that was longest not used, of those that may: nobody holds them, nothing comes after them, and `may` (NULL: any)
 * says so. false: there is none. */
bool hn_beginnings_evict(hn_beginnings *all, bool (*may)(const void *context, const hn_beginning *node), const void *context);
/* All that nobody holds leave, of this adapter; NULL: of any. */
void hn_beginnings_drop(hn_beginnings *all, const int32_t *adapter);

#endif
