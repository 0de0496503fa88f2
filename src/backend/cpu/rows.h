/* rows.h: ops that work on whole rows (the last dimension), one row a unit, widened to f32. */
#ifndef HN_BACKEND_CPU_ROWS_H
#define HN_BACKEND_CPU_ROWS_H

#include "backend/cpu/strips.h"

#include <string.h>

/* Whether all of these types have kernels: f32, f16, bf16. Absent tensors do. */
static inline bool hn_rows_are_floats(const hn_tensor *const *t, int n)
{
    for (int i = 0; i < n; i++)
        if (t[i] && t[i]->type.dtype != HN_F32 && t[i]->type.dtype != HN_F16 &&
            t[i]->type.dtype != HN_BF16)
            return false;
    return true;
}

static inline int64_t hn_row_length(const hn_call *call)
{
    return hn_last_dim(&call->in[0]->type);
}

static inline int64_t hn_row_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    return hn_rows(&task->call->in[0]->type);
}

/* Row `row` of a contiguous tensor as f32: in place, or widened into `room`. */
static inline const float *hn_row_in(const hn_cpu_task *task, const hn_tensor *t, int64_t row,
                                     float *room)
{
    const int64_t n = hn_last_dim(&t->type);
    const size_t bytes = hn_dtype_bytes(t->type.dtype);
    return hn_strip_widen(task->cpu, t->type.dtype, (const char *)t->data + (size_t)(row * n) * bytes,
                          n, room);
}

/* Where a kernel may write row `row` of an output as f32; hn_row_done rounds it if it is narrow. */
static inline float *hn_row_out(const hn_tensor *t, int64_t row, float *room)
{
    return t && t->type.dtype == HN_F32 ? (float *)t->data + row * hn_last_dim(&t->type) : room;
}

static inline void hn_row_done(const hn_cpu_task *task, const hn_tensor *t, int64_t row,
                               const float *from)
{
    const int64_t n = hn_last_dim(&t->type);
    const size_t bytes = hn_dtype_bytes(t->type.dtype);
    hn_strip_narrow(task->cpu, t->type.dtype, from, n, (char *)t->data + (size_t)(row * n) * bytes);
}

enum { HN_STREAM_BYTES = 64 << 20 }; /* what no cache holds till somebody reads it */

/* Whether a row y of output 0, made of x, is written past the caches: a line that is not read before it is
 * written costs a third less. */
static inline bool hn_row_streams(const hn_call *call, const float *x, const float *y)
{
    const hn_type *t = &call->out[0]->type;
    return t->dtype == HN_F32 && x != y && hn_type_bytes(t) >= HN_STREAM_BYTES &&
           hn_last_dim(t) % 16 == 0 && (uintptr_t)y % 64 == 0;
}

/* Scratch of `rows` rows of this call's length for each thread. */
static inline size_t hn_row_scratch(const hn_call *call, int rows)
{
    return (size_t)(hn_row_length(call) * rows) * sizeof(float);
}

/* Sums over rows are cut into blocks of columns: every column is a chain of its own. */
enum { HN_COLUMNS = 256 };

static inline int64_t hn_column_units(int64_t n)
{
    return (n + HN_COLUMNS - 1) / HN_COLUMNS;
}

/* Columns [at, at + n) of row `row` as f32. */
static inline const float *hn_columns_in(const hn_cpu_task *task, const hn_tensor *t, int64_t row,
                                         int64_t at, int64_t n, float *room)
{
    const size_t bytes = hn_dtype_bytes(t->type.dtype);
    const int64_t first = row * hn_last_dim(&t->type) + at;
    return hn_strip_widen(task->cpu, t->type.dtype, (const char *)t->data + (size_t)first * bytes, n,
                          room);
}

/* Columns [at, at + n) of a sum before its first row: zero, or where `acc` left off. */
static inline float *hn_column_start(const hn_tensor *sum, const hn_tensor *acc, int64_t at,
                                     int64_t n)
{
    float *to = (float *)sum->data + at;
    if (!acc)
        memset(to, 0, (size_t)n * sizeof(float));
    else if (acc->data != sum->data)
        memcpy(to, (const float *)acc->data + at, (size_t)n * sizeof(float));
    return to;
}

#endif
