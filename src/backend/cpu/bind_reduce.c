/* Reductions over one dimension, row by row: what lies apart is gathered first, so that every
 * dimension has the order of rows. A sum over tokens is a chain for each column instead. */
#include "backend/cpu/rows.h"
#include "ops/reduction.h"

enum { X, ACC };

static int64_t dim_of(const hn_call *call)
{
    return *(const int64_t *)call->attrs; /* the first attribute of all of these */
}

static axis axis_in(const hn_call *call)
{
    return axis_of(&call->in[X]->type, dim_of(call));
}

static float *at_element(const hn_tensor *t, int64_t i)
{
    return (float *)t->data + i;
}

/* Row (o, i) of x as f32: as it lies, or gathered into `room`. */
static const float *gathered(const hn_cpu_task *task, const axis *a, int64_t row, float *room)
{
    const hn_tensor *x = task->call->in[X];
    const int64_t first = row / a->inner * a->n * a->inner + row % a->inner;
    const size_t bytes = hn_dtype_bytes(x->type.dtype);
    if (a->inner == 1)
        return hn_strip_widen(task->cpu, x->type.dtype, (const char *)x->data + (size_t)first * bytes,
                              a->n, room);
    for (int64_t k = 0; k < a->n; k++)
        room[k] = x->type.dtype == HN_F32 ? *at_element(x, first + k * a->inner)
                                          : (float)hn_get(x, first + k * a->inner);
    return room;
}

static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X);
    out->thread_scratch = (size_t)axis_in(call).n * 2 * sizeof(float);
    return hn_rows_are_floats(call->in, 1);
}

static int64_t units(const hn_cpu_task *task, int phase)
{
    const axis a = axis_in(task->call);
    (void)phase;
    return a.outer * a.inner;
}

static void reduce_row(const hn_cpu_task *task, const axis *a, int64_t row, float *room)
{
    const hn_call *call = task->call;
    const hn_reduce_kernels *k = &task->cpu->kernels.reduce;
    const float *x = gathered(task, a, row, room);
    float y = 0;
    if (call->op == &hn_op_argmax) {
        k->argmax_f32(a->n, x, (int32_t *)call->out[0]->data + row);
        return;
    }
    if (call->op == &hn_op_sum) {
        k->sum_f32(a->n, x, &y);
    } else if (call->op == &hn_op_mean) {
        k->mean_f32(a->n, x, &y);
    } else if (call->op == &hn_op_reduce_max) {
        k->row_max_f32(a->n, x, &y);
    } else if (call->op == &hn_op_reduce_min) {
        task->cpu->kernels.elemwise.neg_f32(a->n, x, room + a->n, NULL);
        k->row_max_f32(a->n, room + a->n, &y);
        y = -y;
    } else {
        task->cpu->kernels.softmax.logsumexp_f32(a->n, x, &y);
    }
    hn_set(call->out[0], row, (double)y);
}

static void run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const axis a = axis_in(task->call);
    (void)phase;
    for (int64_t row = begin; row < end; row++)
        reduce_row(task, &a, row, hn_cpu_scratch(task, thread));
}

#define HN_BIND_REDUCTION(name)                                                                \
    const hn_cpu_binding hn_cpu_##name = { .op = &hn_op_##name, .supports = supports,          \
                                           .units = units, .run = run };
HN_BIND_REDUCTION(mean)
HN_BIND_REDUCTION(reduce_max)
HN_BIND_REDUCTION(reduce_min)
HN_BIND_REDUCTION(argmax)
HN_BIND_REDUCTION(logsumexp)

/* ---- sum ---- */

static bool is_over_tokens(const hn_call *call)
{
    return axis_number(&call->in[X]->type, dim_of(call)) == 0;
}

static bool sum_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    if (!supports(cpu, call, out))
        return false;
    if (is_over_tokens(call)) {
        out->contiguous = HN_IN(X) | HN_IN(ACC);
        out->thread_scratch = HN_COLUMNS * sizeof(float);
    }
    return true;
}

static int64_t sum_units(const hn_cpu_task *task, int phase)
{
    return is_over_tokens(task->call) ? hn_column_units(axis_in(task->call).inner)
                                      : units(task, phase);
}

static void sum_columns(const hn_cpu_task *task, int64_t at, int64_t n, float *room)
{
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[X];
    const axis a = axis_in(call);
    const size_t bytes = hn_dtype_bytes(x->type.dtype);
    float *sum = hn_column_start(call->out[0], call->in[ACC], at, n);
    for (int64_t k = 0; k < a.n; k++) {
        const char *from = (const char *)x->data + (size_t)(k * a.inner + at) * bytes;
        task->cpu->kernels.reduce.sum_rows_f32(
            1, n, hn_strip_widen(task->cpu, x->type.dtype, from, n, room), sum);
    }
}

static void sum_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const int64_t n = axis_in(task->call).inner;
    if (!is_over_tokens(task->call)) {
        run(task, phase, begin, end, thread);
        return;
    }
    for (int64_t at = begin * HN_COLUMNS; at < n && at < end * HN_COLUMNS; at += HN_COLUMNS)
        sum_columns(task, at, n - at < HN_COLUMNS ? n - at : HN_COLUMNS,
                    hn_cpu_scratch(task, thread));
}

const hn_cpu_binding hn_cpu_sum = { .op = &hn_op_sum, .supports = sum_supports,
                                    .units = sum_units, .run = sum_run };

/* ---- mean_grad: dy / n all along the dimension, a row of the inner dimensions at a time ---- */

enum { DY, LIKE };

static bool mean_grad_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(DY);
    out->thread_scratch =
        (size_t)axis_of(&call->out[0]->type, dim_of(call)).inner * 2 * sizeof(float);
    return hn_rows_are_floats(call->in, 1);
}

static int64_t mean_grad_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    return axis_of(&task->call->out[0]->type, dim_of(task->call)).outer;
}

static void mean_grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                          int thread)
{
    const hn_tensor *dy = task->call->in[DY], *dx = task->call->out[0];
    const axis a = axis_of(&dx->type, dim_of(task->call));
    const size_t bytes = hn_dtype_bytes(dy->type.dtype), row = (size_t)a.inner * bytes;
    const float n = (float)a.n;
    float *room = hn_cpu_scratch(task, thread);
    (void)phase;
    for (int64_t o = begin; o < end; o++) {
        const float *from = hn_strip_widen(task->cpu, dy->type.dtype,
                                           (const char *)dy->data + (size_t)o * row, a.inner, room);
        char *to = (char *)dx->data + (size_t)(o * a.n) * row;
        task->cpu->kernels.elemwise.div_f32(a.inner, from, 1, &n, 0, room + a.inner);
        if (dx->type.dtype == HN_F32)
            memcpy(to, room + a.inner, row);
        else
            hn_strip_narrow(task->cpu, dx->type.dtype, room + a.inner, a.inner, to);
        for (int64_t k = 1; k < a.n; k++)
            memcpy(to + (size_t)k * row, to, row);
    }
}

const hn_cpu_binding hn_cpu_mean_grad = { .op = &hn_op_mean_grad, .supports = mean_grad_supports,
                                          .units = mean_grad_units, .run = mean_grad_run };

/* ---- first_grad: zeros, and dy where x first equals y ---- */

static bool first_grad_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(0) | HN_IN(1) | HN_IN(2);
    return hn_rows_are_floats(call->in, 3);
}

static void first_grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                           int thread)
{
    const hn_call *call = task->call;
    const axis a = axis_in(call);
    (void)phase, (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = row / a.inner * a.n * a.inner + row % a.inner;
        const double y = hn_get(call->in[1], row);
        bool is_found = false;
        for (int64_t k = 0; k < a.n; k++) {
            const int64_t at = first + k * a.inner;
            const bool is_it = !is_found && hn_get(call->in[0], at) == y;
            hn_set(call->out[0], at, is_it ? hn_get(call->in[2], row) : 0);
            is_found = is_found || is_it;
        }
    }
}

const hn_cpu_binding hn_cpu_first_grad = { .op = &hn_op_first_grad,
                                           .supports = first_grad_supports, .units = units,
                                           .run = first_grad_run };

/* ---- cumsum: gathered, summed, put back; reversed on the way if need be ---- */

static void cumsum_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *y = call->out[0];
    const axis a = axis_in(call);
    const bool reverse = ((const cumsum_attrs *)call->attrs)->reverse;
    float *room = hn_cpu_scratch(task, thread), *sum = room + a.n;
    (void)phase;
    for (int64_t row = begin; row < end; row++) {
        const int64_t first = row / a.inner * a.n * a.inner + row % a.inner;
        const float *x = gathered(task, &a, row, room);
        for (int64_t k = 0; k < a.n; k++)
            sum[k] = x[reverse ? a.n - 1 - k : k];
        task->cpu->kernels.reduce.cumsum_f32(a.n, sum, sum);
        for (int64_t k = 0; k < a.n; k++)
            hn_set(y, first + k * a.inner, (double)sum[reverse ? a.n - 1 - k : k]);
    }
}

const hn_cpu_binding hn_cpu_cumsum = { .op = &hn_op_cumsum, .supports = supports, .units = units,
                                       .run = cumsum_run };

/* ---- top_k ---- */

static bool top_k_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X);
    out->thread_scratch = hn_row_scratch(call, 2); /* a row, and its k largest */
    return hn_rows_are_floats(call->in, 1);
}

static void top_k_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const int64_t n = hn_row_length(call), k = ((const top_k_attrs *)call->attrs)->k;
    float *room = hn_cpu_scratch(task, thread);
    (void)phase;
    for (int64_t row = begin; row < end; row++)
        task->cpu->kernels.reduce.top_k_f32(n, hn_row_in(task, call->in[X], row, room), k, room + n,
                                            (int32_t *)call->out[0]->data + row * k);
}

const hn_cpu_binding hn_cpu_top_k = { .op = &hn_op_top_k, .supports = top_k_supports,
                                      .units = hn_row_units, .run = top_k_run };
