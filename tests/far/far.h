/* far.h: a device that is as unlike the host as one can be without a card, for tests.
 *
 * Its kernels are the CPU's. Its memory has addresses at which the host finds nothing: a touch ends the
 * process with the place. Its work is done by a thread, in order but as late as it can be: half of what is
 * submitted lies there until somebody waits. It captures calls when they are compiled, and looks at nothing of the host's
 * again: lengths and addresses of a run are what its own memory holds when their turn comes. It prefers the layout of weights that it is told to, and does
 * not run the ops that it is told not to. */
#ifndef TESTS_FAR_FAR_H
#define TESTS_FAR_FAR_H

#include "backend/backend.h"

extern const hn_backend hn_backend_far;

/* From the environment, and then for the whole process:
 *
 *     HN_TEST_DEVICES=far,far    what is opened where "cpu" is asked for
 *     HN_FAR_OFF=linear,add      ops that far does not run
 *     HN_FAR_WRONG=silu,add      ops whose first output has other last bits than the CPU's
 *     HN_FAR_LAYOUT=plain        the layout it prefers: plain, panel16 or own (layout.h), which it does where nothing is said; mixed:
 *                                one of these by element type, and no two neighbours alike
 *     HN_FAR_MEMORY=1000000,500  bytes of the first in a list of devices, the second ..; the last is all others'.
 *                                None are given beyond them; without it there is no bound
 *     HN_FAR_COUNTS=FILE         gets a line at the end: calls on far, on the host in its place, the most bytes that any
 *                                far had, how often the host was made a fence, calls that were captured, and the bytes that were read out of far
 *
 * Nothing without the first. */
void hn_far_install(void);
/* Calls that were captured so far, by all of far's devices. */
long long hn_far_captured(void);
/* How often a host's thread waited for something of a device where calls of its own were under way: in the middle of a step. */
long long hn_far_fenced(void);

#endif
