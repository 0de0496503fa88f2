/* executable.h: the one way from a graph to something that runs.
 *
 *     graph --plan--> plans --verify--> verified plans --bytes--> numbers --make--> memory, programs
 *           hn_executable_plan                         hn_executable_bytes   hn_executable_make
 *
 * Any number of programs share one graph and the memory of its leaves. Planning takes memory for its
 * own lists alone, so that what a run would take is known, and compared, before any of it is asked
 * for. A plan that the verifier refuses goes no further. The graph and the devices outlive it. */
#ifndef HN_BACKEND_EXECUTABLE_H
#define HN_BACKEND_EXECUTABLE_H

#include "backend/program.h"

enum { HN_MAX_PROGRAMS = 4 };

typedef struct hn_executable hn_executable;

/* `g` is finished: leaves that it gets later have no memory here. */
hn_status hn_executable_new(hn_executable **out, const hn_graph *g, int n_devices,
                            hn_device *const *devices);
void hn_executable_free(hn_executable *x); /* takes NULL */

/* Plans and verifies the next program; they are numbered from 0. options->copy may be left out. */
hn_status hn_executable_plan(hn_executable *x, int n_wanted, hn_node *const *wanted,
                             const hn_plan_options *options);
const hn_plan *hn_executable_look(const hn_executable *x, int program);

typedef struct hn_executable_bytes {
    size_t workspace; /* of all programs on all devices */
    size_t sums, states, inputs;
    size_t weights; /* that are not bound yet, so that making would make them */
    size_t programs; /* tables of those that are planned and not made */
} hn_executable_bytes;
hn_executable_bytes hn_executable_measure(const hn_executable *x);

/* What one device takes, made or not. */
typedef struct hn_device_bytes {
    size_t weights;   /* mapped, uploaded or packed */
    size_t states;    /* caches, moments */
    size_t sums, inputs, workspace;
    size_t held;      /* of all this, what is there already */
} hn_device_bytes;
size_t hn_device_needs(const hn_device_bytes *bytes); /* to be taken yet */
/* Of several that stand beside each other on one model: a weight that more of them read counts once. */
hn_device_bytes hn_executables_on(int n, const hn_executable *const *all, const hn_device *device);

/* Whether a bound leaf is read where it was bound, by its own device or by the host in another's place; if not, devices
 * have copies, and pages of a file leave as they are made. */
bool hn_executable_reads_in_place(const hn_executable *x, const hn_leaf *leaf);

/* Leaves are bound to memory of the caller's before they are made. */
hn_storage *hn_executable_storage(const hn_executable *x);

/* Memory for every weight, state and sum that is not bound, and for the workspace; then the programs. */
hn_status hn_executable_make(hn_executable *x);
/* NULL before that; running it is refused then. */
hn_program *hn_executable_program(const hn_executable *x, int program);

#endif
