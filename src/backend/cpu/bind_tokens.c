/* Ops of a few numbers a token, which run their own forward, in double, on one token at a time, with
 * the bits of the whole: the router, and losses over rows. A loss keeps every token's term in double;
 * its chain is added up at the end. */
#include "backend/cpu/cpu.h"
#include "ops/loss.h"

#include <string.h>

typedef struct token_op {
    const hn_op *op;
    unsigned by_token; /* inputs with a row for each token */
    int count, acc;    /* of losses */
} token_op;

/* clang-format off */
static const token_op token_ops[] = {
    { &hn_op_router,        HN_IN(0),                         HN_NO_INPUT, HN_NO_INPUT },
    { &hn_op_router_grad,   HN_IN(0) | HN_IN(2) | HN_IN(3),   HN_NO_INPUT, HN_NO_INPUT },
    { &hn_op_router_z,      HN_IN(0),                         1,           2           },
    { &hn_op_router_z_grad, HN_IN(0),                         1,           HN_NO_INPUT },
    { &hn_op_kl,            HN_IN(0) | HN_IN(1) | HN_IN(2),   3,           4           },
    { &hn_op_kl_grad,       HN_IN(0) | HN_IN(1) | HN_IN(2),   3,           HN_NO_INPUT },
    { &hn_op_mse,           HN_IN(0) | HN_IN(1) | HN_IN(2),   3,           4           },
    { &hn_op_mse_grad,      HN_IN(0) | HN_IN(1) | HN_IN(2),   3,           HN_NO_INPUT },
};
/* clang-format on */

static const token_op *entry_of(const hn_op *op)
{
    const token_op *at = token_ops;
    while (at->op != op)
        at++;
    return at;
}

static bool is_loss(const hn_call *call)
{
    return call->out[0]->type.rank == 0;
}

/* The gradient of a router's scales is a sum over tokens: the op's own forward, whole. */
static bool supports(const hn_cpu *cpu, const hn_call *call, hn_support *out)
{
    (void)cpu;
    memset(out->may_overwrite, 0, sizeof out->may_overwrite);
    if (call->in[0]->type.rank != 2 || (call->op == &hn_op_router_grad && call->out[1]))
        return false;
    if (is_loss(call))
        out->shared_scratch = (size_t)call->in[0]->type.dim[0] * sizeof(double);
    return true;
}

static int phases(const hn_cpu_task *task)
{
    return is_loss(task->call) ? 2 : 1;
}

static int64_t units(const hn_cpu_task *task, int phase)
{
    return phase == 0 ? task->call->in[0]->type.dim[0] : 1;
}

static const hn_tensor *one_row(const hn_tensor *t, int64_t row, hn_tensor *shown)
{
    if (!t)
        return NULL;
    hn_type type = t->type;
    type.dim[0] = 1;
    *shown = hn_tensor_at(&type, (char *)t->data + row * type.stride[0]);
    return shown;
}

static void run_token(const hn_cpu_task *task, const token_op *own, int64_t token)
{
    const hn_type number = { .dtype = HN_F64 };
    hn_tensor shown[HN_MAX_IN + HN_MAX_OUT];
    hn_call call = *task->call;
    double tokens = (double)call.in[0]->type.dim[0];
    const hn_tensor count = hn_tensor_at(&number, &tokens);
    for (int i = 0; i < call.n_in; i++)
        if (own->by_token & HN_IN(i))
            call.in[i] = one_row(call.in[i], token, &shown[i]);
    if (own->count != HN_NO_INPUT && !call.in[own->count])
        call.in[own->count] = &count; /* a mean over all tokens, not over this one */
    if (own->acc != HN_NO_INPUT)
        call.in[own->acc] = NULL;
    if (is_loss(task->call)) {
        shown[HN_MAX_IN] = hn_tensor_at(&number, (double *)(void *)task->shared + token);
        call.out[0] = &shown[HN_MAX_IN];
    } else {
        for (int o = 0; o < call.n_out; o++)
            call.out[o] = one_row(call.out[o], token, &shown[HN_MAX_IN + o]);
    }
    call.op->forward(&call);
}

static void run(const hn_cpu_task *task, int phase, int64_t begin, int64_t end, int thread)
{
    const token_op *own = entry_of(task->call->op);
    (void)thread;
    for (int64_t token = begin; phase == 0 && token < end; token++)
        run_token(task, own, token);
    if (phase == 0)
        return;
    hn_loss_start(task->call, own->acc);
    for (int64_t token = 0; token < task->call->in[0]->type.dim[0]; token++)
        hn_loss_add(task->call, ((const double *)(void *)task->shared)[token]);
}

#define HN_BIND_TOKENS(name)                                                                   \
    const hn_cpu_binding hn_cpu_##name = { .op = &hn_op_##name, .supports = supports,          \
                                           .phases = phases, .units = units, .run = run };
HN_BIND_TOKENS(router)
HN_BIND_TOKENS(router_grad)
HN_BIND_TOKENS(router_z)
HN_BIND_TOKENS(router_z_grad)
HN_BIND_TOKENS(kl)
HN_BIND_TOKENS(kl_grad)
HN_BIND_TOKENS(mse)
HN_BIND_TOKENS(mse_grad)
