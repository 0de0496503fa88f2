/* Norms and their gradients. A gradient that also sums over rows runs in phases: what the sum needs
 * of each row; the sum, row after row; then dx, which may take the memory that the sum has read. */
#include "backend/cpu/rows.h"

static float eps_of(const hn_cpu_task *task)
{
    return *(const float *)task->call->attrs; /* the only attribute of every norm */
}

static bool has_vectors(const hn_call *call, int first, int last)
{
    for (int i = first; i <= last && i < call->n_in; i++)
        if (call->in[i] && call->in[i]->type.dtype != HN_F32)
            return false;
    return true;
}

/* ---- rms_norm ---- */

static bool rms_norm_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(0) | HN_IN(1);
    out->thread_scratch = hn_row_scratch(call, 2);
    return hn_rows_are_floats(call->in, 1) && has_vectors(call, 1, 1);
}

static const float *vector(const hn_call *call, int input)
{
    return call->in[input] ? call->in[input]->data : NULL;
}

static void rms_norm_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const int64_t n = hn_row_length(call);
    float *room = hn_cpu_scratch(task, thread);
    (void)phase;
    for (int64_t row = begin; row < end; row++) {
        float *y = hn_row_out(call->out[0], row, room + n);
        task->cpu->kernels.norm.rms_norm_f32(n, hn_row_in(task, call->in[0], row, room),
                                             vector(call, 1), eps_of(task), y, NULL);
        hn_row_done(task, call->out[0], row, y);
    }
}

const hn_cpu_binding hn_cpu_rms_norm = { .op = &hn_op_rms_norm, .supports = rms_norm_supports,
                                         .units = hn_row_units, .run = rms_norm_run };

/* ---- rms_norm_grad ---- */

enum { X, GAIN, DY, ACC };
enum { STATS, SUM, DX };

static bool rms_norm_grad_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X) | HN_IN(GAIN) | HN_IN(DY) | HN_IN(ACC);
    out->thread_scratch = hn_row_scratch(call, 3);
    out->shared_scratch =
        call->out[1] ? (size_t)hn_rows(&call->in[X]->type) * sizeof(float) : 0;
    const hn_tensor *const maps[] = { call->in[X], call->in[DY] };
    return hn_rows_are_floats(maps, 2) && has_vectors(call, GAIN, GAIN) && has_vectors(call, ACC, ACC);
}

static int grad_phases(const hn_cpu_task *task)
{
    (void)task;
    return 3;
}

static int64_t grad_units(const hn_cpu_task *task, int phase)
{
    if (phase != DX && !task->call->out[1])
        return 0;
    return phase == SUM ? hn_column_units(hn_row_length(task->call)) : hn_row_units(task, phase);
}

/* Columns [at, at + n) of the sum: every column is a chain of its own. */
static void sum_gains(const hn_cpu_task *task, int64_t at, int64_t n, float *room)
{
    const hn_call *call = task->call;
    const int64_t rows = hn_rows(&call->in[X]->type);
    const float *stats = (const float *)(void *)task->shared;
    float *sum = hn_column_start(call->out[1], call->in[ACC], at, n);
    for (int64_t row = 0; row < rows; row++)
        task->cpu->kernels.norm.rms_norm_gain_grad_f32(
            1, n, hn_columns_in(task, call->in[X], row, at, n, room),
            hn_columns_in(task, call->in[DY], row, at, n, room + n), stats + row, sum);
}

static void rms_norm_grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                              int thread)
{
    const hn_call *call = task->call;
    const int64_t n = hn_row_length(call);
    float *room = hn_cpu_scratch(task, thread), *stats = (float *)(void *)task->shared;
    const hn_norm_kernels *k = &task->cpu->kernels.norm;
    if (phase == SUM) {
        for (int64_t at = begin * HN_COLUMNS; at < n && at < end * HN_COLUMNS; at += HN_COLUMNS)
            sum_gains(task, at, n - at < HN_COLUMNS ? n - at : HN_COLUMNS, room);
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        const float *x = hn_row_in(task, call->in[X], row, room);
        if (phase == STATS) {
            k->rms_norm_f32(n, x, NULL, eps_of(task), room + 2 * n, stats + row);
            continue;
        }
        float *dx = hn_row_out(call->out[0], row, room + 2 * n);
        k->rms_norm_grad_f32(n, x, vector(call, GAIN), eps_of(task),
                             hn_row_in(task, call->in[DY], row, room + n), dx, NULL);
        hn_row_done(task, call->out[0], row, dx);
    }
}

const hn_cpu_binding hn_cpu_rms_norm_grad = { .op = &hn_op_rms_norm_grad,
                                              .supports = rms_norm_grad_supports,
                                              .phases = grad_phases, .units = grad_units,
                                              .run = rms_norm_grad_run };
