/* heap.h: all memory of one engine. It counts by tag, can be capped and can be made to fail.
 *
 * Blocks are aligned to 64 bytes and come zeroed. Every function is safe from any thread.
 * Two engines have two heaps: nothing here is global. */
#ifndef HN_BASE_HEAP_H
#define HN_BASE_HEAP_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HN_TAG_LIST(X)                                                                         \
    X(GRAPH, "graph")                                                                          \
    X(PLAN, "plan")                                                                            \
    X(WORKSPACE, "workspace")                                                                  \
    X(STATE, "state")                                                                          \
    X(WEIGHT, "weight")                                                                        \
    X(DEVICE, "device")                                                                        \
    X(TEXT, "text")                                                                            \
    X(FILE, "file")                                                                            \
    X(PROVE, "prove")

typedef enum hn_tag {
#define HN_TAG_ENUM(name, text) HN_TAG_##name,
    HN_TAG_LIST(HN_TAG_ENUM)
#undef HN_TAG_ENUM
        HN_N_TAGS
} hn_tag;

/* A host's own allocator. `release` gets the size it was asked for. */
typedef struct hn_heap_hook {
    void *(*acquire)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *block, size_t bytes);
    void *context;
    bool is_zeroed; /* what `acquire` gives is zero already */
} hn_heap_hook;

/* Whose memory it is says as well what may be touched of the process for it, because all that is opened has one. */
typedef struct hn_heap {
    hn_heap_hook hook;       /* acquire == NULL: the C library's */
    _Atomic size_t limit_bytes; /* 0: none; a run changes it while threads of it allocate */
    _Atomic int64_t fail_at; /* the allocation with this number fails (from 1); 0: none */
    _Atomic int64_t n_calls; /* allocations asked for so far */
    _Atomic int64_t live_blocks;
    _Atomic int64_t live_bytes;
    _Atomic int64_t peak_bytes;
    _Atomic int64_t tag_bytes[HN_N_TAGS];
    bool reads_files;  /* files are read into it instead of mapped: no handler of signals (map_file.h) */
    bool asks_nothing; /* of the system, but what it has given already (isa.h) */
} hn_heap;

void hn_heap_init(hn_heap *heap, const hn_heap_hook *hook_or_null);

/* NULL and a message on failure; `bytes` may be 0. */
void *hn_alloc(hn_heap *heap, hn_tag tag, size_t bytes);
void *hn_alloc_array(hn_heap *heap, hn_tag tag, size_t n, size_t size);
/* Grows; the new part is zero; on failure NULL, and the old block is as before. */
void *hn_realloc_array(hn_heap *heap, hn_tag tag, void *block, size_t n, size_t size);
char *hn_strdup(hn_heap *heap, hn_tag tag, const char *text);
void hn_free(hn_heap *heap, void *block); /* takes NULL */

const char *hn_tag_text(hn_tag tag);

/* What a sentence begins with, behind what it is of, where a heap has refused: HN_ERR_MEMORY is also what is said of plans that
 * are larger than they may be. */
#define HN_HEAP_REFUSED "out of memory"
bool hn_heap_has_refused(const char *sentence);

#endif
