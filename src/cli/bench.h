/* bench.h: kernels measured against the machine's limits and against other libraries, all of it
 * interleaved, because a shared machine is a different one a second later.
 *
 * A race runs its contenders in turn, several times, and keeps the best time of each: what is
 * printed is a ratio of two of these. One thread is timed by its own processor time, so that other
 * programs disturb less; more threads by the wall clock. */
#ifndef HN_CLI_BENCH_H
#define HN_CLI_BENCH_H

#include "kernels/families.h"
#include "base/json.h"
#include "base/pool.h"
#include "cli/bench_gate.h"
#include "kernels/peak/peak.h"

#include <stdio.h>

enum { HN_BENCH_PEERS = 2, HN_BENCH_MOST = 8 };

typedef void hn_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);

typedef struct hn_peer { /* another library */
    const char *name;
    hn_sgemm *sgemm;
    void (*set_threads)(int n);            /* OpenBLAS */
    void (*set_threads_long)(int64_t n);   /* BLIS */
} hn_peer;

typedef struct hn_bench {
    hn_heap *heap;
    FILE *out;
    hn_json_writer *json; /* or NULL */
    hn_bench_gate *gate;  /* or NULL: lines are judged instead of printed */
    bool is_quick;
    int again; /* rounds of a race */
    hn_isa isa;
    hn_isa best; /* the strongest level of this run */
    hn_families kernels;
    hn_pool *pool;
    int n_threads;
    char *scratch; /* scratch_bytes for each thread */
    size_t scratch_bytes;
    float *shared; /* for attention and cross-entropy */
    float *from, *to; /* HN_BENCH_STREAM floats each: beyond every cache */
    int n_peers;
    hn_peer peers[HN_BENCH_PEERS];
} hn_bench;

enum { HN_BENCH_STREAM = 1 << 24, HN_BENCH_SHARED = 1 << 23 };

/* One runner of a race. `run` returns how many times it did `work`, usually 1. */
typedef struct hn_racer {
    const char *name; /* of a peer; NULL for limits and our own */
    void (*run)(hn_bench *b, void *what);
    void *what;
    double work;      /* of one run: operations or bytes */
    double best;      /* seconds; filled by the race */
} hn_racer;

void hn_bench_race(hn_bench *b, int n, hn_racer *racers);
static inline double hn_racer_rate(const hn_racer *r) /* in 1e9 a second */
{
    return 1e-9 * r->work / r->best;
}

/* The limits, as racers. */
hn_racer hn_bench_fma(hn_bench *b);
hn_racer hn_bench_read(hn_bench *b);
hn_racer hn_bench_copy(hn_bench *b);

/* One line: racers[0] is the limit, racers[1] ours, others peers. */
void hn_bench_line(hn_bench *b, const char *part, const char *what, const char *unit, int n,
                   const hn_racer *racers);

/* Phase after phase of units on the bench's threads; the scratch of `thread`. */
void hn_bench_units(hn_bench *b, int64_t units, hn_pool_job *job, void *context);
static inline void *hn_bench_scratch(const hn_bench *b, int thread)
{
    return b->scratch + (size_t)thread * b->scratch_bytes;
}

/* n random floats in (-1, 1); NULL and a message if there is no memory. */
float *hn_bench_floats(hn_bench *b, int64_t n);

hn_status hn_bench_peer_open(const char *path, hn_isa isa, hn_peer *out);

hn_status hn_bench_matmul(hn_bench *b);
hn_status hn_bench_gemv(hn_bench *b);
hn_status hn_bench_int8(hn_bench *b);
hn_status hn_bench_formats(hn_bench *b);
hn_status hn_bench_attention(hn_bench *b);
hn_status hn_bench_rows(hn_bench *b);
/* A planned loss, and a training step: `level` and threads as the bench's, on a device of their
 * own. */
hn_status hn_bench_loss(hn_bench *b);
hn_status hn_bench_step(hn_bench *b);

#endif
