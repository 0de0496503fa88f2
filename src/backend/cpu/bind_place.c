/* Ops that copy elements to other places: concat, slice_grad, pad put boxes into a larger tensor, and
 * repeat lays one beside itself. Any element type but blocks; inputs are read as they lie. */
#include "backend/cpu/rows.h"
#include "ops/axis.h"

static size_t element_bytes(const hn_tensor *t)
{
    return hn_dtype_bytes(t->type.dtype);
}

static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu, (void)out;
    return !hn_is_block(call->in[0]->type.dtype);
}

static void copy_elements(const char *from, int64_t from_step, char *to, int64_t to_step, int64_t n,
                          size_t bytes)
{
    if (from_step == (int64_t)bytes && to_step == (int64_t)bytes) {
        memcpy(to, from, (size_t)n * bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        memcpy(to + i * to_step, from + i * from_step, bytes);
}

/* Rows [begin, end) of x into `box`, a view of its shape. */
static void copy_rows(const hn_tensor *x, const hn_tensor *box, int64_t begin, int64_t end)
{
    const int64_t n = hn_last_dim(&x->type);
    const int last = x->type.rank - 1;
    for (int64_t row = begin; row < end; row++)
        copy_elements((const char *)x->data + hn_offset_of(&x->type, row * n),
                      last < 0 ? 0 : x->type.stride[last],
                      (char *)box->data + hn_offset_of(&box->type, row * n),
                      last < 0 ? 0 : box->type.stride[last], n, element_bytes(x));
}

/* The view of y that begins at element `begin` of dimension `dim` and has x's shape, with every
 * step-th element of that dimension. */
static hn_tensor box_of(const hn_tensor *y, const hn_tensor *x, int dim, int64_t begin, int64_t step)
{
    hn_type type = y->type;
    for (int i = 0; i < type.rank; i++)
        type.dim[i] = x->type.dim[i];
    type.stride[dim] *= step;
    return hn_tensor_at(&type, (char *)y->data + begin * y->type.stride[dim]);
}

static int two_phases(const hn_cpu_task *task)
{
    (void)task;
    return 2;
}

/* ---- concat: a, then b; a phase each ---- */

static int64_t concat_units(const hn_cpu_task *task, int phase)
{
    return hn_rows(&task->call->in[phase]->type);
}

static void concat_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const int dim = axis_number(&call->out[0]->type, ((const axis_attrs *)call->attrs)->dim);
    const int64_t at = phase == 0 ? 0 : call->in[0]->type.dim[dim];
    (void)thread;
    const hn_tensor box = box_of(call->out[0], call->in[phase], dim, at, 1);
    copy_rows(call->in[phase], &box, begin, end);
}

const hn_cpu_binding hn_cpu_concat = { .op = &hn_op_concat, .supports = supports,
                                       .phases = two_phases, .units = concat_units,
                                       .run = concat_run };

/* ---- slice_grad, pad: one value everywhere, then the box ---- */

static int64_t framed_units(const hn_cpu_task *task, int phase)
{
    return hn_rows(&(phase == 0 ? task->call->out[0] : task->call->in[0])->type);
}

static void slice_grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                           int thread)
{
    enum { DY, X, BEFORE };
    const hn_call *call = task->call;
    const slice_grad_attrs *at = call->attrs;
    const hn_tensor *dx = call->out[0], *before = call->in[BEFORE];
    const size_t row = (size_t)hn_last_dim(&dx->type) * element_bytes(dx);
    (void)thread;
    if (phase == 0) {
        memset((char *)dx->data + (size_t)begin * row, 0, (size_t)(end - begin) * row);
        return;
    }
    const int dim = axis_number(&dx->type, at->dim);
    const int64_t first = (at->begin < 0 ? at->begin + dx->type.dim[dim] : at->begin) +
                          (before ? before->type.dim[dim] : 0);
    const hn_tensor box = box_of(dx, call->in[DY], dim, first, at->step);
    copy_rows(call->in[DY], &box, begin, end);
}

const hn_cpu_binding hn_cpu_slice_grad = { .op = &hn_op_slice_grad, .supports = supports,
                                           .phases = two_phases, .units = framed_units,
                                           .run = slice_grad_run };

static void pad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const pad_attrs *at = call->attrs;
    const hn_tensor *x = call->in[0], *y = call->out[0];
    const int64_t n = hn_last_dim(&y->type);
    (void)thread;
    if (phase == 0) {
        for (int64_t i = begin * n; i < end * n; i++)
            hn_set(y, i, (double)at->value);
        return;
    }
    hn_type type = y->type;
    int64_t first = 0;
    for (int d = 0; d < type.rank; d++) {
        type.dim[d] = x->type.dim[d];
        first += (at->before.n ? at->before.at[d] : 0) * type.stride[d];
    }
    const hn_tensor box = hn_tensor_at(&type, (char *)y->data + first);
    copy_rows(x, &box, begin, end);
}

const hn_cpu_binding hn_cpu_pad = { .op = &hn_op_pad, .supports = supports, .phases = two_phases,
                                    .units = framed_units, .run = pad_run };

/* ---- repeat: a row of y is a row of x, several times ---- */

static int64_t repeat_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    return hn_rows(&task->call->out[0]->type);
}

/* The row of x that row `row` of y shows. */
static int64_t row_shown(const hn_type *x, const hn_type *y, int64_t row)
{
    int64_t from = 0, step = 1;
    for (int d = x->rank - 2; d >= 0; d--) {
        from += row % y->dim[d] % x->dim[d] * step;
        step *= x->dim[d];
        row /= y->dim[d];
    }
    return from;
}

static void repeat_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_tensor *x = task->call->in[0], *y = task->call->out[0];
    const int64_t n = hn_last_dim(&x->type), width = hn_last_dim(&y->type);
    const size_t bytes = element_bytes(x);
    const int64_t step = x->type.rank ? x->type.stride[x->type.rank - 1] : 0;
    (void)phase, (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const int64_t from = row_shown(&x->type, &y->type, row) * n;
        for (int64_t at = 0; at < width; at += n)
            copy_elements((const char *)x->data + hn_offset_of(&x->type, from), step,
                          (char *)y->data + (size_t)(row * width + at) * bytes, (int64_t)bytes, n,
                          bytes);
    }
}

const hn_cpu_binding hn_cpu_repeat = { .op = &hn_op_repeat, .supports = supports,
                                       .units = repeat_units, .run = repeat_run };

/* ---- repeat_grad: the copies of a row, added in the order in which they lie ---- */

static bool repeat_grad_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(0);
    out->thread_scratch = (size_t)hn_last_dim(&call->out[0]->type) * 2 * sizeof(float);
    return hn_rows_are_floats(call->in, 1);
}

/* The element of dy where copy number `copy` of row `row` of dx begins. */
static int64_t copy_begins(const hn_ints *times, const hn_type *dx, int64_t row, int64_t copy)
{
    const int last = dx->rank - 1;
    int64_t at = copy % times->at[last] * dx->dim[last];
    int64_t step = dx->dim[last] * times->at[last];
    copy /= times->at[last];
    for (int d = last - 1; d >= 0; d--) {
        at += (copy % times->at[d] * dx->dim[d] + row % dx->dim[d]) * step;
        step *= dx->dim[d] * times->at[d];
        row /= dx->dim[d];
        copy /= times->at[d];
    }
    return at;
}

static void repeat_grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                            int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *dy = call->in[0], *dx = call->out[0];
    const hn_ints *times = &((const repeat_attrs *)call->attrs)->times;
    const int64_t n = hn_last_dim(&dx->type);
    const int64_t n_copies = hn_count(&dy->type) / hn_count(&dx->type);
    float *room = hn_cpu_scratch(task, thread);
    (void)phase;
    for (int64_t row = begin; row < end; row++) {
        float *sum = hn_row_out(dx, row, room + n);
        memset(sum, 0, (size_t)n * sizeof *sum);
        for (int64_t copy = 0; copy < n_copies; copy++) {
            const int64_t at = dx->type.rank ? copy_begins(times, &dx->type, row, copy) : copy;
            const char *from = (const char *)dy->data + (size_t)at * element_bytes(dy);
            task->cpu->kernels.reduce.sum_rows_f32(
                1, n, hn_strip_widen(task->cpu, dy->type.dtype, from, n, room), sum);
        }
        hn_row_done(task, dx, row, sum);
    }
}

const hn_cpu_binding hn_cpu_repeat_grad = { .op = &hn_op_repeat_grad,
                                            .supports = repeat_grad_supports,
                                            .units = repeat_units, .run = repeat_grad_run };
