/* program.h: a verified plan with memory and kernels, ready to run any number of times. Made by
 * executable.h, which everybody else goes through.
 *
 * Compiled for upper bounds, it serves every smaller extent with the bits of an exact-size
 * compile. Nothing is allocated after hn_program_new, but for the host's copies of results that lie elsewhere. A program refers to its plan, its storage
 * and its devices, which must outlive it. One run at a time. */
#ifndef HN_BACKEND_PROGRAM_H
#define HN_BACKEND_PROGRAM_H

#include "backend/storage.h"
#include "graph/verify.h"

typedef struct hn_program hn_program;

typedef struct hn_run_options {
    const hn_cancel_flag *cancel; /* looked at between steps; NULL: never */
    /* Looks at every float output after its step, and stops at the first that is not finite,
     * naming it: for replaying a micro-batch that went wrong. */
    bool scan;
    void (*progress)(void *context, double done); /* between steps, on this thread; or NULL */
    void *progress_context;
    int64_t *step_ns;  /* n_steps entries: time of each step is added; or NULL */
} hn_run_options;

hn_status hn_program_new(hn_program **out, const hn_verified_plan *plan, hn_storage *storage,
                         int n_devices, hn_device *const *devices);
void hn_program_free(hn_program *program);
/* What making one takes besides the workspace. */
size_t hn_program_bytes(const hn_plan *plan);

/* The size of an extent in the runs that follow: 1 to its upper bound. */
hn_status hn_program_set_extent(hn_program *program, int extent, int64_t size);

/* Asks the graph's guard at its end: what failed has no results. */
hn_status hn_program_run(hn_program *program, const hn_run_options *options);

/* The wanted value number `index` after a run, in memory of the host's: where it lies, or a copy, made
 * when it is asked for. Lives until the next run. */
hn_status hn_program_result(hn_program *program, int index, hn_tensor *out);

/* Bytes of workspace written at least once by now, over all devices: what the plan's size is
 * checked against. Only known in poison mode; 0 otherwise. */
size_t hn_program_workspace(const hn_program *program, int device);

#endif
