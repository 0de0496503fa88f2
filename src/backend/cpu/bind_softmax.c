/* softmax and its gradient, row by row. What a sink takes is found from the row's largest logit, as
 * y[top] exp(sink - z[top]), so that asking for it changes no bit of y. */
#include "backend/cpu/rows.h"

#include "base/mathfn.h"
#include "ops/attrs.h"

#include <math.h>

enum { X, MASK, SINKS };

static float scale_of(const hn_call *call)
{
    return ((const softmax_attrs *)call->attrs)->scale;
}

static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X) | HN_IN(MASK) | HN_IN(SINKS);
    out->thread_scratch = hn_row_scratch(call, 3);
    return hn_rows_are_floats(call->in, MASK + 1);
}

/* The row of the mask that belongs to row `row` of x, one value spread over all of it if need be. */
static const float *mask_of(const hn_cpu_task *task, int64_t row, float *room)
{
    const hn_tensor *x = task->call->in[X], *mask = task->call->in[MASK];
    const int64_t n = hn_last_dim(&x->type);
    if (!mask)
        return NULL;
    const int64_t at = hn_broadcast_index(&mask->type, &x->type, row * n);
    if (hn_last_dim(&mask->type) == n)
        return hn_strip_widen(task->cpu, mask->type.dtype,
                              (const char *)mask->data +
                                  (size_t)at * hn_dtype_bytes(mask->type.dtype),
                              n, room);
    for (int64_t i = 0; i < n; i++)
        room[i] = (float)hn_get(mask, at);
    return room;
}

static float sink_of(const hn_call *call, int64_t row)
{
    hn_type leading = call->in[X]->type;
    leading.rank--;
    const hn_tensor *sinks = call->in[SINKS];
    return (float)hn_get(sinks, hn_broadcast_index(&sinks->type, &leading, row));
}

/* Where the largest logit of a row lies. */
static int64_t top_of(const float *x, float scale, const float *mask, int64_t n, float *top)
{
    int64_t at = 0;
    *top = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        const float z = mask ? fmaf(x[i], scale, mask[i]) : x[i] * scale;
        if (z > *top) {
            *top = z;
            at = i;
        }
    }
    return at;
}

/* The sink's share; where the row's is too small to tell it from, the sink has all. */
static double share(double y_top, double top, double sink)
{
    if (sink == -(double)INFINITY)
        return 0;
    return y_top < 1e-30 ? 1 : y_top * hn_math_exp(sink - top);
}

/* Rows of a large tensor that are nothing but logits. */
static bool run_plain(const hn_cpu_task *task, int64_t begin, int64_t end, float *room)
{
    const hn_call *call = task->call;
    if (call->in[MASK] || call->in[SINKS] || call->out[1] || call->in[X]->type.dtype != HN_F32)
        return false;
    const float *x = hn_row_in(task, call->in[X], begin, NULL);
    float *y = hn_row_out(call->out[0], begin, NULL);
    if (!hn_row_streams(call, x, y))
        return false;
    task->cpu->kernels.softmax.softmax_rows_f32(end - begin, hn_row_length(call), x, scale_of(call),
                                                y, room);
    hn_streams_end();
    return true;
}

static void run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *sinks = call->in[SINKS], *shares = call->out[1];
    const int64_t n = hn_row_length(call);
    float *room = hn_cpu_scratch(task, thread), top = 0, sink = -INFINITY;
    (void)phase;
    if (run_plain(task, begin, end, room))
        return;
    for (int64_t row = begin; row < end; row++) {
        const float *x = hn_row_in(task, call->in[X], row, room);
        const float *mask = mask_of(task, row, room + n);
        float *y = hn_row_out(call->out[0], row, room + 2 * n);
        if (sinks)
            sink = sink_of(call, row);
        const int64_t at =
            sinks && shares ? top_of(x, scale_of(call), mask, n, &top) : 0;
        task->cpu->kernels.softmax.softmax_f32(n, x, scale_of(call), mask, sinks ? &sink : NULL, y);
        if (shares)
            hn_set(shares, row, sinks ? share((double)y[at], (double)top, (double)sink) : 0);
        hn_row_done(task, call->out[0], row, y);
    }
}

const hn_cpu_binding hn_cpu_softmax = { .op = &hn_op_softmax, .supports = supports,
                                        .units = hn_row_units, .run = run };

/* ---- softmax_grad ---- */

enum { Y, DY, SHARE };

static bool grad_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(Y) | HN_IN(DY) | HN_IN(SHARE);
    out->thread_scratch = hn_row_scratch(call, 3);
    return hn_rows_are_floats(call->in, DY + 1);
}

static void grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const int64_t n = hn_row_length(call);
    float *room = hn_cpu_scratch(task, thread);
    (void)phase;
    for (int64_t row = begin; row < end; row++) {
        const float *y = hn_row_in(task, call->in[Y], row, room);
        const float *dy = hn_row_in(task, call->in[DY], row, room + n);
        float *dx = hn_row_out(call->out[0], row, room + 2 * n);
        double sum = 0;
        for (int64_t i = 0; call->out[1] && call->in[SHARE] && i < n; i++)
            sum += (double)y[i] * (double)dy[i];
        if (call->out[1])
            hn_set(call->out[1], row, call->in[SHARE] ? -hn_get(call->in[SHARE], row) * sum : 0);
        task->cpu->kernels.softmax.softmax_grad_f32(n, y, dy, scale_of(call), dx,
                                                    hn_row_streams(call, y, dx) && dx != dy);
        hn_row_done(task, call->out[0], row, dx);
    }
    hn_streams_end();
}

const hn_cpu_binding hn_cpu_softmax_grad = { .op = &hn_op_softmax_grad,
                                             .supports = grad_supports, .units = hn_row_units,
                                             .run = grad_run };
