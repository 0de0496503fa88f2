/* backend.h: what a device must do to run a program.
 *
 * A backend owns memory and runs calls in the order they are submitted; it never sees the graph
 * being built, never allocates while a program runs, and never calls back up. Every function is
 * required: a device that cannot do one fails it with HN_ERR_UNSUPPORTED. */
#ifndef HN_BACKEND_BACKEND_H
#define HN_BACKEND_BACKEND_H

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
} hn_device;

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
} hn_device_options;

/* One step, resolved: types and addresses are those of this run. */
typedef struct hn_launch {
    const hn_call *call;
    const void *binding; /* what `bind` chose */
    void *scratch;       /* shared bytes first, then each thread's */
    size_t shared_scratch, thread_scratch;
} hn_launch;

struct hn_backend {
    const char *name; /* "cpu" */
    const char *summary;

    hn_status (*open)(hn_device **out, hn_heap *heap, const hn_device_options *options);
    void (*close)(hn_device *device);

    /* Memory: zeroed when new. Copies are ordered with submitted calls. */
    hn_status (*buffer_new)(hn_device *device, hn_tag tag, size_t bytes, hn_buffer *out);
    void (*buffer_free)(hn_buffer *buffer);
    hn_status (*fill)(hn_device *device, void *at, int byte, size_t bytes);
    hn_status (*upload)(hn_device *device, void *to, const void *from, size_t bytes);
    hn_status (*download)(hn_device *device, void *to, const void *from, size_t bytes);
    /* Plain rows, in memory of the caller's, into the layout of `type`; done when it returns. */
    hn_status (*pack)(hn_device *device, const hn_type *type, void *to, const hn_plain_rows *from);
    /* From another device's memory; `from` is ready when its device was waited for. */
    hn_status (*copy)(hn_device *device, void *to, hn_device *source, const void *from,
                      size_t bytes);

    /* Asked while planning, never while running. */
    void (*supports)(const hn_device *device, const hn_call *call, hn_support *out);
    /* Chooses the kernel of a call; what it returns is passed back in every launch. */
    const void *(*bind)(hn_device *device, const hn_call *call);

    /* Calls run in the order of submission; `wait` reports the first failure since the last. */
    hn_status (*submit)(hn_device *device, const hn_launch *launch);
    hn_status (*wait)(hn_device *device);

    /* One line for `hone devices`. */
    void (*describe)(const hn_device *device, char *text, size_t bytes);
};

/* Every backend built in; cpu is always last and always there; NULL ends it. */
extern const hn_backend *const hn_backends[];
const hn_backend *hn_backend_find(const char *name);

/* A device as the planner sees it. */
hn_target hn_device_target(const hn_device *device);

/* "cpu" or "cpu,cpu": opens devices, named cpu, cpu1 ... On failure none is left open. */
hn_status hn_devices_open(hn_heap *heap, const char *names, const hn_device_options *options,
                          int *n, hn_device *devices[HN_MAX_DEVICES]);
void hn_devices_close(int n, hn_device *const *devices);

#endif
