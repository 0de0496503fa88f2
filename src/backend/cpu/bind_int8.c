/* linear_int8: rows of x are rounded once, by all threads; then columns are cut into units. */
#include "backend/cpu/products.h"

#include "ops/attrs.h"

static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    hn_elem elem;
    const hn_type *x = &call->in[0]->type;
    if (x->dtype != HN_F32 || !hn_cpu_elem(call->in[1]->type.dtype, &elem) || !hn_int8_formats[elem].kind ||
        call->out[0]->type.dtype != HN_F32)
        return false;
    out->contiguous = HN_IN(0);
    if (!hn_cpu_has_rows(&call->in[1]->type))
        out->contiguous |= HN_IN(1);
    out->packed = HN_IN(1);
    out->shared_scratch = (size_t)hn_rows(x) * hn_int8_row_bytes(hn_last_dim(x));
    out->thread_scratch = hn_int8_scratch_bytes();
    return true;
}

static hn_int8_args args_of(const hn_cpu_task *task)
{
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[0], *w = call->in[1];
    hn_int8_args a = hn_cpu_int8_weights(w);
    a.rows = hn_rows(&x->type);
    a.x = hn_int8_rows_in(task->shared, a.rows, a.k);
    a.pairs = ((const linear_attrs *)call->attrs)->pairs;
    a.y = call->out[0]->data;
    return a;
}

static int phases(const hn_cpu_task *task)
{
    (void)task;
    return 2;
}

static int64_t units(const hn_cpu_task *task, int phase)
{
    const hn_int8_args a = args_of(task);
    return phase == 0 ? a.rows : hn_int8_units(&a);
}

static void run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_int8_args a = args_of(task);
    if (phase)
        hn_int8_run(&task->cpu->kernels.int8, &a, begin, end, hn_cpu_scratch(task, thread));
    else
        hn_cpu_int8_rows(task, task->call->in[0], &a.x, begin, end);
}

static const hn_tensor *streams(const hn_call *call)
{
    return hn_rows(&call->in[0]->type) <= HN_GEMM_FEW ? call->in[1] : NULL;
}

const hn_cpu_binding hn_cpu_linear_int8 = { .op = &hn_op_linear_int8, .supports = supports, .phases = phases,
                                            .units = units, .run = run, .streams = streams, .rows_phase = 1, .sees_rows = true };
