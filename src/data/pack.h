/* pack.h: sequences, one after the other, as a micro-batch: never padded, never reordered.
 *
 * Row t holds a token, its place in its own sequence, the number of its segment, and the label:
 * the token after it in the same sequence, with that token's weight. What is not supervised,
 * and the last of a sequence, has no label and weight 0, so that no loss computes it. */
#ifndef HN_DATA_PACK_H
#define HN_DATA_PACK_H

#include "data/example.h"

enum { HN_NO_LABEL = -100 }; /* what the losses ignore unless told otherwise */

typedef struct hn_pack {
    hn_heap *heap;
    int32_t *ids, *labels, *positions, *segments;
    float *weights;
    size_t n, room;
    size_t n_segments, n_supervised;
} hn_pack;

hn_pack hn_pack_on(hn_heap *heap); /* allocates nothing */
void hn_pack_free(hn_pack *pack);
void hn_pack_clear(hn_pack *pack); /* keeps its room */
/* Room for so many tokens, which never moves while there are no more. */
hn_status hn_pack_reserve(hn_pack *pack, size_t tokens);

hn_status hn_pack_add(hn_pack *pack, const hn_sample *sample);
/* Both sequences of a pair, chosen first. */
hn_status hn_pack_add_example(hn_pack *pack, const hn_example *example);

/* Where the micro-batch that begins with example `from` ends: as many as fit `limit` tokens. A
 * pair is one example, and so is never cut. HN_ERR_ARGUMENT if the first does not fit. */
hn_status hn_pack_run(const uint32_t *tokens, size_t n, size_t from, size_t limit, size_t *end);

#endif
