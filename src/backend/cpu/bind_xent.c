/* Cross-entropy and its gradient. Phase 0 reads labels and factors, the kernels' own phases follow,
 * and the loss is one chain at the end.
 *
 *     shared:  | the kernels' | labels | factors (of gradients) | nll, lse that nobody reads |
 */
#include "backend/cpu/products.h"
#include "ops/cross_entropy.h"

#include <string.h>

enum { X = HN_XENT_X, W, LABELS, WEIGHTS, COUNT, ACC, LSE_IN = ACC, DLOSS, ACC_DW };
enum { LOSS, LSE, NLL, DX };
enum { START, COPY_ACC }; /* of the gradient: the kernels' phases follow */

static bool is_gradient(const hn_call *call)
{
    return call->op == &hn_op_cross_entropy_grad;
}

static bool makes_dx(const hn_call *call)
{
    return !is_gradient(call) && call->out[DX];
}

/* What a plan is made of but for where everything lies; of dx, that there is one. */
static hn_xent_args sizes_of(const hn_call *call)
{
    static float somewhere[1];
    const hn_cross_entropy_attrs *own = call->attrs;
    const hn_type *x = &call->in[X]->type, *w = &call->in[W]->type;
    hn_xent_args args = { .n = x->dim[0], .c = x->dim[1], .v = w->dim[0], .scale = own->logit_scale, .cap = own->softcap,
                          .narrow = own->narrow };
    (void)hn_cpu_elem(w->dtype, &args.w.type); /* one that has no kernels is refused */
    args.dx = makes_dx(call) ? somewhere : NULL;
    return args;
}

static hn_xent_plan plan_of(const hn_cpu *cpu, const hn_call *call, const hn_xent_args *args)
{
    hn_xent_plan plan;
    hn_xent_plan_make(&plan, &cpu->kernels.xent, &cpu->kernels.gemm, args, is_gradient(call), cpu->device.n_threads);
    return plan;
}

/* Rows and words of this run, which may be fewer than what was planned for. */
typedef struct room {
    float *kernel;
    int32_t *label;
    float *factor, *nll, *lse; /* f32 for every row */
    size_t bytes;
} room;

static room room_of(const hn_cpu *cpu, const hn_call *call, char *shared)
{
    const hn_xent_args sizes = sizes_of(call);
    const hn_xent_plan plan = plan_of(cpu, call, &sizes);
    const size_t of_rows = hn_round_scratch((size_t)sizes.n * sizeof(float));
    const size_t kernel = hn_round_scratch(hn_xent_shared_bytes(&plan));
    room r = { .kernel = (float *)(void *)shared, .label = (int32_t *)(void *)(shared + kernel) };
    char *const rest = shared + kernel + of_rows;
    r.factor = (float *)(void *)rest;
    r.nll = (float *)(void *)(rest + of_rows);
    r.lse = (float *)(void *)(rest + 2 * of_rows);
    r.bytes = kernel + of_rows * (is_gradient(call) ? 2 : 4);
    return r;
}

static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    static char nowhere[1];
    hn_elem elem;
    if (call->in[X]->type.dtype != HN_F32 || !hn_cpu_elem(call->in[W]->type.dtype, &elem))
        return false;
    out->contiguous = ~(HN_IN(X) | HN_IN(W));
    out->packed = HN_IN(W);
    for (int i = X; i <= W; i++)
        if (!hn_cpu_has_rows(&call->in[i]->type))
            out->contiguous |= HN_IN(i);
    out->shared_scratch = room_of(cpu, call, nowhere).bytes;
    const hn_xent_args sizes = sizes_of(call);
    const hn_xent_plan plan = plan_of(cpu, call, &sizes);
    out->thread_scratch = hn_xent_scratch_bytes(&plan);
    return true;
}

static void make_plan(const hn_cpu_task *task, hn_xent_plan *plan)
{
    const hn_call *call = task->call;
    const room r = room_of(task->cpu, call, task->shared);
    hn_xent_args args = sizes_of(call);
    const int64_t row = args.c * (int64_t)sizeof(float);
    args.x = call->in[X]->data;
    args.x_stride = hn_cpu_rows_outer(call->in[X]).outer_stride;
    args.w = hn_cpu_rows_outer(call->in[W]);
    args.label = r.label;
    if (is_gradient(call)) {
        args.lse = call->in[LSE_IN]->data;
        args.grad = r.factor;
        args.dx = call->out[0]->data;
        args.dw = call->out[1] ? call->out[1]->data : NULL;
        args.dx_stride = args.dw_stride = row;
        args.accumulate = call->in[ACC_DW] != NULL;
    } else {
        args.lse = call->out[LSE] ? call->out[LSE]->data : r.lse;
        args.nll = call->out[NLL] ? call->out[NLL]->data : r.nll;
        args.grad = r.factor;
        args.dx = makes_dx(call) ? call->out[DX]->data : NULL;
        args.dx_stride = row;
    }
    *plan = plan_of(task->cpu, call, &args);
}

static void start(const hn_cpu_task *task)
{
    const hn_call *call = task->call;
    const int64_t ignore = ((const hn_cross_entropy_attrs *)call->attrs)->ignore;
    const room r = room_of(task->cpu, call, task->shared);
    for (int64_t t = 0; t < call->in[X]->type.dim[0]; t++) {
        const int64_t label = hn_get_int(call->in[LABELS], t);
        r.label[t] = label == ignore ? -1 : (int32_t)label;
        const double dloss = is_gradient(call) ? hn_get(call->in[DLOSS], 0) : 1;
        r.factor[t] = (float)(dloss * hn_loss_factor(call, WEIGHTS, t, COUNT, 1));
    }
}

/* Rows without a label have neither a term nor an lse. */
static void add_up(const hn_cpu_task *task, const hn_xent_args *args)
{
    const hn_call *call = task->call;
    hn_loss_start(call, ACC);
    for (int64_t t = 0; t < args->n; t++) {
        if (args->label[t] < 0)
            args->lse[t] = 0;
        else
            hn_loss_add(call, (double)args->nll[t] * hn_loss_factor(call, WEIGHTS, t, COUNT, 1));
    }
}

/* ---- phases: start, then the kernels', then the sum ---- */

static int forward_phases(const hn_cpu_task *task)
{
    hn_xent_plan plan;
    make_plan(task, &plan);
    return (int)plan.n_phases + 2;
}

static int64_t forward_units(const hn_cpu_task *task, int phase)
{
    hn_xent_plan plan;
    make_plan(task, &plan);
    return phase == START || phase > plan.n_phases ? 1 : hn_xent_units(&plan, phase - 1);
}

static void forward_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    hn_xent_plan plan;
    make_plan(task, &plan);
    if (phase == START)
        start(task);
    else if (phase > plan.n_phases)
        add_up(task, &plan.args);
    else
        hn_xent_run(&plan, phase - 1, begin, end, hn_cpu_scratch(task, thread), task->shared);
}

const hn_cpu_binding hn_cpu_cross_entropy = { .op = &hn_op_cross_entropy, .supports = supports,
                                              .phases = forward_phases, .units = forward_units,
                                              .run = forward_run };

/* ---- phases: start, the sum that goes on from elsewhere, then the kernels' ---- */

static int grad_phases(const hn_cpu_task *task)
{
    hn_xent_plan plan;
    make_plan(task, &plan);
    return (int)plan.n_phases + 2;
}

static int64_t grad_units(const hn_cpu_task *task, int phase)
{
    const hn_tensor *dw = task->call->out[1], *acc = task->call->in[ACC_DW];
    hn_xent_plan plan;
    make_plan(task, &plan);
    if (phase == START)
        return 1;
    if (phase == COPY_ACC)
        return dw && acc && acc->data != dw->data ? plan.args.v : 0;
    return hn_xent_units(&plan, phase - 2);
}

static void grad_run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    hn_xent_plan plan;
    make_plan(task, &plan);
    const int64_t c = plan.args.c;
    if (phase == START)
        start(task);
    else if (phase == COPY_ACC)
        memcpy(plan.args.dw + begin * c, (const float *)task->call->in[ACC_DW]->data + begin * c,
               (size_t)((end - begin) * c) * sizeof(float));
    else
        hn_xent_run(&plan, phase - 2, begin, end, hn_cpu_scratch(task, thread), task->shared);
}

const hn_cpu_binding hn_cpu_cross_entropy_grad = { .op = &hn_op_cross_entropy_grad,
                                                   .supports = supports, .phases = grad_phases,
                                                   .units = grad_units, .run = grad_run };
