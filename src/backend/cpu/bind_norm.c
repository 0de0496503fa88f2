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
        const float *x = hn_row_in(task, call->in[0], row, room);
        task->cpu->kernels.norm.rms_norm_f32(n, x, vector(call, 1), eps_of(task), y, NULL,
                                             hn_row_streams(call, x, y));
        hn_row_done(task, call->out[0], row, y);
    }
    hn_streams_end();
}

const hn_cpu_binding hn_cpu_rms_norm = { .op = &hn_op_rms_norm, .supports = rms_norm_supports,
                                         .units = hn_row_units, .run = rms_norm_run };

/* ---- layer_norm, l2_norm ---- */

static bool layer_norm_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(0) | HN_IN(1) | HN_IN(2);
    out->thread_scratch = hn_row_scratch(call, 2);
    return hn_rows_are_floats(call->in, 1) && has_vectors(call, 1, 2);
}

static void layer_norm_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                           int thread)
{
    const hn_call *call = task->call;
    const int64_t n = hn_row_length(call);
    float *room = hn_cpu_scratch(task, thread);
    (void)phase;
    for (int64_t row = begin; row < end; row++) {
        float *y = hn_row_out(call->out[0], row, room + n);
        const float *x = hn_row_in(task, call->in[0], row, room);
        if (call->op == &hn_op_l2_norm)
            task->cpu->kernels.norm.l2_norm_f32(n, x, eps_of(task), y);
        else
            task->cpu->kernels.norm.layer_norm_f32(n, x, vector(call, 1), vector(call, 2),
                                                   eps_of(task), y, NULL,
                                                   hn_row_streams(call, x, y));
        hn_row_done(task, call->out[0], row, y);
    }
    hn_streams_end();
}

const hn_cpu_binding hn_cpu_layer_norm = { .op = &hn_op_layer_norm,
                                           .supports = layer_norm_supports,
                                           .units = hn_row_units, .run = layer_norm_run };
const hn_cpu_binding hn_cpu_l2_norm = { .op = &hn_op_l2_norm, .supports = layer_norm_supports,
                                        .units = hn_row_units, .run = layer_norm_run };

static bool l2_norm_grad_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(0) | HN_IN(1);
    out->thread_scratch = hn_row_scratch(call, 3);
    return hn_rows_are_floats(call->in, 2);
}

static void l2_norm_grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                             int thread)
{
    const hn_call *call = task->call;
    const int64_t n = hn_row_length(call);
    float *room = hn_cpu_scratch(task, thread);
    (void)phase;
    for (int64_t row = begin; row < end; row++) {
        float *dx = hn_row_out(call->out[0], row, room + 2 * n);
        task->cpu->kernels.norm.l2_norm_grad_f32(n, hn_row_in(task, call->in[0], row, room),
                                                 eps_of(task),
                                                 hn_row_in(task, call->in[1], row, room + n), dx);
        hn_row_done(task, call->out[0], row, dx);
    }
}

const hn_cpu_binding hn_cpu_l2_norm_grad = { .op = &hn_op_l2_norm_grad,
                                             .supports = l2_norm_grad_supports,
                                             .units = hn_row_units, .run = l2_norm_grad_run };

/* ---- rms_norm_grad, layer_norm_grad ---- */

enum { X, GAIN, DY, ACC, ACC_BIAS };
enum { STATS, SUM, DX };

/* Numbers that the sum needs of a row: 1 / root, or the mean and that. */
static int n_stats(const hn_call *call)
{
    return call->op == &hn_op_layer_norm_grad ? 2 : 1;
}

/* The sum of dy; only a layer norm has it. */
static const hn_tensor *bias_sum(const hn_call *call)
{
    return call->op == &hn_op_layer_norm_grad ? call->out[2] : NULL;
}

static bool grad_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X) | HN_IN(GAIN) | HN_IN(DY) | HN_IN(ACC) | HN_IN(ACC_BIAS);
    out->thread_scratch = hn_row_scratch(call, 3);
    out->shared_scratch =
        call->out[1] ? (size_t)(hn_rows(&call->in[X]->type) * n_stats(call)) * sizeof(float) : 0;
    const hn_tensor *const maps[] = { call->in[X], call->in[DY] };
    return hn_rows_are_floats(maps, 2) && has_vectors(call, GAIN, GAIN) &&
           has_vectors(call, ACC, ACC_BIAS);
}

static int grad_phases(const hn_cpu_task *task)
{
    (void)task;
    return 3;
}

static int64_t grad_units(const hn_cpu_task *task, int phase)
{
    const hn_call *call = task->call;
    if (phase == DX)
        return hn_row_units(task, phase);
    if (phase == STATS)
        return call->out[1] ? hn_row_units(task, phase) : 0;
    return call->out[1] || bias_sum(call) ? hn_column_units(hn_row_length(call)) : 0;
}

/* Columns [at, at + n) of the sums: every column is a chain of its own. */
static void sum_columns(const hn_cpu_task *task, int64_t at, int64_t n, float *room)
{
    const hn_call *call = task->call;
    const int64_t rows = hn_rows(&call->in[X]->type);
    const float *stats = (const float *)(void *)task->shared;
    const hn_tensor *gains = call->out[1], *biases = bias_sum(call);
    float *gain = gains ? hn_column_start(gains, call->in[ACC], at, n) : NULL;
    float *bias = biases ? hn_column_start(biases, call->in[ACC_BIAS], at, n) : NULL;
    const hn_norm_kernels *k = &task->cpu->kernels.norm;
    for (int64_t row = 0; row < rows; row++) {
        const float *dy = hn_columns_in(task, call->in[DY], row, at, n, room + n);
        if (gain)
            (n_stats(call) == 2 ? k->layer_norm_gain_grad_f32 : k->rms_norm_gain_grad_f32)(
                1, n, hn_columns_in(task, call->in[X], row, at, n, room), dy,
                stats + row * n_stats(call), gain);
        if (bias)
            task->cpu->kernels.reduce.sum_rows_f32(1, n, dy, bias);
    }
}

static void row_stats(const hn_cpu_task *task, const float *x, float *room, float *stats)
{
    const int64_t n = hn_row_length(task->call);
    const hn_norm_kernels *k = &task->cpu->kernels.norm;
    if (n_stats(task->call) == 2)
        k->layer_norm_f32(n, x, NULL, NULL, eps_of(task), room, stats, false);
    else
        k->rms_norm_f32(n, x, NULL, eps_of(task), room, stats, false);
}

static void grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const int64_t n = hn_row_length(call);
    float *room = hn_cpu_scratch(task, thread), *stats = (float *)(void *)task->shared;
    const hn_norm_kernels *k = &task->cpu->kernels.norm;
    if (phase == SUM) {
        for (int64_t at = begin * HN_COLUMNS; at < n && at < end * HN_COLUMNS; at += HN_COLUMNS)
            sum_columns(task, at, n - at < HN_COLUMNS ? n - at : HN_COLUMNS, room);
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        const float *x = hn_row_in(task, call->in[X], row, room);
        if (phase == STATS) {
            row_stats(task, x, room + 2 * n, stats + row * n_stats(call));
            continue;
        }
        float *dx = hn_row_out(call->out[0], row, room + 2 * n);
        const float *dy = hn_row_in(task, call->in[DY], row, room + n);
        (n_stats(call) == 2 ? k->layer_norm_grad_f32 : k->rms_norm_grad_f32)(
            n, x, vector(call, GAIN), eps_of(task), dy, dx, NULL,
            hn_row_streams(call, x, dx) && dx != dy);
        hn_row_done(task, call->out[0], row, dx);
    }
    hn_streams_end();
}

#define HN_BIND_NORM_GRAD(name)                                                                \
    const hn_cpu_binding hn_cpu_##name = { .op = &hn_op_##name, .supports = grad_supports,     \
                                           .phases = grad_phases, .units = grad_units,         \
                                           .run = grad_run };
HN_BIND_NORM_GRAD(rms_norm_grad)
HN_BIND_NORM_GRAD(layer_norm_grad)
