/* fault.h: the words for what a device refused, which only its own memory can tell.
 *
 *     the device's memory         the host, when all is done
 *     | kind launch row .. |  ->  which step that was
 *     | evidence           |  ->  the op's check over the same bytes, and its words
 *
 * A device writes numbers: the first call that it refused, and with ids, spans and counts all that the op's check looks at, for what is
 * copied from elsewhere may lie in their place when somebody reads. The host has the words, which name ops, tensors and bounds. */
#ifndef HN_BACKEND_FAULT_H
#define HN_BACKEND_FAULT_H

#include "backend/backend.h"

typedef enum hn_fault_kind {
    HN_FAULT_NONE,
    HN_FAULT_VALUES,  /* hn_op.check fails: its inputs lie behind the fault */
    HN_FAULT_ROW,     /* hn_op.finite: an element of it is no number */
    HN_FAULT_STOPPED, /* cancelled: this call and those behind it were not made */
} hn_fault_kind;

/* What the checks of a call look at, one input behind the other, each at a multiple of eight bytes. */
size_t hn_evidence_bytes(const hn_call *call);

/* ---- for devices whose calls this thread can look into, and that do one after the other ---- */

/* Whether the call may be made; if not, the fault says why and has the evidence. The rows of hn_op.finite are asked for only if
 * no kernel tells them as it reads. */
bool hn_launch_passes(const hn_launch *launch, bool with_rows, hn_fault *fault);
/* The first element from row `from` on that is no number; false: there is none. */
bool hn_launch_refuse_row(const hn_launch *launch, int64_t from, hn_fault *fault);
void hn_launch_stop(const hn_launch *launch, hn_fault *fault);

/* ---- for programs ---- */

/* The value of the host's that `value` is a copy of: what the host wrote, or a view of it; HN_NO_VALUE: a device made it. */
int hn_written_by_host(const hn_plan *plan, int value);
/* Whether the host wrote all that the step's check looks at: then it checks, before anything runs. */
bool hn_host_checks(const hn_plan *plan, const hn_step *step);

/* hn_op.check of a launch whose inputs the host has; its words begin with the step. */
hn_status hn_launch_check(const hn_launch *launch);
/* The fault in words: never HN_OK. `evidence` is the host's; of the call types alone are looked at. */
hn_status hn_fault_say(const hn_fault *fault, const hn_launch *launch, const void *evidence);

#endif
