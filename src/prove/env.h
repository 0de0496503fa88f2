/* env.h: the devices that a proof compares, opened once. */
#ifndef HN_PROVE_ENV_H
#define HN_PROVE_ENV_H

#include "backend/backend.h"
#include "base/isa.h"
#include "prove/report.h"

enum { HN_MAX_VARIANTS = 8 };

typedef struct hn_prove_env {
    hn_heap *heap;
    hn_report *report;
    uint64_t seed;
    int64_t deadline_ns; /* 0: none */
    hn_device *one;      /* the best level, one thread: what all is compared with */
    hn_device *pair[2];  /* two devices side by side, the best level */
    int n_threads;       /* devices with 2, 3 ... threads */
    hn_device *threads[HN_MAX_VARIANTS];
    int n_levels; /* devices at weaker levels */
    hn_device *levels[HN_N_LEVELS + 1];
    int n_others; /* devices of other backends, the caller's: each is proved as `one` is, in an env of its own */
    hn_device *const *others;
    hn_device *beside; /* as `one`, with a queue of its own: what work is shared with where there is one other. NULL: there is none */
    hn_device *cpu; /* in such an env, the `one` of the first: what it is held to by bits, where it promises them. Else NULL */
    /* Reports progress; returns false to stop. */
    bool (*progress)(void *context, double done, const char *what);
    void *progress_context;
} hn_prove_env;

/* Opens up to `max_threads` threads (at least 2; also more than there are processors), at those of the levels `allowed` that
 * the host has. */
hn_status hn_prove_env_open(hn_prove_env *env, hn_heap *heap, hn_report *report, int max_threads, hn_isa allowed);
/* `ref`, and of the levels `allowed` each that the host has, with no more than it implies, one thread each: *n of them more. */
hn_status hn_prove_levels_open(hn_heap *heap, hn_isa allowed, hn_device *levels[HN_N_LEVELS + 1], int *n);
/* Those of the levels `allowed` that the host has, and the heap's owner may have. */
hn_status hn_prove_levels(const hn_heap *heap, hn_isa allowed, hn_isa *out);
void hn_prove_env_close(hn_prove_env *env);

/* Of others[i], which is `one` there; split work is its and the next other's, or the CPU's where there is none. What is noted
 * stands under "SUBJECT on NAME" until hn_prove_on_end. It borrows all that it has, and is not closed. */
hn_prove_env hn_prove_on_begin(const hn_prove_env *env, int i);
void hn_prove_on_end(const hn_prove_env *on);

bool hn_prove_is_late(const hn_prove_env *env);

#endif
