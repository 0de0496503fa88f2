/* Ops that only move elements: contiguous, and sums to a smaller shape. */
#include "backend/cpu/rows.h"

/* ---- contiguous: rows of any strides to packed rows ---- */

static bool contiguous_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu, (void)out;
    return !hn_is_block(call->in[0]->type.dtype) && !call->in[0]->type.layout; /* else its forward reads rows back */
}

static void copy_row(const char *from, int64_t stride, int64_t n, size_t bytes, char *to)
{
    if (stride == (int64_t)bytes) {
        memcpy(to, from, (size_t)n * bytes);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        switch (bytes) {
        case 4:
            ((uint32_t *)(void *)to)[i] = *(const uint32_t *)(const void *)(from + i * stride);
            break;
        case 2:
            ((uint16_t *)(void *)to)[i] = *(const uint16_t *)(const void *)(from + i * stride);
            break;
        default:
            memcpy(to + (size_t)i * bytes, from + i * stride, bytes);
        }
}

static void contiguous_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                           int thread)
{
    const hn_tensor *x = task->call->in[0], *y = task->call->out[0];
    const int64_t n = hn_last_dim(&x->type);
    const size_t bytes = hn_dtype_bytes(x->type.dtype);
    const int64_t stride = x->type.rank ? x->type.stride[x->type.rank - 1] : (int64_t)bytes;
    (void)phase, (void)thread;
    for (int64_t row = begin; row < end; row++)
        copy_row((const char *)x->data + hn_offset_of(&x->type, row * n), stride, n, bytes,
                 (char *)y->data + (size_t)(row * n) * bytes);
}

const hn_cpu_binding hn_cpu_contiguous = { .op = &hn_op_contiguous, .supports = contiguous_supports,
                                           .units = hn_row_units, .run = contiguous_run };

/* ---- sum_to: to the trailing dimensions, or to one element ---- */

enum { X, LIKE, ACC };

/* Columns of the sum, if it keeps exactly the last of x's dimensions; else 0. */
static int64_t kept_columns(const hn_call *call)
{
    const hn_type *x = &call->in[X]->type, *like = &call->in[LIKE]->type;
    int64_t n = 1;
    bool keeps = true;
    for (int i = like->rank - 1; i >= 0; i--) {
        const int64_t own = x->dim[x->rank - like->rank + i];
        if (like->dim[i] == own && (keeps || own == 1))
            n *= own;
        else if (like->dim[i] != 1)
            return 0;
        else if (own != 1)
            keeps = false;
    }
    return n;
}

static bool sum_to_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X) | HN_IN(ACC);
    out->thread_scratch = HN_COLUMNS * sizeof(float);
    return hn_rows_are_floats(call->in, 1) && kept_columns(call) > 0;
}

static int64_t sum_to_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    return hn_column_units(kept_columns(task->call));
}

static void sum_to_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[X];
    const int64_t n = kept_columns(call), rows = hn_count(&x->type) / n;
    const size_t bytes = hn_dtype_bytes(x->type.dtype);
    (void)phase;
    for (int64_t at = begin * HN_COLUMNS; at < n && at < end * HN_COLUMNS; at += HN_COLUMNS) {
        const int64_t cols = n - at < HN_COLUMNS ? n - at : HN_COLUMNS;
        float *sum = hn_column_start(call->out[0], call->in[ACC], at, cols);
        for (int64_t row = 0; row < rows; row++) {
            const char *from = (const char *)x->data + (size_t)(row * n + at) * bytes;
            task->cpu->kernels.reduce.sum_rows_f32(
                1, cols,
                hn_strip_widen(task->cpu, x->type.dtype, from, cols, hn_cpu_scratch(task, thread)),
                sum);
        }
    }
}

const hn_cpu_binding hn_cpu_sum_to = { .op = &hn_op_sum_to, .supports = sum_to_supports,
                                       .units = sum_to_units, .run = sum_to_run };
