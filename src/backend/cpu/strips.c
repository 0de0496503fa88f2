/* Where all inputs are whole or single, the output is one long row; else rows are taken one by one,
 * several to a unit when they are short. */
#include "backend/cpu/strips.h"

#include <string.h>

static bool is_kernel_type(hn_dtype dtype)
{
    return dtype == HN_F32 || dtype == HN_F16 || dtype == HN_BF16;
}

/* Whether input `t` can be read along the output's last dimension as it lies. */
static bool is_ready(const hn_type *t, const hn_type *out)
{
    if (t->rank == 0 || hn_last_dim(t) == 1 || hn_last_dim(out) == 1)
        return true;
    return t->stride[t->rank - 1] == (int64_t)hn_dtype_bytes(t->dtype) || t->stride[t->rank - 1] == 0;
}

bool hn_strips_support(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    bool narrow = false;
    for (int i = 0; i < call->n_in; i++) {
        if (!call->in[i] || !hn_op_reads(call->op, i))
            continue;
        const hn_type *t = &call->in[i]->type;
        if (!is_kernel_type(t->dtype) && t->dtype != HN_U8)
            return false;
        narrow = narrow || t->dtype == HN_F16 || t->dtype == HN_BF16;
        if (!is_ready(t, &call->out[0]->type))
            out->contiguous |= HN_IN(i);
    }
    for (int o = 0; o < call->n_out; o++) {
        if (!call->out[o]) { /* nobody reads it: the kernel writes it into scratch */
            narrow = true;
            continue;
        }
        if (!is_kernel_type(call->out[o]->type.dtype))
            return false;
        narrow = narrow || call->out[o]->type.dtype != HN_F32;
    }
    out->thread_scratch =
        narrow ? (HN_STRIP_IN + HN_STRIP_OUT) * HN_STRIP * sizeof(float) : 0;
    return true;
}

static bool is_flat(const hn_type *t, const hn_type *out)
{
    return hn_count(t) == 1 || (hn_same_shape(t, out) && hn_is_contiguous(t));
}

typedef struct cut {
    int64_t rows, length, rows_per_unit;
    bool is_flat;
} cut;

static cut cut_of(const hn_call *call)
{
    const hn_type *y = &call->out[0]->type;
    cut c = { .rows = 1, .length = hn_count(y), .rows_per_unit = 1, .is_flat = true };
    for (int i = 0; i < call->n_in; i++)
        if (call->in[i] && hn_op_reads(call->op, i) && !is_flat(&call->in[i]->type, y))
            c.is_flat = false;
    if (c.is_flat)
        return c;
    c.length = hn_last_dim(y);
    c.rows = hn_rows(y);
    c.rows_per_unit = c.length >= HN_STRIP ? 1 : HN_STRIP / c.length;
    return c;
}

int64_t hn_strips_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    const cut c = cut_of(task->call);
    if (c.is_flat)
        return (c.length + HN_STRIP - 1) / HN_STRIP;
    return (c.rows + c.rows_per_unit - 1) / c.rows_per_unit;
}

const float *hn_strip_widen(const hn_cpu *cpu, hn_dtype dtype, const void *from, int64_t n,
                            float *room)
{
    if (dtype == HN_F16)
        cpu->kernels.convert.f16_to_f32(n, from, room);
    else if (dtype == HN_BF16)
        cpu->kernels.convert.bf16_to_f32(n, from, room);
    else
        return from;
    return room;
}

void hn_strip_narrow(const hn_cpu *cpu, hn_dtype dtype, const float *from, int64_t n, void *to)
{
    if (dtype == HN_F16)
        cpu->kernels.convert.f32_to_f16(n, from, to);
    else if (dtype == HN_BF16)
        cpu->kernels.convert.f32_to_bf16(n, from, to);
}

/* Byte offset of row `row` of the output's shape in an input that broadcasts to it. */
static int64_t row_offset(const hn_type *t, const hn_type *y, int64_t row)
{
    int64_t at = 0;
    for (int d = y->rank - 2; d >= 0; d--) {
        const int own = d - (y->rank - t->rank);
        if (own >= 0 && t->dim[own] != 1)
            at += row % y->dim[d] * t->stride[own];
        row /= y->dim[d];
    }
    return at;
}

/* One strip: elements [at, at + n) of row `row`. */
static void run_strip(const hn_cpu_task *task, const cut *c, int64_t row, int64_t at, int64_t n,
                      float *room, hn_strip_fn *fn)
{
    const hn_call *call = task->call;
    const hn_type *y = &call->out[0]->type;
    hn_strip s = { .n = n };
    for (int i = 0; i < call->n_in && i < HN_STRIP_IN; i++) {
        if (!call->in[i] || !hn_op_reads(call->op, i))
            continue;
        const hn_type *t = &call->in[i]->type;
        const int64_t bytes = (int64_t)hn_dtype_bytes(t->dtype);
        const bool single = c->is_flat ? hn_count(t) == 1 && c->length > 1
                                       : hn_last_dim(t) == 1 || t->stride[t->rank - 1] == 0;
        const char *from = (const char *)call->in[i]->data +
                           (c->is_flat ? 0 : row_offset(t, y, row)) + (single ? 0 : at * bytes);
        s.step[i] = single ? 0 : 1;
        s.in[i] = t->dtype == HN_U8
                      ? (const void *)from
                      : hn_strip_widen(task->cpu, t->dtype, from, single ? 1 : n,
                                       room ? room + i * HN_STRIP : NULL);
    }
    const int64_t to = row * c->length + at;
    for (int o = 0; o < call->n_out && o < HN_STRIP_OUT; o++) {
        const hn_tensor *t = call->out[o];
        s.out[o] = t && t->type.dtype == HN_F32 ? (float *)t->data + to
                                                : room + (HN_STRIP_IN + o) * HN_STRIP;
    }
    fn(task, &s);
    for (int o = 0; o < call->n_out && o < HN_STRIP_OUT; o++) {
        const hn_tensor *t = call->out[o];
        if (t)
            hn_strip_narrow(task->cpu, t->type.dtype, s.out[o], n,
                            (char *)t->data + to * (int64_t)hn_dtype_bytes(t->type.dtype));
    }
}

void hn_strips_run(const hn_cpu_task *task, int64_t begin, int64_t end, int thread,
                   hn_strip_fn *fn)
{
    const cut c = cut_of(task->call);
    float *room = task->thread_bytes ? hn_cpu_scratch(task, thread) : NULL;
    if (c.is_flat) {
        const int64_t last = end * HN_STRIP < c.length ? end * HN_STRIP : c.length;
        for (int64_t at = begin * HN_STRIP; at < last; at += HN_STRIP)
            run_strip(task, &c, 0, at, last - at < HN_STRIP ? last - at : HN_STRIP, room, fn);
        return;
    }
    const int64_t last = end * c.rows_per_unit < c.rows ? end * c.rows_per_unit : c.rows;
    for (int64_t row = begin * c.rows_per_unit; row < last; row++)
        for (int64_t at = 0; at < c.length; at += HN_STRIP)
            run_strip(task, &c, row, at, c.length - at < HN_STRIP ? c.length - at : HN_STRIP, room,
                      fn);
}
