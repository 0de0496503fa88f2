/* matmul and matmul_to: one product for each matrix of the result. A matrix that several batches
 * share is one chain over them: a unit runs its tile of all of them, ascending. Operands are read
 * as they lie, whatever their strides. */
#include "backend/cpu/products.h"
#include "backend/cpu/strips.h"
#include "ops/product.h"

#include <string.h>

enum { A, B, LIKE, ACC };

static bool is_to(const hn_call *call)
{
    return call->op == &hn_op_matmul_to;
}

static const hn_tensor *acc_of(const hn_call *call)
{
    return is_to(call) ? call->in[ACC] : NULL;
}

static bool is_narrow(const hn_call *call)
{
    return call->out[0]->type.dtype != HN_F32;
}

static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    hn_elem elem;
    const hn_dtype y = call->out[0]->type.dtype;
    for (int i = A; i <= B; i++)
        if (hn_is_block(call->in[i]->type.dtype) || !hn_cpu_elem(call->in[i]->type.dtype, &elem))
            return false;
    if (y != HN_F32 && y != HN_F16 && y != HN_BF16)
        return false;
    out->contiguous = HN_IN(ACC);
    out->shared_scratch = hn_cpu_product_shared(&call->out[0]->type);
    out->thread_scratch = hn_gemm_chain_scratch_bytes(&cpu->kernels.gemm);
    return true;
}

static hn_gemm_operand operand(const hn_tensor *t, int64_t matrix, int64_t elements, bool outer_last)
{
    const hn_type *type = &t->type;
    const int64_t row = type->stride[type->rank - 2], col = type->stride[type->rank - 1];
    hn_gemm_operand x = { .data = (char *)t->data + hn_offset_of(type, matrix * elements),
                          .outer_stride = outer_last ? col : row,
                          .k_stride = outer_last ? row : col };
    hn_cpu_elem(type->dtype, &x.type);
    return x;
}

/* Number `batch` of the product, to matrix number `matrix` of the result. */
static void make_plan(const hn_cpu_task *task, const product *p, int64_t batch, int64_t matrix,
                      bool accumulate, hn_gemm_plan *plan)
{
    const hn_call *call = task->call;
    const hn_tensor *a = call->in[A], *b = call->in[B], *y = call->out[0];
    float *to = is_narrow(call) ? (float *)(void *)task->shared : (float *)y->data;
    const hn_gemm_args args = {
        .m = p->m, .n = p->n, .k = p->k,
        .a = operand(a, product_matrix(&a->type, p, batch), p->m * p->k, p->ta),
        .b = operand(b, product_matrix(&b->type, p, batch), p->n * p->k, !p->tb),
        .c = to + matrix * p->m * p->n, .c_row_stride = p->n * (int64_t)sizeof(float),
        .c_col_stride = sizeof(float), .accumulate = accumulate
    };
    hn_gemm_plan_make(plan, &task->cpu->kernels.gemm, &args, task->cpu->device.n_threads);
}

static int64_t n_matrices(const hn_call *call, const product *p)
{
    return hn_count(&call->out[0]->type) / (p->m * p->n);
}

/* ---- phases: the start of the sums, the products, the rounding ---- */

enum { START, PRODUCTS, ROUND };

static int phases(const hn_cpu_task *task)
{
    (void)task;
    return 3;
}

static int64_t units(const hn_cpu_task *task, int phase)
{
    const hn_call *call = task->call;
    const hn_tensor *acc = acc_of(call);
    const product p = product_of(call);
    hn_gemm_plan plan;
    if (phase == START)
        return acc && acc->data != call->out[0]->data ? n_matrices(call, &p) : 0;
    if (phase == ROUND)
        return is_narrow(call) ? hn_rows(&call->out[0]->type) : 0;
    make_plan(task, &p, 0, 0, false, &plan);
    return n_matrices(call, &p) * plan.units;
}

static void run_unit(const hn_cpu_task *task, const product *p, int64_t unit, void *scratch)
{
    const hn_call *call = task->call;
    hn_gemm_plan plan;
    make_plan(task, p, 0, 0, false, &plan);
    const int64_t matrix = unit / plan.units, tile = unit % plan.units;
    const int64_t n_batches = hn_count(&p->batch);
    bool goes_on = acc_of(call) != NULL;
    if (!is_to(call)) {
        make_plan(task, p, matrix, matrix, false, &plan);
        hn_gemm_run(&plan, tile, tile + 1, scratch);
        return;
    }
    for (int64_t batch = 0; batch < n_batches; batch++) {
        if (product_matrix(&call->out[0]->type, p, batch) != matrix)
            continue;
        make_plan(task, p, batch, matrix, goes_on, &plan);
        hn_gemm_run(&plan, tile, tile + 1, scratch);
        goes_on = true;
    }
}

static void run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *y = call->out[0];
    const product p = product_of(call);
    if (phase == START) {
        const int64_t from = begin * p.m * p.n, n = (end - begin) * p.m * p.n;
        memcpy((float *)y->data + from, (const float *)acc_of(call)->data + from,
               (size_t)n * sizeof(float));
        return;
    }
    if (phase == ROUND) {
        const size_t bytes = hn_dtype_bytes(y->type.dtype);
        hn_strip_narrow(task->cpu, y->type.dtype, (const float *)(void *)task->shared + begin * p.n,
                        (end - begin) * p.n, (char *)y->data + (size_t)(begin * p.n) * bytes);
        return;
    }
    for (int64_t unit = begin; unit < end; unit++)
        run_unit(task, &p, unit, hn_cpu_scratch(task, thread));
}

const hn_cpu_binding hn_cpu_matmul = { .op = &hn_op_matmul, .supports = supports,
                                       .phases = phases, .units = units, .run = run };
const hn_cpu_binding hn_cpu_matmul_to = { .op = &hn_op_matmul_to, .supports = supports,
                                          .phases = phases, .units = units, .run = run };
