/* pool.h: threads that share the units of one job at a time.
 *
 * A job cannot fail and a run allocates nothing. Which thread gets which units is not defined
 * and must not be seen in the result; `thread` is only for choosing scratch memory. */
#ifndef HN_BASE_POOL_H
#define HN_BASE_POOL_H

#include "base/heap.h"

typedef struct hn_pool hn_pool;

/* Computes units [begin, end). `thread` is in [0, n_threads): no two of a run share it at the same time. */
typedef void hn_pool_job(void *context, int64_t begin, int64_t end, int thread);

enum { HN_POOL_MAX_THREADS = 256 };

/* n_threads counts the caller; 0 means one for each processor that is online. The heap must
 * live as long as the pool. */
hn_status hn_pool_new(hn_heap *heap, int n_threads, hn_pool **out);
void hn_pool_free(hn_pool *pool); /* takes NULL; in a child of fork too, which may not run it */
int hn_pool_threads(const hn_pool *pool);

/* Runs the job over [0, n_units) and returns when all of it is done. The caller works as thread
 * 0. No thread is given fewer than `min_units_per_chunk` units at a time, save the last; a job
 * of no more than that stays with the caller. Every thread computes in hone's floating-point
 * state. Callers on several threads take turns, job by job, but for jobs that stay with them; none may come from inside a job. */
void hn_pool_run(hn_pool *pool, int64_t n_units, int64_t min_units_per_chunk, hn_pool_job *job,
                 void *context);

/* What runs to come will read from its beginning to its end, unit after unit: threads that have nothing to do ask memory for the
 * beginning of their shares, until they are told of something else. Nothing is read, and it need not be there. */
void hn_pool_will_read(hn_pool *pool, const void *from, size_t bytes);

/* For tests: each unit becomes a chunk of its own, handed out in an order made from the seed.
 * 0 ends it. */
void hn_pool_set_shuffle(hn_pool *pool, uint64_t seed);

#endif
