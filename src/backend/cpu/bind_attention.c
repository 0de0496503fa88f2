/* Fused attention and its gradient. Phase 0 writes the spans; the kernels' own phases follow.
 *
 *     shared:  | spans | the kernels' | gradients that nobody reads |
 */
#include "backend/cpu/cpu.h"
#include "backend/cpu/products.h"
#include "ops/attention_span.h"

#include <string.h>

_Static_assert(sizeof(hn_key_span) == sizeof(hn_attn_span), "spans are the same three numbers");

enum { Q, K, V, SINKS, SEGMENTS, Y, LSE, DY, ACC }; /* of attention_blocks, the table is where Y is */
enum { DQ, DK, DV, DSINKS };

static bool is_gradient(const hn_call *call) { return call->op == &hn_op_attention_grad; }

static size_t spans_bytes(const hn_call *call)
{
    return hn_round_scratch((size_t)call->in[Q]->type.dim[0] * sizeof(hn_key_span));
}

static size_t kernel_bytes(const hn_cpu *cpu, const hn_call *call)
{
    const hn_type *q = &call->in[Q]->type, *v = &call->in[V]->type;
    return hn_round_scratch(hn_attn_shared_bytes(q->dim[0], hn_attention_most_keys(call), q->dim[1], v->dim[2],
                                                 cpu->device.n_threads));
}

/* Gradients are f32 in the shape of their input, wherever they go. */
static size_t unread_bytes(const hn_call *call, int out)
{
    if (call->out[out])
        return 0;
    if (!is_gradient(call)) /* lse: the kernel writes it whether or not it is read */
        return out == 1 ? (size_t)hn_count(&call->in[Q]->type) * sizeof(float) : 0;
    return hn_round_scratch((size_t)hn_count(&call->in[Q + out]->type) * sizeof(float));
}

/* Whether heads and tokens lie anywhere, and a head's numbers side by side, as the kernels read keys and values. */
static bool lies_in_rows(const hn_type *t)
{
    return t->stride[2] == (int64_t)hn_dtype_bytes(t->dtype) && t->stride[0] % t->stride[2] == 0 &&
           t->stride[1] % t->stride[2] == 0;
}

static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    const hn_type *k = &call->in[K]->type;
    hn_elem elem;
    const bool back = is_gradient(call);
    if (call->in[Q]->type.dtype != HN_F32 || k->dtype != call->in[V]->type.dtype ||
        !hn_cpu_elem(k->dtype, &elem) || (back && hn_is_block(k->dtype)) ||
        (call->in[SINKS] && call->in[SINKS]->type.dtype != HN_F32))
        return false;
    const hn_tensor *table = hn_attention_table(call);
    if (table && table->type.dtype != HN_I32)
        return false;
    for (int i = Y; back && i <= ACC; i++)
        if (call->in[i] && call->in[i]->type.dtype != HN_F32)
            return false;
    out->contiguous = ~0u;
    for (int i = K; !back && i <= V; i++) /* a cache whose values are columns of its keys is no copy */
        if (lies_in_rows(&call->in[i]->type))
            out->contiguous &= ~HN_IN(i);
    out->shared_scratch = spans_bytes(call) + kernel_bytes(cpu, call) + unread_bytes(call, DQ) +
                          unread_bytes(call, DK) + unread_bytes(call, DV);
    out->thread_scratch =
        hn_attn_scratch_bytes(call->in[Q]->type.dim[2], call->in[V]->type.dim[2]);
    return true;
}

static hn_attn_rows rows_of(const hn_type *t, void *data)
{
    const int64_t width = t->rank > 2 ? t->dim[2] : 1;
    const int64_t token_stride = t->dim[1] * width;
    return (hn_attn_rows){ data, token_stride, width };
}

static hn_attn_rows tensor_rows(const hn_tensor *t)
{
    return t ? rows_of(&t->type, t->data) : (hn_attn_rows){ 0 };
}

/* The same of keys or values, whose rows may lie apart; strides count elements. */
static hn_attn_rows apart_rows(const hn_tensor *t)
{
    const hn_type *type = &t->type;
    const int64_t per = hn_dtype_block(type->dtype), bytes = (int64_t)hn_dtype_bytes(type->dtype);
    return (hn_attn_rows){ t->data, type->stride[0] / bytes * per, type->stride[1] / bytes * per };
}

static void backward_args(const hn_cpu_task *task, hn_attn_args *args, char *unread)
{
    const hn_call *call = task->call;
    hn_attn_rows *const to[] = { &args->dq, &args->dk, &args->dv };
    for (int o = 0; o < 3; o++) {
        *to[o] = call->out[o] ? tensor_rows(call->out[o]) : rows_of(&call->in[o]->type, unread);
        unread += unread_bytes(call, o);
    }
    args->o = tensor_rows(call->in[Y]);
    args->lse = tensor_rows(call->in[LSE]);
    args->dout = tensor_rows(call->in[DY]);
    args->dsinks = call->in[SINKS] && call->out[DSINKS] ? call->out[DSINKS]->data : NULL;
}

static hn_attn_args forward_args(const hn_cpu_task *task)
{
    const hn_call *call = task->call;
    const hn_attention_attrs *own = call->attrs;
    const hn_tensor *table = hn_attention_table(call);
    const hn_type *q = &call->in[Q]->type, *k = &call->in[K]->type, *v = &call->in[V]->type;
    hn_attn_args args = {
        .n_q = q->dim[0],
        .n_k = hn_attention_most_keys(call),
        .n_head = q->dim[1],
        .n_kv_head = k->dim[1],
        .d = q->dim[2],
        .d_v = v->dim[2],
        .q = tensor_rows(call->in[Q]),
        .k = apart_rows(call->in[K]),
        .v = apart_rows(call->in[V]),
        .spans = (const hn_attn_span *)(const void *)task->shared,
        .sinks = call->in[SINKS] ? call->in[SINKS]->data : NULL,
        .scale = (float)hn_attention_scale(call),
        .softcap = own->softcap,
        .window = own->window,
        .is_causal = own->causal,
        .table = table ? table->data : NULL,
    };
    hn_cpu_elem(k->dtype, &args.kv_type);
    return args;
}

static void make_plan(const hn_cpu_task *task, hn_attn_plan *plan)
{
    const hn_call *call = task->call;
    const hn_type *q = &call->in[Q]->type;
    hn_attn_args args = forward_args(task);
    if (is_gradient(call)) {
        backward_args(task, &args,
                      task->shared + spans_bytes(call) + kernel_bytes(task->cpu, call));
        hn_attn_plan_backward(plan, &args, task->cpu->device.n_threads);
        return;
    }
    args.o = tensor_rows(call->out[0]);
    args.lse =
        call->out[1]
            ? tensor_rows(call->out[1])
            : (hn_attn_rows){ task->shared + spans_bytes(call) + kernel_bytes(task->cpu, call),
                              q->dim[1], 1 };
    hn_attn_plan_forward(plan, &args, task->cpu->device.n_threads);
}

static int phases(const hn_cpu_task *task)
{
    (void)task;
    return 1 + HN_ATTN_PHASES;
}

static int64_t units(const hn_cpu_task *task, int phase)
{
    hn_attn_plan plan;
    if (phase == 0)
        return 1;
    make_plan(task, &plan);
    return plan.units[phase - 1];
}

static void start(const hn_cpu_task *task)
{
    const hn_call *call = task->call;
    hn_attention_spans(call->in[SEGMENTS], call->in[Q]->type.dim[0], call->in[K]->type.dim[0],
                       (hn_key_span *)(void *)task->shared);
    if (!is_gradient(call) || !call->out[DSINKS])
        return;
    const size_t bytes = hn_type_bytes(&call->out[DSINKS]->type);
    void *sum = call->out[DSINKS]->data;
    if (!call->in[ACC])
        memset(sum, 0, bytes);
    else if (call->in[ACC]->data != sum)
        memcpy(sum, call->in[ACC]->data, bytes);
}

static void run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    hn_attn_plan plan;
    if (phase == 0) {
        start(task);
        return;
    }
    make_plan(task, &plan);
    const hn_attn_kernels *k = &task->cpu->kernels.attn;
    void *scratch = hn_cpu_scratch(task, thread),
         *shared = task->shared + spans_bytes(task->call);
    (is_gradient(task->call) ? k->backward : k->forward)(&plan, phase - 1, begin, end, scratch,
                                                         shared);
}

/* ---- eager: spans, then blocks of rows ---- */

static bool supports_eager(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    const hn_type *k = &call->in[K]->type, *v = &call->in[V]->type;
    if (!supports(cpu, call, out))
        return false;
    out->shared_scratch = spans_bytes(call);
    out->thread_scratch = hn_attn_eager_scratch_bytes(k->dim[2], v->dim[2], hn_attention_most_keys(call),
                                                      ((const hn_attention_attrs *)call->attrs)->window);
    return true;
}

static int phases_eager(const hn_cpu_task *task)
{
    (void)task;
    return 2;
}

static int64_t units_eager(const hn_cpu_task *task, int phase)
{
    const hn_attn_args args = forward_args(task);
    return phase == 0 ? 1 : hn_attn_eager_units(&args);
}

static void run_eager(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,
                      int thread)
{
    hn_attn_args args = forward_args(task);
    args.o = tensor_rows(task->call->out[0]);
    if (phase == 0)
        start(task);
    else
        task->cpu->kernels.attn.eager(&args, begin, end, hn_cpu_scratch(task, thread));
}

const hn_cpu_binding hn_cpu_attention_eager = { .op = &hn_op_attention_eager,
                                                .supports = supports_eager,
                                                .phases = phases_eager,
                                                .units = units_eager,
                                                .run = run_eager };
const hn_cpu_binding hn_cpu_attention = {
    .op = &hn_op_attention, .supports = supports, .phases = phases, .units = units, .run = run
};
const hn_cpu_binding hn_cpu_attention_blocks = { .op = &hn_op_attention_blocks,
                                               .supports = supports,
                                               .phases = phases,
                                               .units = units,
                                               .run = run };
const hn_cpu_binding hn_cpu_attention_grad = { .op = &hn_op_attention_grad,
                                               .supports = supports,
                                               .phases = phases,
                                               .units = units,
                                               .run = run };
