/* engine.h: what everything else is made on: memory, devices, cancellation, progress.
 *
 * Engines share nothing: two in one process cannot disturb each other. Nothing here aborts, exits or
 * prints.
 *
 * At each type stands who frees it, what it has to be freed before, and what threads may do with it.
 * Where it is used by one thread at a time, that may be another each time. What runs on one engine in
 * several threads takes turns at the engine's, and gives what it gives alone. What an object lends (a
 * text, an array, a struct by a const pointer) is its own, and lives as its function says.
 *
 * Whatever rounding mode, traps, precision or locale the calling thread has, the results are the same,
 * and it has them afterwards, flags included; callbacks find them as well. In a child of fork an
 * engine and what was made on it can be freed. What computes or opens is HN_ERR_UNSUPPORTED there; nothing else is to be called.
 *
 * Two things of the whole process are touched, unless hn_engine_options.leaves_process:
 *
 * SIGBUS, except on Windows. While a file is mapped (models, adapters), a handler of hone's finds the pages of
 * one that was cut meanwhile: they read as zeros, and the call that met them fails instead of the process. Faults of
 * other memory go to the handler that was there before, or end the process as without one. With the last file the
 * handler of before is put back. Who sets one meanwhile keeps it, and passes on what is not its own.
 *
 * AMX, on Linux, where the processor has it and hn_engine_options.isa does not leave it out: the kernel is asked once
 * for the right to its registers, and does not take it back. From then on a signal's frame is 8 KiB larger, and
 * sigaltstack refuses less than sysconf(_SC_MINSIGSTKSZ). Where a smaller one is set already, the kernel gives no right,
 * and hone computes without AMX. hn_engine_level asks as well. */
#ifndef HONE_ENGINE_H
#define HONE_ENGINE_H

#include "hone/status.h"
#include "hone/version.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The caller frees it, after all that was made on it. Any number of threads may use one, to make things on it and to run
 * them; hn_engine_on_progress and hn_engine_on_work are said while nothing runs, and what they name is called on the thread
 * that runs, so by several if several do. */
typedef struct hn_engine hn_engine;

/* All fields but the first may be zero. */
typedef struct hn_engine_options {
    size_t size;
    const char *devices;  /* "cpu", the default; "cpu,cpu" for two side by side */
    const char *isa;      /* levels of hn_engine_level, with + between: "avx512bf16+avxvnni"; default: all there are */
    size_t memory_limit;  /* bytes; beyond, allocations fail with HN_ERR_MEMORY; 0: none */
    int32_t n_threads;    /* of each device; 0: one for each processor */
    /* The host's allocator, both or neither; blocks must be aligned as asked. Called from any thread: on
     * those that entered hone in the host's own floating-point state and locale, on hone's own in the
     * default ones. */
    void *(*acquire)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *block, size_t bytes);
    void *allocator_context;
    const char *experts;  /* the device that a model's experts lie on: of the list by its name, or any backend's, as
                           * "cpu"; NULL: with their layer */
    int32_t fit;          /* not 0: each device takes as many layers of a model as its memory has room for, in the order
                           * of the list, for what is made first on it; 0: all the same number */
    int32_t stream;       /* not 0: the weights of layers stay in the host's memory, and are sent to devices with memory of
                           * their own ahead of their work; 0: they lie there, but for what `fit` finds no room for */
    int32_t leaves_process; /* not 0: nothing of the process is touched for this engine (above). Files are read into its memory,
                           * which memory_limit counts, instead of mapped, and AMX is used where the process has the right to
                           * it already */
} hn_engine_options;

HN_API hn_status hn_engine_new(hn_engine **out, const hn_engine_options *options_or_null);
HN_API void hn_engine_free(hn_engine *engine); /* takes NULL */

/* Asks whatever runs on the engine to stop: it fails with HN_ERR_CANCELLED at the next step, and
 * so does what is begun later, until hn_engine_resume. Updates of weights are never cut short.
 *
 * Every call that may last looks at it, between tensors, some thousand tokens of a vocabulary or words of a text, steps of
 * a grammar or a template, megabytes of a file: opening, adapters and their self-test, packing weights, plans, saving and
 * loading too. Then everything is as it was, and nothing half written is left; made again, the call gives what it gives.
 * What is over in a millisecond may not look at all. */
HN_API void hn_engine_cancel(hn_engine *engine);
HN_API void hn_engine_resume(hn_engine *engine);

/* Stops some of an engine's calls: those of the threads that heed it. Any thread may set and clear one; what is
 * set stays so. The caller frees it, before its engine, and when no thread heeds it any more. */
typedef struct hn_cancel hn_cancel;
HN_API hn_status hn_cancel_new(hn_cancel **out, hn_engine *engine);
HN_API void hn_cancel_free(hn_cancel *cancel); /* takes NULL */
/* What this thread begins on the cancel's engine from here on ends as hn_engine_cancel would end it, while that
 * or the cancel is set. A thread heeds one at a time; NULL: none any more. */
HN_API void hn_cancel_heed(const hn_cancel *cancel_or_null);
HN_API void hn_cancel_set(hn_cancel *cancel);
HN_API void hn_cancel_clear(hn_cancel *cancel);

/* Called between steps of long runs with the share done, on the thread that runs. */
typedef void hn_progress_fn(void *context, double done);
HN_API void hn_engine_on_progress(hn_engine *engine, hn_progress_fn *call, void *context);

/* The same for work on files and on texts, with what is at hand: a tensor's name, a count. `what` is the
 * caller's until the call returns. Shares of one call never go back. A header says of which calls it tells; each ends with
 * a share of 1 if it does well, and a text that is short is not told of. */
typedef void hn_work_fn(void *context, double done, const char *what);
HN_API void hn_engine_on_work(hn_engine *engine, hn_work_fn *call, void *context);

/* Bytes on the heap now, at most so far, and allocations so far. Any may be NULL. */
HN_API void hn_engine_memory(const hn_engine *engine, int64_t *live, int64_t *peak,
                             int64_t *allocations);

/* For tests of hosts: allocation number `nth` from now fails; 0 ends it. */
HN_API void hn_engine_fail_allocation(hn_engine *engine, int64_t nth);
/* The same of cancellation: look number `nth` from now at whether to stop, and each after it, finds hn_engine_cancel
 * said; 0 ends it. What is left of the number that was said before: -1 if that look was made. */
HN_API int64_t hn_engine_cancel_at(hn_engine *engine, int64_t nth);

#ifdef __cplusplus
}
#endif
#endif
