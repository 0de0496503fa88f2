/* bench.h: a heap, devices and a runner for the failure tests: a graph is built, differentiated and
 * run in a few lines. */
#ifndef TESTS_FAILURES_BENCH_H
#define TESTS_FAILURES_BENCH_H

#include "base/rng.h"
#include "diff/diff.h"
#include "graph/verify.h"
#include "prove/case.h"
#include "prove/env.h"
#include "prove/runner.h"
#include "tests/harness/check.h"

typedef struct bench {
    hn_heap heap;
    hn_report report;
    hn_prove_env env;
    hn_graph *g;
} bench;

static inline bool bench_open(bench *b)
{
    *b = (bench){ .g = NULL };
    hn_heap_init(&b->heap, NULL);
    hn_report_init(&b->report, &b->heap);
    b->env.seed = check_seed();
    return CHECK_OK(hn_prove_env_open(&b->env, &b->heap, &b->report, 3, HN_ISA_ALL));
}

static inline void bench_close(bench *b)
{
    hn_graph_free(b->g);
    hn_prove_env_close(&b->env);
    hn_report_free(&b->report);
    CHECK_INT(0, atomic_load(&b->heap.live_bytes));
}

/* A fresh graph; the last one is freed. */
static inline hn_graph *bench_graph(bench *b)
{
    hn_graph_free(b->g);
    b->g = NULL;
    CHECK_OK(hn_graph_new(&b->g, &b->heap));
    return b->g;
}

static inline hn_node *bench_leaf(bench *b, hn_leaf_kind kind, const char *name, int rank,
                                  int64_t d0, int64_t d1, int64_t d2)
{
    return hn_graph_leaf(b->g, kind, name, HN_F32, rank, (int64_t[]){ d0, d1, d2 });
}

/* Seeded data for every leaf that has none yet. */
static inline void bench_fill(bench *b, hn_leaf_values *values)
{
    for (int i = 0; i < b->g->n_leaves; i++) {
        const hn_leaf *leaf = b->g->leaves[i];
        if (leaf->kind == HN_LEAF_CONSTANT || values->at[i].data)
            continue;
        hn_tensor *t = hn_leaf_values_make(values, &b->heap, leaf);
        if (t && hn_is_float(leaf->type.dtype))
            CHECK_OK(hn_random_data(b->env.seed + (uint64_t)i, -1, 1, &b->heap, t));
    }
}

/* Runs on one device in one mode. */
static inline hn_status bench_run(bench *b, int n, hn_node *const *wanted,
                                  const hn_leaf_values *values, hn_plan_mode mode,
                                  hn_results *out)
{
    hn_run_setup setup = { .n_devices = 1, .devices = &b->env.one, .mode = mode };
    return hn_run_graph(b->g, n, wanted, values, &setup, out);
}

/* Every plan gives the bits of `separate`. */
static inline void bench_same_under_all_plans(bench *b, int n, hn_node *const *wanted,
                                              const hn_leaf_values *values)
{
    hn_results base, got;
    int which;
    int64_t element;
    if (!CHECK_OK(bench_run(b, n, wanted, values, HN_PLAN_SEPARATE, &base)))
        return;
    for (int mode = 0; mode < HN_N_PLAN_MODES; mode++) {
        if (!CHECK_OK(bench_run(b, n, wanted, values, (hn_plan_mode)mode, &got)))
            continue;
        const bool is_same = hn_same_results(&base, &got, &which, &element); /* before it is told what differs */
        CHECK_THAT(is_same, "plan %s: result %d, element %lld differs", hn_plan_mode_name((hn_plan_mode)mode), which, (long long)element);
        hn_results_free(&got);
    }
    hn_results_free(&base);
}

#endif
