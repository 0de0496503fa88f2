/* Optimisers and the norm that clips their gradients. States are updated in place, a strip at a
 * time; what is stored in another type than the kernel's is widened into scratch and rounded. */
#include "backend/cpu/strips.h"
#include "ops/update.h"

#include <string.h>

enum { STRIP = 4096 }; /* a block of sum_sq; random words come four at a time */

static int64_t strips_of(const hn_tensor *t)
{
    return (hn_count(&t->type) + STRIP - 1) / STRIP;
}

static int64_t strip_length(const hn_tensor *t, int64_t strip)
{
    const int64_t left = hn_count(&t->type) - strip * STRIP;
    return left < STRIP ? left : STRIP;
}

static void *element(const hn_tensor *t, int64_t at)
{
    return (char *)t->data + (size_t)at * hn_dtype_bytes(t->type.dtype);
}

static bool is_float_type(hn_dtype dtype)
{
    return dtype == HN_F32 || dtype == HN_F16 || dtype == HN_BF16;
}

static const float *widened(const hn_cpu_task *task, const hn_tensor *t, int64_t at, int64_t n,
                            float *room)
{
    return hn_strip_widen(task->cpu, t->type.dtype, element(t, at), n, room);
}

/* Where a strip of a state is updated: its own memory, or `room` if nobody wants it. */
static void *state_at(const hn_tensor *out, const hn_tensor *in, int64_t at, int64_t n, void *room)
{
    void *to = out ? element(out, at) : room;
    const void *from = element(in, at);
    if (to != from)
        memcpy(to, from, (size_t)n * hn_dtype_bytes(in->type.dtype));
    return to;
}

/* The f32 copy of w that a kernel moves. */
static float *weight_at(const hn_cpu_task *task, const hn_tensor *in, int64_t at, int64_t n,
                        float *to)
{
    const float *from = widened(task, in, at, n, to);
    if (from != to)
        memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

/* ---- adamw ---- */

enum { W, G, M, V, HYPER, CLIP, MASTER };
enum { NEW_W, NEW_M, NEW_V, NEW_MASTER };

static bool adamw_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(G);
    out->thread_scratch = 4 * STRIP * sizeof(float);
    return is_float_type(call->in[W]->type.dtype) && is_float_type(call->in[G]->type.dtype);
}

static int64_t update_units(const hn_cpu_task *task, int phase)
{
    (void)phase;
    return strips_of(task->call->in[W]);
}

static hn_adamw_step adamw_step(const hn_call *call)
{
    const hn_adamw_attrs *at = call->attrs;
    const hn_update s =
        hn_adamw_update(at, hn_get(call->in[HYPER], 0), hn_get(call->in[HYPER], 1),
                        call->in[CLIP] ? hn_get(call->in[CLIP], 0) : 1);
    return (hn_adamw_step){ .scale = (float)s.clip, .clip = at->gclip > 0 ? at->gclip : 0,
                            .one_minus_beta1 = (float)(1 - (double)at->beta1),
                            .one_minus_beta2 = (float)(1 - (double)at->beta2), .eps = at->eps,
                            .rate = (float)s.rate, .root = (float)s.root, .keep = (float)s.keep,
                            .toward = at->toward,
                            .key = s.key };
}

static void adamw_strip(const hn_cpu_task *task, const hn_adamw_step *s, int64_t at, int64_t n,
                        float *room)
{
    const hn_call *call = task->call;
    const hn_tensor *master = call->in[MASTER], *w = call->out[NEW_W];
    const bool narrow_moments = call->in[M]->type.dtype == HN_BF16;
    const bool by_chance =
        ((const hn_adamw_attrs *)call->attrs)->stochastic && !master && w->type.dtype == HN_BF16;
    const hn_optim_kernels *k = &task->cpu->kernels.optim;
    const float *g = widened(task, call->in[G], at, n, room);
    void *m = state_at(call->out[NEW_M], call->in[M], at, n, room + STRIP);
    void *v = state_at(call->out[NEW_V], call->in[V], at, n, room + 2 * STRIP);
    if (by_chance) {
        uint16_t *to = state_at(w, call->in[W], at, n, NULL);
        if (narrow_moments)
            k->adamw_bf16_bf16(n, (uint64_t)at, s, g, m, v, to);
        else
            k->adamw_f32_bf16(n, (uint64_t)at, s, g, m, v, to);
        return;
    }
    const hn_tensor *kept = master ? call->out[NEW_MASTER] : w->type.dtype == HN_F32 ? w : NULL;
    float *wide = weight_at(task, master ? master : call->in[W], at, n,
                            kept ? element(kept, at) : room + 3 * STRIP);
    uint16_t *working = w->type.dtype == HN_BF16 ? element(w, at) : NULL;
    if (narrow_moments)
        k->adamw_bf16_f32(n, (uint64_t)at, s, g, m, v, wide, working);
    else
        k->adamw_f32_f32(n, (uint64_t)at, s, g, m, v, wide, working);
    if (w->type.dtype == HN_F16)
        hn_strip_narrow(task->cpu, HN_F16, wide, n, element(w, at));
}

static void adamw_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_adamw_step step = adamw_step(call);
    (void)phase;
    if (begin == 0 && call->out[NEW_MASTER] && !call->in[MASTER])
        hn_set(call->out[NEW_MASTER], 0, 0);
    for (int64_t strip = begin; strip < end; strip++)
        adamw_strip(task, &step, strip * STRIP, strip_length(call->in[W], strip),
                    hn_cpu_scratch(task, thread));
}

const hn_cpu_binding hn_cpu_adamw = { .op = &hn_op_adamw, .supports = adamw_supports,
                                      .units = update_units, .run = adamw_run };

/* ---- sgd ---- */

enum { SGD_HYPER = 3, SGD_CLIP };

static void sgd_strip(const hn_cpu_task *task, const hn_sgd_step *s, int64_t at, int64_t n,
                      float *room)
{
    const hn_call *call = task->call;
    const hn_tensor *w = call->out[0];
    const float *g = widened(task, call->in[G], at, n, room);
    float *velocity =
        call->in[M] ? state_at(call->out[1], call->in[M], at, n, room + STRIP) : NULL;
    float *wide = weight_at(task, call->in[W], at, n,
                            w->type.dtype == HN_F32 ? element(w, at) : room + 2 * STRIP);
    task->cpu->kernels.optim.sgd_f32(n, s, g, velocity, wide,
                                     w->type.dtype == HN_BF16 ? element(w, at) : NULL);
    if (w->type.dtype == HN_F16)
        hn_strip_narrow(task->cpu, HN_F16, wide, n, element(w, at));
}

static void sgd_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_sgd_attrs *at = call->attrs;
    const double lr = hn_get(call->in[SGD_HYPER], 0);
    const hn_sgd_step step = {
        .scale = call->in[SGD_CLIP] ? (float)hn_get(call->in[SGD_CLIP], 0) : 1,
        .clip = at->gclip > 0 ? at->gclip : 0, .momentum = at->momentum, .rate = (float)lr,
        .keep = (float)(1 - lr * (double)at->decay), .toward = at->toward, .is_nesterov = at->nesterov
    };
    (void)phase;
    if (begin == 0 && call->out[1] && !call->in[M])
        hn_set(call->out[1], 0, 0);
    for (int64_t strip = begin; strip < end; strip++)
        sgd_strip(task, &step, strip * STRIP, strip_length(call->in[W], strip),
                  hn_cpu_scratch(task, thread));
}

const hn_cpu_binding hn_cpu_sgd = { .op = &hn_op_sgd, .supports = adamw_supports,
                                    .units = update_units, .run = sgd_run };

/* ---- lion: inputs as sgd's ---- */

static void lion_strip(const hn_cpu_task *task, const hn_lion_step *s, int64_t at, int64_t n,
                       float *room)
{
    const hn_call *call = task->call;
    const hn_tensor *w = call->out[0];
    const float *g = widened(task, call->in[G], at, n, room);
    float *m = state_at(call->out[1], call->in[M], at, n, room + STRIP);
    float *wide = weight_at(task, call->in[W], at, n,
                            w->type.dtype == HN_F32 ? element(w, at) : room + 2 * STRIP);
    task->cpu->kernels.optim.lion_f32(n, s, g, m, wide, w->type.dtype == HN_BF16 ? element(w, at) : NULL);
    if (w->type.dtype == HN_F16)
        hn_strip_narrow(task->cpu, HN_F16, wide, n, element(w, at));
}

static void lion_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_lion_attrs *at = call->attrs;
    const double lr = hn_get(call->in[SGD_HYPER], 0);
    const hn_lion_step step = {
        .scale = call->in[SGD_CLIP] ? (float)hn_get(call->in[SGD_CLIP], 0) : 1,
        .clip = at->gclip > 0 ? at->gclip : 0,
        .one_minus_beta1 = (float)(1 - (double)at->beta1),
        .one_minus_beta2 = (float)(1 - (double)at->beta2), .rate = (float)lr,
        .keep = (float)(1 - lr * (double)at->decay), .toward = at->toward
    };
    (void)phase;
    for (int64_t strip = begin; strip < end; strip++)
        lion_strip(task, &step, strip * STRIP, strip_length(call->in[W], strip),
                   hn_cpu_scratch(task, thread));
}

const hn_cpu_binding hn_cpu_lion = { .op = &hn_op_lion, .supports = adamw_supports,
                                     .units = update_units, .run = lion_run };

/* ---- sum_sq: every block's sum, then all of them, ascending ---- */

enum { X, ACC };

static bool sum_sq_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    out->contiguous = HN_IN(X);
    out->thread_scratch = STRIP * sizeof(float);
    out->shared_scratch = (size_t)strips_of(call->in[X]) * sizeof(double);
    return is_float_type(call->in[X]->type.dtype);
}

static int two_phases(const hn_cpu_task *task)
{
    (void)task;
    return 2;
}

static int64_t sum_sq_units(const hn_cpu_task *task, int phase)
{
    return phase == 0 ? strips_of(task->call->in[X]) : 1;
}

static void sum_sq_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = task->call;
    const hn_tensor *x = call->in[X];
    double *block = (double *)(void *)task->shared;
    for (int64_t b = begin; phase == 0 && b < end; b++) {
        const int64_t n = strip_length(x, b);
        task->cpu->kernels.reduce.sum_squares_f32(
            n, widened(task, x, b * STRIP, n, hn_cpu_scratch(task, thread)), block + b);
    }
    if (phase == 0)
        return;
    double sum = call->in[ACC] ? hn_get(call->in[ACC], 0) : 0;
    for (int64_t b = 0; b < strips_of(x); b++)
        sum += block[b];
    hn_set(call->out[0], 0, sum);
}

const hn_cpu_binding hn_cpu_sum_sq = { .op = &hn_op_sum_sq, .supports = sum_sq_supports,
                                       .phases = two_phases, .units = sum_sq_units,
                                       .run = sum_sq_run };

/* ---- clip_factor: one number, in the op's own double ---- */

static bool scalar_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu, (void)call, (void)out;
    return true;
}

static int64_t one_unit(const hn_cpu_task *task, int phase)
{
    (void)task, (void)phase;
    return 1;
}

static void scalar_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    (void)phase, (void)begin, (void)end, (void)thread;
    task->call->op->forward(task->call);
}

const hn_cpu_binding hn_cpu_clip_factor = { .op = &hn_op_clip_factor, .supports = scalar_supports,
                                            .units = one_unit, .run = scalar_run };
