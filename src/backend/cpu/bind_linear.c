/* linear, linear_back, outer: one product each; weights are decoded while they are packed. */
#include "backend/cpu/products.h"

#include "ops/attrs.h"

static bool is_float_type(hn_dtype dtype)
{
    return dtype == HN_F32 || dtype == HN_F16 || dtype == HN_BF16;
}

static hn_cpu_product product(const hn_call *call)
{
    const hn_tensor *a = call->in[0], *b = call->in[1];
    hn_cpu_product p = { .out = call->out[0] };
    if (call->op == &hn_op_outer) {
        p.acc = call->in[2];
        p.args = (hn_gemm_args){ .m = hn_last_dim(&a->type), .n = hn_last_dim(&b->type),
                                 .k = hn_rows(&a->type), .a = hn_cpu_rows_summed(a),
                                 .b = hn_cpu_rows_summed(b) };
        return p;
    }
    const bool back = call->op == &hn_op_linear_back;
    p.args = (hn_gemm_args){ .m = hn_rows(&a->type), .n = b->type.dim[back ? 1 : 0],
                             .k = hn_last_dim(&a->type), .a = hn_cpu_rows_outer(a),
                             .b = back ? hn_cpu_rows_summed(b) : hn_cpu_rows_outer(b) };
    p.args.b.pairs = ((const linear_attrs *)call->attrs)->pairs;
    p.args.blocks = ((const linear_attrs *)call->attrs)->sums == HN_SUMS_BLOCKS;
    return p;
}

/* Inputs `first` and `second` multiply; the first is an activation, so never in blocks. */
static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    hn_elem elem;
    const hn_type *a = &call->in[0]->type, *b = &call->in[1]->type;
    if (!is_float_type(a->dtype) || !hn_cpu_elem(b->dtype, &elem) ||
        !is_float_type(call->out[0]->type.dtype))
        return false;
    for (int i = 0; i < 2; i++)
        if (!hn_cpu_has_rows(&call->in[i]->type))
            out->contiguous |= HN_IN(i);
    if (call->op == &hn_op_outer && call->in[2])
        out->contiguous |= HN_IN(2);
    if (call->op != &hn_op_outer)
        out->packed = HN_IN(1);
    out->shared_scratch = hn_cpu_product_shared(&call->out[0]->type);
    const hn_cpu_product p = product(call);
    out->thread_scratch = hn_gemm_scratch_bytes(&cpu->kernels.gemm, &p.args);
    return true;
}

static int phases(const hn_cpu_task *task)
{
    const hn_cpu_product p = product(task->call);
    return hn_cpu_product_phases(&p);
}

static int64_t units(const hn_cpu_task *task, int phase)
{
    const hn_cpu_product p = product(task->call);
    return hn_cpu_product_units(task, &p, phase);
}

static void run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_cpu_product p = product(task->call);
    hn_cpu_product_run(task, &p, phase, begin, end, thread);
}

/* Whose weights a back reads by columns. */
static const hn_tensor *streams(const hn_call *call)
{
    return call->op == &hn_op_linear && hn_rows(&call->in[0]->type) <= HN_GEMM_FEW ? call->in[1] : NULL;
}

#define HN_BIND_PRODUCT(name)                                                                  \
    const hn_cpu_binding hn_cpu_##name = { .op = &hn_op_##name, .supports = supports,          \
                                           .phases = phases, .units = units, .run = run, .streams = streams };
HN_BIND_PRODUCT(linear)
HN_BIND_PRODUCT(linear_back)
HN_BIND_PRODUCT(outer)
