/* Reading descriptors, and the refusals that ops share. */
#include "graph/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int read_names(const char *text, int most, hn_input_info *info)
{
    int n = 0;
    for (const char *at = text; *at && n < most; n++) {
        const size_t length = strcspn(at, " "), name = strcspn(at, " ?!~");
        info[n] = (hn_input_info){ .has_gradient = true };
        memcpy(info[n].name, at, name < sizeof info[n].name ? name : sizeof info[n].name - 1);
        for (size_t i = name; i < length; i++) {
            if (at[i] == '?')
                info[n].is_optional = true;
            if (at[i] == '!' || at[i] == '~')
                info[n].has_gradient = false;
            if (at[i] == '~')
                info[n].is_shape_only = true;
        }
        at += length + strspn(at + length, " ");
    }
    return n;
}

int hn_op_inputs(const hn_op *op, hn_input_info info[HN_MAX_IN])
{
    return read_names(op->inputs, HN_MAX_IN, info);
}

int hn_op_outputs(const hn_op *op, hn_input_info info[HN_MAX_OUT])
{
    return read_names(op->outputs ? op->outputs : "y", HN_MAX_OUT, info);
}

int hn_op_n_in(const hn_op *op)
{
    hn_input_info info[HN_MAX_IN];
    return hn_op_inputs(op, info);
}

bool hn_op_reads(const hn_op *op, int input)
{
    hn_input_info info[HN_MAX_IN];
    return input < hn_op_inputs(op, info) && !info[input].is_shape_only;
}

int hn_op_acc_input(const hn_op *op, int out)
{
    for (int i = 0; i < HN_MAX_ACC; i++)
        if (op->acc[i].in && op->acc[i].out == out)
            return op->acc[i].in - 1;
    return -1;
}

double hn_call_flops(const hn_call *call)
{
    if (call->op->flops)
        return call->op->flops(call);
    return call->op->flops_per_element * (double)hn_count(&call->out[0]->type);
}

double hn_call_bytes(const hn_call *call)
{
    double bytes = 0;
    for (int i = 0; i < call->n_in; i++)
        bytes += call->in[i] ? (double)hn_type_bytes(&call->in[i]->type) : 0;
    for (int i = 0; i < call->n_out; i++)
        bytes += !call->out[i] ? 0 : (double)hn_type_bytes(&call->out[i]->type);
    return bytes;
}

static const char *input_name(const hn_call *call, int input, hn_input_info info[HN_MAX_IN])
{
    const int n = hn_op_inputs(call->op, info);
    return input < n ? info[input].name : "?";
}

/* Fails with "op: input name is f32[2,3]: expected ..." */
static hn_status expected(const hn_call *call, int input, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static hn_status expected(const hn_call *call, int input, const char *format, ...)
{
    hn_input_info info[HN_MAX_IN];
    char what[160], type[HN_TYPE_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (!call->in[input])
        return hn_fail(HN_ERR_ARGUMENT, "%s: input %s is missing: expected %s", call->op->name,
                       input_name(call, input, info), what);
    return hn_fail(HN_ERR_SHAPE, "%s: input %s is %s: expected %s", call->op->name,
                   input_name(call, input, info), hn_type_text(&call->in[input]->type, type),
                   what);
}

hn_status hn_refuse(const hn_call *call, const char *format, ...)
{
    char what[300];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return hn_fail(HN_ERR_SHAPE, "%s: %s", call->op->name, what);
}

hn_status hn_expect_rank(const hn_call *call, int input, int rank)
{
    if (!call->in[input] || call->in[input]->type.rank != rank)
        return expected(call, input, "rank %d", rank);
    return HN_OK;
}

hn_status hn_expect_rank_between(const hn_call *call, int input, int low, int high)
{
    const hn_tensor *t = call->in[input];
    if (!t || t->type.rank < low || t->type.rank > high)
        return expected(call, input, "rank %d to %d", low, high);
    return HN_OK;
}

hn_status hn_expect_float(const hn_call *call, int input)
{
    if (!call->in[input] || !hn_is_float(call->in[input]->type.dtype))
        return expected(call, input, "f32, f16 or bf16");
    return HN_OK;
}

hn_status hn_expect_dtype(const hn_call *call, int input, hn_dtype dtype)
{
    /* Where f32 is expected, f64 is the oracle asking. */
    const hn_tensor *t = call->in[input];
    if (!t || (t->type.dtype != dtype && !(dtype == HN_F32 && t->type.dtype == HN_F64)))
        return expected(call, input, "%s", hn_dtype_name(dtype));
    return HN_OK;
}

hn_status hn_expect_integer(const hn_call *call, int input)
{
    return hn_expect_dtype(call, input, HN_I32);
}

hn_status hn_expect_vector(const hn_call *call, int input, int64_t n)
{
    const hn_tensor *t = call->in[input];
    if (!t || t->type.rank != 1 || t->type.dim[0] != n)
        return expected(call, input, "[%lld]", (long long)n);
    return HN_OK;
}

hn_status hn_expect_same(const hn_call *call, int input, int other)
{
    char type[HN_TYPE_TEXT];
    const hn_tensor *t = call->in[input];
    if (!t || !hn_same_shape(&t->type, &call->in[other]->type))
        return expected(call, input, "the shape of %s",
                        hn_type_text(&call->in[other]->type, type));
    return HN_OK;
}

hn_status hn_expect_dim(const hn_call *call, int input, int dim, int64_t n)
{
    const hn_tensor *t = call->in[input];
    if (!t || dim >= t->type.rank || t->type.dim[dim] != n)
        return expected(call, input, "%lld in dimension %d", (long long)n, dim);
    return HN_OK;
}

hn_status hn_expect_scalar(const hn_call *call, int input)
{
    if (!call->in[input] || hn_count(&call->in[input]->type) != 1)
        return expected(call, input, "one element");
    return HN_OK;
}

hn_status hn_broadcast(const hn_call *call, int n, hn_type *out)
{
    int rank = 0;
    int64_t dim[HN_MAX_RANK] = { 0 };
    hn_dtype dtype = HN_N_DTYPES;
    for (int i = 0; i < n; i++) {
        if (call->in[i]->type.rank > rank)
            rank = call->in[i]->type.rank;
        if (dtype == HN_N_DTYPES && hn_is_float(call->in[i]->type.dtype))
            dtype = call->in[i]->type.dtype;
    }
    HN_REQUIRE(dtype != HN_N_DTYPES, HN_ERR_SHAPE, "%s: no floating-point input", call->op->name);
    for (int d = 0; d < rank; d++) {
        dim[d] = 1;
        for (int i = 0; i < n; i++) {
            const hn_type *t = &call->in[i]->type;
            const int at = d - (rank - t->rank);
            if (at < 0 || t->dim[at] == 1)
                continue;
            if (dim[d] != 1 && dim[d] != t->dim[at])
                return expected(call, i, "%lld or 1 in dimension %d", (long long)dim[d], at);
            dim[d] = t->dim[at];
        }
    }
    return hn_type_make(out, dtype, rank, dim);
}

int64_t hn_broadcast_index(const hn_type *t, const hn_type *shape, int64_t index)
{
    int64_t at = 0, step = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        const int64_t i = index % shape->dim[d];
        index /= shape->dim[d];
        const int own = d - (shape->rank - t->rank);
        if (own < 0)
            break;
        if (t->dim[own] != 1)
            at += i * step;
        step *= t->dim[own];
    }
    return at;
}
