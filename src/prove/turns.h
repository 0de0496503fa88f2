/* turns.h: the sides of an op's kinks on which its inputs lie, and whether they are still there. At a kink the slope
 * jumps: between two sides no difference is a slope, and f32 that comes to the other side has another gradient. */
#ifndef HN_PROVE_TURNS_H
#define HN_PROVE_TURNS_H

#include "graph/op.h"

/* How many sides the call has to tell, of its first input, or of its first two beside each other; 0: its op has no kinks. */
size_t hn_turns_count(const hn_call *call);

/* Writes them down. */
void hn_turns_keep(const hn_call *call, uint8_t *sides);

/* Whether any is another than was written down. */
bool hn_turns_moved(const hn_call *call, const uint8_t *sides);

#endif
