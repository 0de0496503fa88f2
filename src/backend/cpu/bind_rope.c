/* rope_angles and rope, a token at a time: frequencies once for a few tokens, cosines and sines once for
 * each. dropout, a token or a strip at a time: each has its own place in the random stream. */
#include "backend/cpu/rows.h"
#include "ops/attrs.h"
#include "ops/dropout_key.h"
#include "ops/rope_table.h"

static int64_t token_elements(const hn_tensor *x)
{
    return hn_count(&x->type) / x->type.dim[0];
}

/* `n` elements from `at` on, of a contiguous tensor. */
static const float *span_in(const hn_cpu_task *task, const hn_tensor *t, int64_t at, int64_t n,
                            float *room)
{
    const char *from = (const char *)t->data + (size_t)at * hn_dtype_bytes(t->type.dtype);
    return hn_strip_widen(task->cpu, t->type.dtype, from, n, room);
}

static float *span_out(const hn_tensor *t, int64_t at, float *room)
{
    return t->type.dtype == HN_F32 ? (float *)t->data + at : room;
}

static void span_done(const hn_cpu_task *task, const hn_tensor *t, int64_t at, int64_t n,
                      const float *from)
{
    char *to = (char *)t->data + (size_t)at * hn_dtype_bytes(t->type.dtype);
    hn_strip_narrow(task->cpu, t->type.dtype, from, n, to);
}

/* ---- rope_angles ---- */

enum { POS, FACTORS };

static bool rope_angles_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(POS);
    out->thread_scratch = (size_t)hn_last_dim(&call->out[0]->type) / 2 * sizeof(float);
    return call->out[0]->type.dtype == HN_F32;
}

static int64_t rope_angles_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    return task->call->out[0]->type.dim[0];
}

static void rope_angles_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *pos = call->in[POS];
    const hn_rope_spec s = hn_rope_filled(call->attrs);
    float *frequencies = hn_cpu_scratch(task, thread), *y = call->out[0]->data;
    (void)phase;
    hn_rope_frequencies(&s, call->in[FACTORS], frequencies); /* again, rather than a phase in which others wait */
    for (int64_t t = begin; t < end; t++)
        hn_rope_row(&s, frequencies, pos ? hn_get_int(pos, t) : t, y + t * s.width);
}

const hn_cpu_binding hn_cpu_rope_angles = { .op = &hn_op_rope_angles, .supports = rope_angles_supports,
                                            .units = rope_angles_units, .run = rope_angles_run };

/* ---- rope ---- */

enum { X, ANGLES };

static bool rope_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X) | HN_IN(ANGLES);
    if (call->in[X]->type.dtype != HN_F32)
        out->thread_scratch = (size_t)token_elements(call->in[X]) * sizeof(float);
    return hn_rows_are_floats(call->in, 1) && call->in[ANGLES]->type.dtype == HN_F32;
}

static int64_t rope_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    return task->call->in[X]->type.dim[0];
}

static void rope_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[X], *y = call->out[0];
    const rope_attrs *at = call->attrs;
    const int64_t head = hn_last_dim(&x->type), width = hn_last_dim(&call->in[ANGLES]->type);
    const int64_t token = token_elements(x);
    const hn_rope_kernels *k = &task->cpu->kernels.rope;
    float *room = x->type.dtype == HN_F32 ? NULL : hn_cpu_scratch(task, thread);
    (void)phase;
    for (int64_t t = begin; t < end; t++) {
        const float *cosines = (const float *)call->in[ANGLES]->data + t * width;
        const float *from = span_in(task, x, t * token, token, room);
        float *to = span_out(y, t * token, room);
        (at->layout == ROPE_HALF ? k->rope_halves_f32 : k->rope_pairs_f32)(
            token / head, head, at->offset, width, cosines, cosines + width / 2, at->inverse ? -1 : 1, from, to);
        span_done(task, y, t * token, token, to);
    }
}

const hn_cpu_binding hn_cpu_rope = { .op = &hn_op_rope, .supports = rope_supports, .units = rope_units,
                                     .run = rope_run };

/* ---- dropout ---- */

enum { AT = 1, STEP };
enum { STRIP = 4096 };

static int64_t span_elements(const hn_call *call)
{
    return call->in[AT] ? token_elements(call->in[X]) : STRIP;
}

static bool dropout_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X);
    out->thread_scratch = (size_t)span_elements(call) * sizeof(float);
    return hn_rows_are_floats(call->in, 1);
}

static int64_t dropout_units(const hn_cpu_task *task, int phase)
{
    const int64_t span = span_elements(task->call);
    (void)phase;
    return (hn_count(&task->call->in[X]->type) + span - 1) / span;
}

static void dropout_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_dropout_attrs *own = call->attrs;
    const hn_tensor *x = call->in[X], *at = call->in[AT], *y = call->out[0];
    const int64_t span = span_elements(call), count = hn_count(&x->type);
    const hn_rng_key all =
        hn_dropout_key(own, call->in[STEP] ? hn_get_int(call->in[STEP], 0) : 0);
    float *room = hn_cpu_scratch(task, thread);
    (void)phase;
    for (int64_t i = begin; i < end; i++) {
        const int64_t from = i * span, n = count - from < span ? count - from : span;
        const hn_rng_key key =
            at ? hn_dropout_token_key(all, hn_get_int(at, 2 * i), hn_get_int(at, 2 * i + 1)) : all;
        float *to = span_out(y, from, room);
        task->cpu->kernels.elemwise.dropout_f32(n, span_in(task, x, from, n, room), to, own->p,
                                                key, at ? 0 : (uint64_t)from);
        span_done(task, y, from, n, to);
    }
}

const hn_cpu_binding hn_cpu_dropout = { .op = &hn_op_dropout, .supports = dropout_supports,
                                        .units = dropout_units, .run = dropout_run };
