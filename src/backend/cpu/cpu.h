/* cpu.h: the CPU device: a thread pool, kernels of one instruction-set level, and bindings that
 * call kernels with the pointers of a call.
 *
 * A binding cuts its call into units; any units may run on any thread in any order, phase after
 * phase, and the bits must not show it. An op without a binding runs its own forward: slowly, and
 * in plain sight (hn_support.has_kernel). */
#ifndef HN_BACKEND_CPU_CPU_H
#define HN_BACKEND_CPU_CPU_H

#include "backend/backend.h"
#include "backend/queue.h"
#include "kernels/families.h"
#include "base/pool.h"
#include "ops/ops.h"

typedef struct hn_cpu {
    hn_device device;
    hn_isa isa;
    hn_pool *pool;
    hn_families kernels;
    hn_queue *queue; /* beside other devices; NULL: the thread that calls is its queue */
} hn_cpu;

/* One call while it runs. */
typedef struct hn_cpu_task {
    const hn_cpu *cpu;
    const hn_call *call;
    char *shared;  /* support->shared_scratch bytes */
    char *threads; /* support->thread_scratch bytes for each thread */
    size_t thread_bytes;
    _Atomic int64_t *bad_row; /* the first that units came upon (hn_cpu_refuse_row); INT64_MAX: none yet */
} hn_cpu_task;

typedef struct hn_cpu_binding {
    const hn_op *op;
    /* Whether there is a kernel for these types, and what it needs. `out` comes filled with the
     * op's own contract, no scratch, no demand for contiguous inputs, and no input that may be
     * packed. Must depend on types and shapes only, never on strides: layout must not change the
     * bits. */
    bool (*supports)(const hn_cpu *cpu, const hn_call *call, hn_support *out);
    int (*phases)(const hn_cpu_task *task); /* NULL: one; there is a barrier between phases */
    int64_t (*units)(const hn_cpu_task *task, int phase);
    void (*run)(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread);
    /* The input that units read from its beginning to its end, one after the other and not again; NULL: there is none, or none to
     * speak of beside what is computed. */
    const hn_tensor *(*streams)(const hn_call *call);
    int rows_phase; /* phases up to this one make of in[0], and of in[rows_by], what lies in `shared` for those after it, and nothing else; 0: none does */
    int rows_by;    /* 0: of in[0] alone */
    bool sees_rows; /* of hn_op.finite: its units tell a row that is not. Else the rows are looked at before */
} hn_cpu_binding;

/* By any unit: this row of what must be finite is not. The call ends after the phase. */
static inline void hn_cpu_refuse_row(const hn_cpu_task *task, int64_t row)
{
    int64_t first = atomic_load_explicit(task->bad_row, memory_order_relaxed);
    while (row < first && !atomic_compare_exchange_weak(task->bad_row, &first, row))
        ;
}

static inline void *hn_cpu_scratch(const hn_cpu_task *task, int thread)
{
    return task->threads + (size_t)thread * task->thread_bytes;
}
static inline size_t hn_round_scratch(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* The binding of an op, or NULL. */
const hn_cpu_binding *hn_cpu_binding_of(const hn_op *op);

#endif
