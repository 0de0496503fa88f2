/* Rows by number: gather, scatter, scatter_add, set_rows. Where two rows may go to one place, a unit
 * is a block of columns that takes all rows in ascending order. */
#include "backend/cpu/products.h"
#include "backend/cpu/rows.h"

enum { COLUMNS = 1024 }; /* of set_rows, a unit */

static size_t row_bytes(const hn_type *t)
{
    return (size_t)(hn_last_dim(t) / hn_dtype_block(t->dtype)) * hn_dtype_bytes(t->dtype);
}

/* The row of `t` that element i of ids means: `t` may hold a matrix for each sequence. */
static int64_t row_of(const hn_type *t, const hn_tensor *ids, int64_t i)
{
    const int64_t n = hn_count(&ids->type);
    const int64_t of_one = t->rank == 3 ? n / t->dim[0] : n;
    return i / of_one * t->dim[t->rank - 2] + hn_get_int(ids, i);
}

static int two_phases(const hn_cpu_task *task)
{
    (void)task;
    return 2;
}

/* ---- gather ---- */

enum { W, IDS };

static bool gather_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    const hn_type *w = &call->in[W]->type;
    out->contiguous = HN_IN(IDS);
    if (!hn_is_contiguous(w))
        out->contiguous |= HN_IN(W);
    out->packed = HN_IN(W);
    if (w->layout) /* a row in blocks, on its way to f32 */
        out->thread_scratch = row_bytes(w);
    return true;
}

static int64_t gather_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    return hn_count(&task->call->in[IDS]->type);
}

static void gather_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_tensor *w = task->call->in[W], *ids = task->call->in[IDS], *y = task->call->out[0];
    const size_t from_bytes = row_bytes(&w->type), to_bytes = row_bytes(&y->type);
    hn_elem elem = HN_ELEM_f32;
    const bool is_decoded = hn_is_block(w->type.dtype) && hn_cpu_elem(w->type.dtype, &elem);
    const hn_layout *packed = w->type.layout;
    (void)phase;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = row_of(&w->type, ids, i);
        const char *from = packed ? hn_cpu_scratch(task, thread) : (const char *)w->data + (size_t)row * from_bytes;
        if (packed)
            packed->row(&w->type, w->data, row, 0, hn_last_dim(&w->type), hn_cpu_scratch(task, thread));
        char *to = (char *)y->data + (size_t)i * to_bytes;
        if (is_decoded)
            task->cpu->kernels.decode.row[elem](hn_last_dim(&w->type), from,
                                                 (float *)(void *)to);
        else
            memcpy(to, from, to_bytes);
    }
}

const hn_cpu_binding hn_cpu_gather = { .op = &hn_op_gather, .supports = gather_supports,
                                       .units = gather_units, .run = gather_run };

/* ---- scatter_add: the start of every row, then blocks of columns ---- */

enum { X, LIKE = 2, ACC };

static bool scatter_add_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X) | HN_IN(IDS) | HN_IN(ACC);
    out->thread_scratch = HN_COLUMNS * sizeof(float);
    return hn_rows_are_floats(call->in, 1);
}

static int64_t scatter_add_units(const hn_cpu_task *task, int phase)
{
    const hn_tensor *y = task->call->out[0], *acc = task->call->in[ACC];
    if (phase == 0)
        return acc && acc->data == y->data ? 0 : hn_rows(&y->type);
    return hn_column_units(hn_last_dim(&y->type));
}

static void scatter_add_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                            int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[X], *ids = call->in[IDS], *acc = call->in[ACC], *y = call->out[0];
    const int64_t c = hn_last_dim(&y->type), n = hn_count(&ids->type);
    if (phase == 0) {
        float *to = (float *)y->data + begin * c;
        const size_t bytes = (size_t)((end - begin) * c) * sizeof(float);
        if (acc)
            memcpy(to, (const float *)acc->data + begin * c, bytes);
        else
            memset(to, 0, bytes);
        return;
    }
    const int64_t from = begin * HN_COLUMNS, to = end * HN_COLUMNS < c ? end * HN_COLUMNS : c;
    for (int64_t i = 0; i < n; i++) {
        float *row = (float *)y->data + row_of(&y->type, ids, i) * c;
        for (int64_t at = from; at < to; at += HN_COLUMNS) {
            const int64_t cols = to - at < HN_COLUMNS ? to - at : HN_COLUMNS;
            task->cpu->kernels.reduce.sum_rows_f32(
                1, cols, hn_columns_in(task, x, i, at, cols, hn_cpu_scratch(task, thread)),
                row + at);
        }
    }
}

const hn_cpu_binding hn_cpu_scatter_add = { .op = &hn_op_scatter_add,
                                            .supports = scatter_add_supports,
                                            .phases = two_phases, .units = scatter_add_units,
                                            .run = scatter_add_run };

/* ---- scatter: zeros, then rows, each to a place of its own ---- */

static bool scatter_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X) | HN_IN(IDS);
    return !hn_is_block(call->in[X]->type.dtype);
}

static int64_t scatter_units(const hn_cpu_task *task, int phase)
{
    return hn_rows(&(phase == 0 ? task->call->out[0] : task->call->in[X])->type);
}

static void scatter_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_tensor *x = task->call->in[X], *ids = task->call->in[IDS], *y = task->call->out[0];
    const size_t bytes = row_bytes(&y->type);
    (void)thread;
    if (phase == 0) {
        memset((char *)y->data + (size_t)begin * bytes, 0, (size_t)(end - begin) * bytes);
        return;
    }
    for (int64_t i = begin; i < end; i++)
        memcpy((char *)y->data + (size_t)hn_get_int(ids, i) * bytes,
               (const char *)x->data + (size_t)i * bytes, bytes);
}

const hn_cpu_binding hn_cpu_scatter = { .op = &hn_op_scatter, .supports = scatter_supports,
                                        .phases = two_phases, .units = scatter_units,
                                        .run = scatter_run };

/* ---- set_rows: the state where it is not in place, then blocks of columns ---- */

enum { STATE, ROWS, PLACES };

static int64_t width_of(const hn_tensor *state)
{
    return hn_count(&state->type) / state->type.dim[0];
}

static bool set_rows_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    const hn_tensor *state = call->in[STATE];
    out->contiguous = HN_IN(ROWS) | HN_IN(PLACES);
    out->thread_scratch = COLUMNS * sizeof(float);
    if (hn_is_block(state->type.dtype)) {
        out->contiguous |= HN_IN(STATE);
        return hn_rows_are_floats(call->in + ROWS, 1);
    }
    return state->type.dtype == call->in[ROWS]->type.dtype || hn_rows_are_floats(call->in, 2);
}

static int64_t set_rows_units(const hn_cpu_task *task, int phase)
{
    const hn_tensor *state = task->call->in[STATE], *y = task->call->out[0];
    if (phase == 0)
        return state->data == y->data ? 0 : y->type.dim[0];
    return (width_of(y) + COLUMNS - 1) / COLUMNS;
}

/* Elements [begin, end) of a state that is not updated in place. */
static void copy_state(const hn_tensor *state, const hn_tensor *y, int64_t begin, int64_t end)
{
    const size_t bytes = hn_dtype_bytes(y->type.dtype);
    if (hn_is_block(y->type.dtype)) {
        const hn_format *format = hn_dtype_format(y->type.dtype);
        begin = hn_format_bytes(format, begin), end = hn_format_bytes(format, end);
        memcpy((char *)y->data + begin, (const char *)state->data + begin, (size_t)(end - begin));
    } else if (hn_is_contiguous(&state->type))
        memcpy((char *)y->data + (size_t)begin * bytes,
               (const char *)state->data + (size_t)begin * bytes, (size_t)(end - begin) * bytes);
    else
        for (int64_t i = begin; i < end; i++)
            hn_set(y, i, hn_get(state, i));
}

static void set_row(const hn_cpu_task *task, const char *from, char *to, int64_t n, float *room)
{
    const hn_dtype x = task->call->in[ROWS]->type.dtype, y = task->call->out[0]->type.dtype;
    if (hn_is_block(y)) {
        const hn_format *format = hn_dtype_format(y);
        const float *wide = hn_strip_widen(task->cpu, x, from, n, room);
        for (int64_t i = 0; i < n; i += format->block_elements)
            hn_format_store(format, wide + i, to + hn_format_bytes(format, i));
        return;
    }
    if (x == y || y == HN_F32) {
        const void *wide = x == y ? (const void *)from
                                  : hn_strip_widen(task->cpu, x, from, n, room);
        memcpy(to, wide, (size_t)n * hn_dtype_bytes(y));
        return;
    }
    hn_strip_narrow(task->cpu, y, hn_strip_widen(task->cpu, x, from, n, room), n, to);
}

static void set_rows_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                         int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[ROWS], *ids = call->in[PLACES], *y = call->out[0];
    const int64_t width = width_of(y), n = hn_count(&ids->type);
    const size_t x_bytes = hn_dtype_bytes(x->type.dtype);
    const int64_t bytes = (int64_t)hn_dtype_bytes(y->type.dtype), block = hn_dtype_block(y->type.dtype);
    if (phase == 0) {
        copy_state(call->in[STATE], y, begin * width, end * width);
        return;
    }
    const int64_t last = end * COLUMNS < width ? end * COLUMNS : width;
    for (int64_t i = 0; i < n; i++)
        for (int64_t at = begin * COLUMNS; at < last; at += COLUMNS)
            set_row(task, (const char *)x->data + (size_t)(i * width + at) * x_bytes,
                    (char *)y->data + (hn_get_int(ids, i) * width + at) / block * bytes,
                    last - at < COLUMNS ? last - at : COLUMNS, hn_cpu_scratch(task, thread));
}

const hn_cpu_binding hn_cpu_set_rows = { .op = &hn_op_set_rows, .supports = set_rows_supports,
                                         .phases = two_phases, .units = set_rows_units,
                                         .run = set_rows_run };

/* ---- take and its gradient: elements of a row by number, a row at a time ---- */

static bool take_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X) | HN_IN(IDS);
    out->thread_scratch = (size_t)hn_last_dim(&call->out[0]->type) * sizeof(float);
    return hn_rows_are_floats(call->in, 1);
}

static int64_t take_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    return hn_rows(&task->call->out[0]->type);
}

static void take_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_tensor *x = task->call->in[X], *ids = task->call->in[IDS], *y = task->call->out[0];
    const int64_t n = hn_last_dim(&x->type), k = hn_last_dim(&ids->type);
    (void)phase, (void)thread;
    for (int64_t i = begin * k; i < end * k; i++)
        hn_set(y, i, hn_get(x, i / k * n + hn_get_int(ids, i)));
}

const hn_cpu_binding hn_cpu_take = { .op = &hn_op_take, .supports = take_supports,
                                     .units = take_units, .run = take_run };

static void take_grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                          int thread)
{
    const hn_tensor *dy = task->call->in[X], *ids = task->call->in[IDS], *dx = task->call->out[0];
    const int64_t n = hn_last_dim(&dx->type), k = hn_last_dim(&ids->type);
    (void)phase;
    for (int64_t row = begin; row < end; row++) {
        float *to = hn_row_out(dx, row, hn_cpu_scratch(task, thread));
        memset(to, 0, (size_t)n * sizeof *to);
        for (int64_t i = row * k; i < (row + 1) * k; i++)
            to[hn_get_int(ids, i)] += (float)hn_get(dy, i);
        hn_row_done(task, dx, row, to);
    }
}

const hn_cpu_binding hn_cpu_take_grad = { .op = &hn_op_take_grad, .supports = take_supports,
                                          .units = take_units, .run = take_grad_run };
