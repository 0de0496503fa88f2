/* slice: elements begin, begin + step ... before end of one dimension; a view. Negative bounds
 * and an end of 0 count from the end, so that a size that is known only while running can be
 * cut at either side. Of a row in a block format whole blocks may be taken. */
#include "ops/axis.h"

static const hn_attr attrs[] = { HN_ATTR_INT(slice_attrs, dim, "0"),
                                 HN_ATTR_INT(slice_attrs, begin, "0"),
                                 HN_ATTR_INT(slice_attrs, end, "0"),
                                 HN_ATTR_INT(slice_attrs, step, "1"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const slice_attrs *at = call->attrs;
    const hn_type *x = &call->in[0]->type;
    HN_TRY(axis_check(call, 0, at->dim));
    const int dim = axis_number(x, at->dim);
    const int64_t n = x->dim[dim];
    const int64_t begin = at->begin < 0 ? at->begin + n : at->begin;
    const int64_t end = at->end <= 0 ? at->end + n : at->end;
    if (begin < 0 || end > n || begin >= end || at->step < 1)
        return hn_refuse(call, "%lld:%lld:%lld of %lld elements", (long long)at->begin,
                         (long long)at->end, (long long)at->step, (long long)n);
    const int64_t block = dim == x->rank - 1 ? hn_dtype_block(x->dtype) : 1;
    if (begin % block || end % block || (block > 1 && at->step > 1))
        return hn_refuse(call, "%lld:%lld:%lld of %s: expected whole blocks of %lld", (long long)begin, (long long)end,
                         (long long)at->step, hn_dtype_name(x->dtype), (long long)block);
    *out = *x;
    out->dim[dim] = (end - begin - 1) / at->step + 1;
    out->stride[dim] = x->stride[dim] * (out->dim[dim] > 1 ? at->step : 1);
    return HN_OK;
}

static int64_t view_at(const hn_call *call)
{
    const slice_attrs *at = call->attrs;
    const hn_type *x = &call->in[0]->type;
    const int dim = axis_number(x, at->dim);
    const int64_t begin = at->begin < 0 ? at->begin + x->dim[dim] : at->begin;
    return begin / (dim == x->rank - 1 ? hn_dtype_block(x->dtype) : 1) * x->stride[dim];
}

static void forward(const hn_call *call)
{
    hn_type shown;
    infer(call, &shown);
    const hn_tensor x = hn_tensor_at(&shown, (char *)call->in[0]->data + view_at(call));
    hn_tensor_copy(call->out[0], &x);
}

static void backward(hn_grad *d)
{
    const slice_attrs *at = d->attrs;
    d->din[0] = hn_slice_grad(d->g, d->dout[0], d->in[0], NULL, at->dim, at->begin, at->step);
}

static const char *const cases[] = { "f32[5] begin=1 end=3",
                                     "f32[4,6] dim=1 begin=-4 end=-1",
                                     "f32[3,9,2] dim=1 begin=1 step=3",
                                     "bf16[7,3] begin=2",
                                     "f32[4,5] dim=-1 end=1 step=2",
                                     "q8_0[6,64] begin=2 end=4",
                                     "q8_0[3,2,96] dim=2 begin=32",
                                     "i32[6]{0:9} step=2",
                                     NULL };
/* clang-format off */
const hn_op hn_op_slice = {
    .name = "slice", .summary = "y = x[begin:end:step] along dim", .inputs = "x", .attrs = attrs,
    .attrs_size = sizeof(slice_attrs), .infer = infer, .forward = forward, .backward = backward,
    .view_of = HN_INPUT(0), .view_at = view_at, .cases = cases,
};
/* clang-format on */
hn_node *hn_slice(hn_graph *g, hn_node *x, int64_t dim, int64_t begin, int64_t end,
                  int64_t step)
{
    return HN_APPLY(g, &hn_op_slice, &((slice_attrs){ dim, begin, end, step }), x);
}
