/* frame.h: what differs from run to run in a program's calls on one device, as words in that device's memory.
 *
 *     launch 0                                        launch 1
 *     | in 0: address, dims, strides | in 1 .. | out 0 .. | in 0 ..
 *
 * A device with memory of its own gets its calls once, when they are compiled; extents, and addresses of what was bound
 * anew, come by write, in order with its work, and only when they differ from what the last run left there. So one
 * capture serves every length, and the host may change its own tables as soon as it has submitted. Devices that have
 * the host's memory read the calls themselves and have no frame. */
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
    int64_t *words; /* the host's: what stands in the device's memory, if it is written */
    bool is_written;
} hn_frame;

/* What one takes of the device's memory, and as much of the host's. */
size_t hn_frame_bytes(const hn_plan *plan, int device);
/* Memory on the device, and where in it each launch finds its words. Nothing where the device has the host's memory. */
hn_status hn_frame_new(hn_frame *frame, hn_heap *heap, hn_device *device, hn_launch *launches, int n);
void hn_frame_free(hn_frame *frame);
/* Takes the calls as they are now. */
void hn_frame_set(hn_frame *frame);
/* Before a run: writes them, unless they stand there. */
hn_status hn_frame_send(hn_frame *frame);

#endif
