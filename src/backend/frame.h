/* frame.h: what differs from run to run in a program's calls on one device, as words in that device's memory.
 *
 *     the error word     launch 0                                        launch 1
 *     fault, evidence  | in 0: address, dims, strides | in 1 .. | out 0 .. | in 0 ..
 *
 * A device with memory of its own gets its calls once, when they are compiled; extents, and addresses of what was bound
 * anew, come by write, in order with its work, and only when they differ from what the last run left there. So one
 * capture serves every length, and the host may change its own tables as soon as it has submitted. Devices that have
 * the host's memory read the calls themselves: of a frame they have the error word alone, which the device writes and the
 * host reads when all is done. */
#ifndef HN_BACKEND_FRAME_H
#define HN_BACKEND_FRAME_H

#include "backend/backend.h"

/* Operands in order, those that are there: the address (of one that the op reads or writes), then dims, then strides in
 * bytes, as many of either as the operand has axes. Element type, rank and layout are those of the compiled call. */
size_t hn_frame_words(const hn_call *call);
/* For a device that takes calls as the CPU does: the operands' dims, strides and addresses from `words`. */
void hn_frame_read(const int64_t *words, const hn_call *call, hn_tensor in[HN_MAX_IN], hn_tensor out[HN_MAX_OUT]);

/* ---- for programs ---- */

typedef struct hn_frame {
    hn_heap *heap;
    hn_launch *launches;
    int n;
    hn_buffer memory;
    hn_fault *fault; /* the device's address; what the launches' checks look at has room behind it */
    size_t evidence;
    int64_t *words; /* the host's: what stands in the device's memory, if it is written */
    size_t n_words;
    bool is_written;
    bool is_doubtful; /* something may stand in the fault, of a run before */
} hn_frame;

/* What one takes of the device's memory, and of the host's, which is all where the device has no other. */
typedef struct hn_frame_bytes {
    size_t of_device, of_host;
} hn_frame_bytes;
hn_frame_bytes hn_frame_measure(const hn_plan *plan, int device);
/* Memory on the device, and where in it each launch finds its words. */
hn_status hn_frame_new(hn_frame *frame, hn_heap *heap, hn_device *device, hn_launch *launches, int n);
void hn_frame_free(hn_frame *frame);
/* Takes the calls as they are now. */
void hn_frame_set(hn_frame *frame);
/* Before a run: writes them, unless they stand there, and clears the fault. */
hn_status hn_frame_send(hn_frame *frame);
/* After all is done: what the device says of the run, and in words what that means (fault.h). */
hn_status hn_frame_fault(hn_frame *frame, hn_fault *out);
hn_status hn_frame_say(const hn_frame *frame, const hn_fault *fault);

#endif
