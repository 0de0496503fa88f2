/* combine and its gradient: a token's experts put together, and taken apart, by products of one row
 * of weights or of one row of dy. */
#include "backend/cpu/rows.h"

enum { X, WEIGHTS, DY };

static bool combine_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    const int n_in = call->op == &hn_op_combine ? 2 : 3;
    out->contiguous = HN_IN(X) | HN_IN(WEIGHTS) | HN_IN(DY);
    out->thread_scratch =
        hn_round_scratch((size_t)(2 * hn_row_length(call) + 2 * call->in[X]->type.dim[1]) *
                         sizeof(float)) +
        hn_gemm_chain_scratch_bytes(&cpu->kernels.gemm);
    return hn_rows_are_floats(call->in, n_in);
}

static int64_t token_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    return task->call->in[X]->type.dim[0];
}

/* Scratch of one token: a row, a row, its weights, their gradients; and the products'. */
typedef struct room {
    float *row, *to, *weights, *slopes;
    void *gemm;
} room;

static room room_of(const hn_cpu_task *task, int thread)
{
    const int64_t n = hn_row_length(task->call), n_used = task->call->in[X]->type.dim[1];
    float *at = hn_cpu_scratch(task, thread);
    return (room){ at, at + n, at + 2 * n, at + 2 * n + n_used,
                   (char *)(void *)at +
                       hn_round_scratch((size_t)(2 * n + 2 * n_used) * sizeof(float)) };
}

static hn_gemm_operand rows_of_token(const hn_tensor *x, int64_t token, bool is_summed)
{
    const int64_t bytes = (int64_t)hn_dtype_bytes(x->type.dtype), n = hn_last_dim(&x->type);
    hn_gemm_operand a = { .data = (const char *)x->data + token * x->type.dim[1] * n * bytes,
                          .outer_stride = is_summed ? bytes : n * bytes,
                          .k_stride = is_summed ? n * bytes : bytes };
    hn_elem elem = HN_ELEM_f32;
    if (x->type.dtype == HN_F16)
        elem = HN_ELEM_f16;
    else if (x->type.dtype == HN_BF16)
        elem = HN_ELEM_bf16;
    a.type = elem;
    return a;
}

static hn_gemm_operand plain(const float *data)
{
    return (hn_gemm_operand){ .data = data, .outer_stride = sizeof(float),
                              .k_stride = sizeof(float), .type = HN_ELEM_f32 };
}

static void multiply(const hn_cpu_task *task, const hn_gemm_args *args, void *scratch)
{
    hn_gemm_plan plan;
    hn_gemm_plan_make(&plan, &task->cpu->kernels.gemm, args, 1);
    hn_gemm_run(&plan, 0, plan.units, scratch);
}

static void combine_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[X], *y = call->out[0];
    const int64_t n_used = x->type.dim[1], n = hn_row_length(call);
    const room r = room_of(task, thread);
    (void)phase;
    for (int64_t t = begin; t < end; t++) {
        float *to = hn_row_out(y, t, r.to);
        const float *weights = hn_row_in(task, call->in[WEIGHTS], t, r.weights);
        const hn_gemm_args args = { .m = 1, .n = n, .k = n_used, .a = plain(weights),
                                    .b = rows_of_token(x, t, true), .c = to,
                                    .c_row_stride = n * (int64_t)sizeof(float),
                                    .c_col_stride = sizeof(float) };
        multiply(task, &args, r.gemm);
        hn_row_done(task, y, t, to);
    }
}

const hn_cpu_binding hn_cpu_combine = { .op = &hn_op_combine, .supports = combine_supports,
                                        .units = token_units, .run = combine_run };

/* A token's rows of x are all read before dx is written over them. */
static void combine_grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                             int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[X], *dx = call->out[0], *dweights = call->out[1];
    const int64_t n_used = x->type.dim[1], n = hn_row_length(call);
    const room r = room_of(task, thread);
    (void)phase;
    for (int64_t t = begin; t < end; t++) {
        const float *dy = hn_row_in(task, call->in[DY], t, r.row);
        const float *weights = hn_row_in(task, call->in[WEIGHTS], t, r.weights);
        if (dweights) {
            float *slopes = hn_row_out(dweights, t, r.slopes);
            const hn_gemm_args args = { .m = n_used, .n = 1, .k = n,
                                        .a = rows_of_token(x, t, false), .b = plain(dy),
                                        .c = slopes, .c_row_stride = sizeof(float),
                                        .c_col_stride = sizeof(float) };
            multiply(task, &args, r.gemm);
            hn_row_done(task, dweights, t, slopes);
        }
        for (int64_t u = 0; u < n_used; u++) {
            const float by[2] = { weights[u], 0 };
            float *to = hn_row_out(dx, t * n_used + u, r.to);
            task->cpu->kernels.elemwise.scale_f32(n, dy, to, by);
            hn_row_done(task, dx, t * n_used + u, to);
        }
    }
}

const hn_cpu_binding hn_cpu_combine_grad = { .op = &hn_op_combine_grad,
                                             .supports = combine_supports, .units = token_units,
                                             .run = combine_grad_run };
