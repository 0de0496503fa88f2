/* Maps of one, two or three inputs, gated pairs, and their gradients. An op is bound by its kernel's signature, or has a line
 * here: which kernel, and what its attributes are to the kernel. */
#include "backend/cpu/strips.h"
#include "ops/attrs.h"

#define KERNELS (task->cpu->kernels.elemwise)

/* Binds an op whose strips are computed by the statement `body`. */
#define HN_BIND_STRIPS(name, body)                                                             \
    static void strip_##name(const hn_cpu_task *task, const hn_strip *s)                       \
    {                                                                                          \
        body;                                                                                  \
    }                                                                                          \
    static void run_##name(const hn_cpu_task *task, int phase, int64_t begin, int64_t end,     \
                           int thread)                                                         \
    {                                                                                          \
        (void)phase;                                                                           \
        hn_strips_run(task, begin, end, thread, strip_##name);                                 \
    }                                                                                          \
    const hn_cpu_binding hn_cpu_##name = { .op = &hn_op_##name, .supports = hn_strips_support, \
                                           .units = hn_strips_units, .run = run_##name };

/* Attributes of ops bound here are structs of floats, in the order that kernels want them. */
#define HN_BIND_MAP(name)                                                                      \
    HN_BIND_STRIPS(name, KERNELS.name##_f32(s->n, s->in[0], s->out[0], task->call->attrs))
#define HN_BIND_BINARY(name)                                                                   \
    HN_BIND_STRIPS(name, KERNELS.name##_f32(s->n, s->in[0], s->step[0], s->in[1], s->step[1],  \
                                            s->out[0]))
#define HN_BIND_GRAD(name)                                                                     \
    HN_BIND_STRIPS(name, KERNELS.name##_f32(s->n, s->in[0], s->in[1], s->out[0],               \
                                            task->call->attrs))
#define HN_BIND_PAIR(name)                                                                     \
    HN_BIND_STRIPS(name, KERNELS.name##_f32(s->n, s->in[0], s->in[1], s->out[0]))
#define HN_BIND_PAIR_GRAD(name)                                                                \
    HN_BIND_STRIPS(name, KERNELS.name##_f32(s->n, s->in[0], s->in[1], s->in[2], s->out[0],     \
                                            s->out[1]))

/* Every op whose kernel has a signature of one of these shapes, and no line below: derived from kernels/elemwise/elemwise.h. */
#define HN_STRIP_map(name)       HN_BIND_MAP(name)
#define HN_STRIP_binary(name)    HN_BIND_BINARY(name)
#define HN_STRIP_map_grad(name)  HN_BIND_GRAD(name)
#define HN_STRIP_pair(name)      HN_BIND_PAIR(name)
#define HN_STRIP_pair_grad(name) HN_BIND_PAIR_GRAD(name)
#define HN_STRIP(shape, name)    HN_STRIP_##shape(name)
#include "backend/cpu/strips.def"

HN_BIND_STRIPS(where, KERNELS.where_f32(s->n, s->in[0], s->step[0], s->in[1], s->step[1], s->in[2],
                                        s->step[2], s->out[0]))

static bool is_erf(const hn_cpu_task *task)
{
    return ((const gelu_attrs *)task->call->attrs)->form == GELU_ERF;
}

HN_BIND_STRIPS(gelu, (is_erf(task) ? KERNELS.gelu_erf_f32 : KERNELS.gelu_f32)(s->n, s->in[0],
                                                                             s->out[0], NULL))
HN_BIND_STRIPS(gelu_grad,
               (is_erf(task) ? KERNELS.gelu_erf_grad_f32 : KERNELS.gelu_grad_f32)(
                   s->n, s->in[0], s->in[1], s->out[0], NULL))
HN_BIND_STRIPS(geglu, (is_erf(task) ? KERNELS.geglu_erf_f32 : KERNELS.geglu_f32)(
                          s->n, s->in[0], s->in[1], s->out[0]))
HN_BIND_STRIPS(geglu_grad,
               (is_erf(task) ? KERNELS.geglu_erf_grad_f32 : KERNELS.geglu_grad_f32)(
                   s->n, s->in[0], s->in[1], s->in[2], s->out[0], s->out[1]))

/* ---- cast: any number type to any, through f32 where both are floats ---- */

static bool cast_supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    return hn_strips_support(cpu, call, out) && call->in[0]->type.dtype != HN_U8;
}

static void strip_cast(const hn_cpu_task *task, const hn_strip *s)
{
    (void)task;
    const float *from = s->in[0];
    for (int64_t i = 0; from != s->out[0] && i < s->n; i++)
        s->out[0][i] = from[i];
}

static void run_cast(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    (void)phase;
    hn_strips_run(task, begin, end, thread, strip_cast);
}

const hn_cpu_binding hn_cpu_cast = { .op = &hn_op_cast, .supports = cast_supports,
                                     .units = hn_strips_units, .run = run_cast };

/* ---- round_to: down to the narrow type and up again, through a piece of the stack ---- */

static void strip_round_to(const hn_cpu_task *task, const hn_strip *s)
{
    enum { PIECE = 256 };
    uint16_t narrow[PIECE];
    const hn_dtype to = (hn_dtype)((const cast_attrs *)task->call->attrs)->to;
    const float *from = s->in[0];
    if (to == HN_F32) {
        strip_cast(task, s);
        return;
    }
    for (int64_t i = 0; i < s->n; i += PIECE) {
        const int64_t n = s->n - i < PIECE ? s->n - i : PIECE;
        hn_strip_narrow(task->cpu, to, from + i, n, narrow);
        hn_strip_widen(task->cpu, to, narrow, n, s->out[0] + i);
    }
}

static void run_round_to(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    (void)phase;
    hn_strips_run(task, begin, end, thread, strip_round_to);
}

const hn_cpu_binding hn_cpu_round_to = { .op = &hn_op_round_to, .supports = cast_supports,
                                         .units = hn_strips_units, .run = run_round_to };
