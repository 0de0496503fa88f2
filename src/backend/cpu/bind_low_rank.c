/* low_rank: a unit is a block of rows; neighbours with one adapter are multiplied together. */
#include "backend/cpu/products.h"
#include "ops/low_rank.h"

#include <string.h>

enum { BLOCK = 32 }; /* rows of a unit at most */

static int64_t rank_of(const hn_call *call) { return hn_last_dim(&call->in[HN_LOW_RANK_B]->type); }

static size_t rows_bytes(const hn_call *call)
{
    return hn_round_scratch((size_t)(BLOCK * (rank_of(call) + hn_last_dim(&call->in[HN_LOW_RANK_Y]->type))) *
                            sizeof(float));
}

static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    if (call->in[HN_LOW_RANK_Y]->type.dtype != HN_F32 || call->in[HN_LOW_RANK_X]->type.dtype != HN_F32)
        return false;
    out->contiguous = ~0u;
    out->thread_scratch = rows_bytes(call) + hn_gemm_chain_scratch_bytes(&cpu->kernels.gemm);
    return true;
}

/* Enough for every thread: no bit depends on it. */
static int64_t rows_of_unit(const hn_cpu_task *task)
{
    const int64_t rows = hn_rows(&task->call->in[HN_LOW_RANK_Y]->type), units = 4 * (int64_t)task->cpu->device.n_threads;
    const int64_t each = (rows + units - 1) / units;
    return each < BLOCK ? each : BLOCK;
}

static int64_t units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    const int64_t each = rows_of_unit(task);
    return (hn_rows(&task->call->in[HN_LOW_RANK_Y]->type) + each - 1) / each;
}

/* c[m,n] = x[m,k] w[n,k]^T, rows of w `stride` elements apart. */
static void multiply(const hn_cpu_task *task, const float *x, int64_t m, int64_t k, const float *w, int64_t stride,
                     int64_t n, float *c, void *scratch)
{
    const int64_t size = sizeof(float);
    const hn_gemm_args args = {
        .m = m, .n = n, .k = k, .c = c, .c_row_stride = n * size, .c_col_stride = size,
        .a = { .data = x, .outer_stride = k * size, .k_stride = size, .type = HN_ELEM_f32 },
        .b = { .data = w, .outer_stride = stride * size, .k_stride = size, .type = HN_ELEM_f32 },
    };
    hn_gemm_plan plan;
    hn_gemm_plan_make(&plan, &task->cpu->kernels.gemm, &args, 1);
    hn_gemm_run(&plan, 0, plan.units, scratch);
}

/* Rows [row, row + m), which all go by `of`. */
static void run_together(const hn_cpu_task *task, int64_t row, int64_t m, const hn_low_rank_of *of, char *scratch)
{
    const hn_call *call = task->call;
    const int64_t k = hn_last_dim(&call->in[HN_LOW_RANK_X]->type), n = hn_last_dim(&call->out[0]->type);
    const int64_t most = rank_of(call);
    const float *x = (const float *)call->in[HN_LOW_RANK_X]->data + of->x * k;
    const float *a = (const float *)call->in[HN_LOW_RANK_A]->data + of->matrix * most * k;
    const float *b = (const float *)call->in[HN_LOW_RANK_B]->data + of->matrix * n * most;
    const float scale[2] = { ((const float *)call->in[HN_LOW_RANK_SCALES]->data)[of->adapter], 0 };
    float *low = (float *)(void *)scratch, *up = low + BLOCK * most, *y = (float *)call->out[0]->data + row * n;
    void *room = scratch + rows_bytes(call);
    multiply(task, x, m, k, a, k, of->rank, low, room);
    task->cpu->kernels.elemwise.scale_f32(m * of->rank, low, low, scale);
    multiply(task, low, m, of->rank, b, most, n, up, room);
    task->cpu->kernels.elemwise.add_f32(m * n, y, 1, up, 1, y);
}

static void run_rows(const hn_cpu_task *task, int64_t first, int64_t end, char *scratch)
{
    const hn_call *call = task->call;
    hn_low_rank_of of, next;
    for (int64_t row = first, m; row < end; row += m) {
        const bool has = hn_low_rank_row(call, row, &of);
        for (m = 1; has && row + m < end; m++)
            if (!hn_low_rank_row(call, row + m, &next) || next.matrix != of.matrix || next.x != of.x + m)
                break;
        if (has)
            run_together(task, row, m, &of, scratch);
    }
}

static void run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    (void)phase;
    const hn_call *call = task->call;
    const int64_t rows = hn_rows(&call->out[0]->type), n = hn_last_dim(&call->out[0]->type), each = rows_of_unit(task);
    const float *from = call->in[HN_LOW_RANK_Y]->data;
    float *to = call->out[0]->data;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t first = unit * each, last = first + each < rows ? first + each : rows;
        if (to != from)
            memcpy(to + first * n, from + first * n, (size_t)((last - first) * n) * sizeof *to);
        run_rows(task, first, last, hn_cpu_scratch(task, thread));
    }
}

const hn_cpu_binding hn_cpu_low_rank = {
    .op = &hn_op_low_rank, .supports = supports, .units = units, .run = run
};
