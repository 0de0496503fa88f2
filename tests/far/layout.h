/* layout.h: far's own layout of weights, which nothing else reads: what takes it for plain rows, or for panels, finds none of
 * its numbers. A matrix begins with bytes that mean nothing; then come its rows, the last one first, every bit of them
 * turned over. Far's kernels are the CPU's: they get plain rows of it when their turn has come. */
#ifndef TESTS_FAR_LAYOUT_H
#define TESTS_FAR_LAYOUT_H

#include "graph/layout.h"
#include "graph/op.h"

/* Its own, and that of its kernels; NULL after them. */
extern const hn_layout *const far_layouts[];
/* By HN_FAR_LAYOUT: what the far of this number likes. */
const hn_layout *far_preferred(int number, hn_dtype dtype, int rank);

/* `call` as the kernels see it: what it reads in far's layout in plain rows, which `in` holds; without addresses, where there
 * are none. Which inputs these are. */
unsigned far_shown(const hn_call *call, hn_tensor in[HN_MAX_IN], hn_call *shown);
void far_shown_free(unsigned packed, const hn_tensor in[HN_MAX_IN]);

#endif
