/* backend.h: what a device must do to run a program.
 *
 * A device is a queue and memory. What is submitted to it happens in the order of submission, now or
 * later: calls, copies into its memory and out of it, fills. The host waits for it in `reach` and in `wait`, and nowhere
 * else. Queues wait for each other by events, which is no wait of the host's:
 *
 *     one device       calls  calls  [record]  copy out of it
 *     another                              `-> [await]  calls
 *
 * A backend never sees the graph being built, never allocates while a program runs, and never calls
 * back up. Every field is required: a device that cannot do one fails it with HN_ERR_UNSUPPORTED.
 *
 * Addresses are the device's own, and nothing but the device looks at them. Some devices have the host's
 * memory (hn_device_is_host): what is theirs can be read and bound where it lies. */
#ifndef HN_BACKEND_BACKEND_H
#define HN_BACKEND_BACKEND_H

#include "base/cancel.h"
#include "base/isa.h"
#include "graph/layout.h"
#include "graph/plan.h"

typedef struct hn_backend hn_backend;

/* One opened device; a backend's own struct begins with it. */
typedef struct hn_device {
    const hn_backend *backend;
    hn_heap *heap;
    char name[24];
    int n_threads;
    /* The device that does what this one cannot, in the host's memory: itself, where that is its own. */
    struct hn_device *host;
    bool is_spare;            /* the host of another, opened with it */
    _Atomic uint64_t n_calls; /* of graphs that any thread submitted to it: a copy is none */
} hn_device;

static inline bool hn_device_is_host(const hn_device *device)
{
    return device->host == device;
}

/* Memory on a device. `data` is an address of that device. */
typedef struct hn_buffer {
    hn_device *device;
    void *data;
    size_t bytes;
} hn_buffer;

typedef struct hn_device_options {
    const char *name; /* NULL: the backend's */
    int n_threads;    /* 0: one for each processor */
    const char *isa;  /* NULL: the best there is */
    /* It stands beside devices with queues of their own: one whose queue would be the thread that calls has a thread for
     * it (queue.h), for nobody else may wait for what that thread waits for. */
    bool beside_others;
} hn_device_options;

/* A place in a device's queue, by value: all that was submitted before it was recorded. It belongs to nobody, and is
 * told again any number of times. Of no device: reached when it was recorded, by a device that does everything at once. */
typedef struct hn_event {
    hn_device *device;
    uint64_t number; /* the device's own */
} hn_event;

/* One call of a program on its device. */
typedef struct hn_launch {
    /* When it is compiled: types at their upper bounds, no addresses. When it is submitted those of that run, for a device
     * that has the host's memory; any other takes them from its frame, for the host goes on. */
    const hn_call *call;
    const void *frame;     /* the device's address of this launch's words (frame.h); NULL where the host's memory is its own */
    const hn_apply *apply; /* for messages; NULL: a copy that the planner put there */
    const void *binding;   /* the backend's own, from `compile` to `discard` */
    void *scratch;         /* shared bytes first, then each thread's */
    size_t shared_scratch, thread_scratch;
    int number;  /* among its program's on this device */
    bool checks; /* the op's `check` is the device's to make: it, or the host, made what it looks at */
} hn_launch;

/* The error word: what one device says of one run of a program, in memory of its own, where nobody waits for it (fault.h).
 * The first stays, and calls behind it are left out; other programs' work lies in the same queue, and goes on. */
typedef struct hn_fault {
    int64_t kind;         /* hn_fault_kind; 0: nothing is wrong */
    int64_t launch;       /* hn_launch.number */
    int64_t row, element; /* HN_FAULT_ROW: the first that is no number */
    double value;
} hn_fault;

/* A stretch of calls without a copy from another device between them. */
typedef struct hn_submission {
    hn_launch *at;
    int n;
    const hn_cancel_flag *cancel; /* looked at between calls; NULL: never */
    hn_fault *fault;          /* the device's address; evidence (fault.h) lies behind it */
} hn_submission;

struct hn_backend {
    const char *name; /* "cpu" */
    const char *summary;
    bool gives_cpu_bits; /* of every op, in all numerics: the promise that `hone prove --device` holds it to */

    hn_status (*open)(hn_device **out, hn_heap *heap, const hn_device_options *options);
    void (*close)(hn_device *device);

    /* Bytes that may still be taken of the device's memory; SIZE_MAX: nobody knows a bound. Of a host's memory what
     * the machine has, whichever of its devices is asked. */
    size_t (*available)(const hn_device *device);
    /* Memory: zeroed when new. */
    hn_status (*buffer_new)(hn_device *device, hn_tag tag, size_t bytes, hn_buffer *out);
    void (*buffer_free)(hn_buffer *buffer);
    hn_status (*fill)(hn_device *device, void *at, int byte, size_t bytes);
    /* From the host's memory, which is the caller's again when it returns. */
    hn_status (*write)(hn_device *device, void *to, const void *from, size_t bytes);
    /* From the host's memory, and into it, when their turn has come: it is theirs until an event that is recorded
     * behind them is reached. */
    hn_status (*send)(hn_device *device, void *to, const void *from, size_t bytes);
    hn_status (*fetch)(hn_device *device, void *to, const void *from, size_t bytes);
    /* Plain rows, in memory of the host's, into the layout of `type`, whose bytes are told (hn_layout.pack); done when it
     * returns. A device that has the host's memory packs every backend's: weights that are streamed lie there. */
    hn_status (*pack)(hn_device *device, const hn_type *type, void *to, const hn_plain_rows *from);
    /* From this or another device of this backend, in the order of `device`: events order it with the source's. */
    hn_status (*copy)(hn_device *device, void *to, hn_device *source, const void *from,
                      size_t bytes);

    /* All that was submitted by now. */
    void (*record)(hn_device *device, hn_event *out);
    /* Returns when the event, of a device of this backend's, is reached, on whichever thread: another backend's too. */
    void (*reach)(const hn_event *event);
    /* What is submitted from here on begins when the event is reached, which may be any backend's: it has `reach` for a
     * queue that knows no better. The host goes on. */
    hn_status (*await)(hn_device *device, const hn_event *event);

    /* Asked while planning, never while running. */
    void (*supports)(const hn_device *device, const hn_call *call, hn_support *out);
    /* The layouts of weights that its kernels read, beside plain rows; NULL after the last. */
    const hn_layout *const *layouts;
    /* The one of them that the device likes matrices of this element type and rank in, which it takes; NULL: plain rows. */
    const hn_layout *(*prefers)(const hn_device *device, hn_dtype dtype, int rank);
    /* Kernels for all calls of a program on this device, in their order, once: what a run changes is in their frames;
     * `discard` before they go. */
    hn_status (*compile)(hn_device *device, hn_launch *launches, int n);
    void (*discard)(hn_device *device, hn_launch *launches, int n);

    /* What is refused, or cancelled, stands in the submission's fault when its turn has come. What was written, filled or
     * copied is done all the same. Of a device that is broken `submit` and `wait` say so. */
    hn_status (*submit)(hn_device *device, const hn_submission *stretch);
    hn_status (*wait)(hn_device *device);

    /* For tests: units of work one by one in another order; 0 ends it. Nothing, without such units. */
    void (*shuffle)(hn_device *device, uint64_t seed);

    /* One line for `hone devices`. */
    void (*describe)(const hn_device *device, char *text, size_t bytes);
};

/* Out of a device's memory, and there when it returns. */
hn_status hn_device_read(hn_device *device, void *to, const void *from, size_t bytes);

/* Host memory that copies between two backends go through, one after the other. */
typedef struct hn_stage {
    void *at;
    hn_event used; /* the last of them has left it */
} hn_stage;

/* From any device to any other, after all that was submitted to both, and before all that will be. No host waits, but for
 * a device that stands beside none. `stage` holds `bytes`; nobody needs one where hn_copy_stages is false. It goes when all
 * devices were waited for. */
bool hn_copy_stages(const hn_device *to, const hn_device *from);
hn_status hn_device_copy(hn_device *to, void *at, hn_device *source, const void *from, size_t bytes,
                         hn_stage *stage);

/* Every backend built in, from 0, then one that a program added; NULL after the last. */
const hn_backend *hn_backend_at(int index);
const hn_backend *hn_backend_find(const char *name);
/* Whether a device of it may be what is opened where "cpu" is asked for (hn_device_open). */
bool hn_backend_is_cpu(const hn_backend *backend);
/* Of any backend; "plain" is NULL. */
hn_status hn_layout_find(const char *name, const hn_layout **out);
/* For a test program, before it opens a device: one more backend, and the devices that are opened where
 * "cpu" is asked for (NULL: that one). */
void hn_backend_add(const hn_backend *backend, const char *instead_of_cpu);

/* A device as the planner sees it. */
hn_target hn_device_target(const hn_device *device);

/* "cpu" or "cpu,cpu": opens devices, named cpu, cpu1 ... On failure none is left open. */
hn_status hn_devices_open(hn_heap *heap, const char *names, const hn_device_options *options,
                          int *n, hn_device *devices[HN_MAX_DEVICES]);
/* Somebody writes the inputs, and does what a device has no kernel for: adds the host of the first device, unless
 * one of them has the host's memory. */
hn_status hn_devices_add_host(int *n, hn_device *devices[HN_MAX_DEVICES]);
void hn_devices_close(int n, hn_device *const *devices);
/* One device of what "cpu" stands for: the one at `index`, counted on from the first again after the last. */
hn_status hn_device_open(hn_device **out, hn_heap *heap, int index, const hn_device_options *options);
/* For a backend whose devices have memory of their own: the host of one that is opened with these options, to be closed with it. */
hn_status hn_device_open_spare(hn_device **out, hn_heap *heap, const hn_device_options *of);

#endif
