/* merge.h: byte-pair encoding: the neighbours of least rank become one, the leftmost first of
 * equal ones, until no two go together. */
#ifndef HN_TEXT_TOKENIZER_MERGE_H
#define HN_TEXT_TOKENIZER_MERGE_H

#include "text/tokenizer/vocab.h"

typedef struct hn_pair {
    uint64_t key; /* left << 32 | right, + 1; 0: free */
    uint32_t rank;
    int32_t id; /* what they become */
} hn_pair;

typedef struct hn_merges {
    const hn_vocab *vocab;
    hn_pair *pairs; /* NULL: two go together if their joined bytes are a piece with a rank */
    uint32_t mask, n;
    const uint32_t *rank; /* without pairs: by id; UINT32_MAX: not made by merging */
} hn_merges;

hn_status hn_merges_new(hn_heap *heap, const hn_vocab *vocab, uint64_t n, hn_merges *out);
void hn_merges_free(hn_heap *heap, hn_merges *merges);
/* A pair given twice keeps the last rank, as `tokenizers` does. */
void hn_merges_add(hn_merges *merges, int32_t left, int32_t right, uint32_t rank, int32_t id);

typedef struct hn_symbol {
    int32_t id; /* -1: bytes that are no token yet */
    uint32_t begin, end;
    uint32_t next; /* symbol, or UINT32_MAX */
    uint32_t previous;
} hn_symbol;

typedef struct hn_merger {
    hn_symbol *symbols;
    size_t n, room;
    struct hn_candidate *heap;
    size_t n_heap, heap_room;
} hn_merger;

void hn_merger_free(hn_heap *heap, hn_merger *m);
hn_status hn_merger_add(hn_heap *heap, hn_merger *m, int32_t id, size_t begin, size_t end);
/* What is left hangs together by `next`, from symbol 0 on. `text` is what begin and end count.
 */
hn_status hn_merger_run(hn_heap *heap, hn_merger *m, const hn_merges *merges,
                        const uint8_t *text);

#endif
