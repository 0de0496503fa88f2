/* repeat: x laid side by side `times` in each dimension. */
#include "ops/axis.h"

static const hn_attr attrs[] = { HN_ATTR_INTS(repeat_attrs, times, NULL), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_ints *times = &((const repeat_attrs *)call->attrs)->times;
    const hn_type *x = &call->in[0]->type;
    HN_TRY(axis_refuse_blocks(call, 0));
    if (times->n != x->rank)
        return hn_refuse(call, "%d numbers for an input of rank %d", times->n, x->rank);
    int64_t dim[HN_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        if (times->at[i] < 1 || times->at[i] > INT64_MAX / 2 / x->dim[i])
            return hn_refuse(call, "dimension %d cannot be repeated %lld times", i,
                             (long long)times->at[i]);
        dim[i] = x->dim[i] * times->at[i];
    }
    return hn_type_make(out, x->dtype, x->rank, dim);
}

static int64_t source(const hn_type *x, const hn_type *y, int64_t index)
{
    int64_t from = 0, step = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        from += index % y->dim[d] % x->dim[d] * step;
        step *= x->dim[d];
        index /= y->dim[d];
    }
    return from;
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[0], *y = call->out[0];
    for (int64_t i = 0; i < hn_count(&y->type); i++)
        axis_move(y, i, x, source(&x->type, &y->type, i));
}

static void backward(hn_grad *d)
{
    d->din[0] =
        hn_repeat_grad(d->g, d->dout[0], d->in[0], ((const repeat_attrs *)d->attrs)->times);
}

static const char *const cases[] = { "f32[1] times=1",
                                     "f32[3] times=4",
                                     "f32[2,3] times=3,2",
                                     "f32[2,1,5] times=1,3,2",
                                     "bf16[3,4] times=2,1",
                                     "i32[3]{0:9} times=2",
                                     NULL };
/* clang-format off */
const hn_op hn_op_repeat = {
    .name = "repeat", .summary = "y = x laid side by side", .inputs = "x", .attrs = attrs,
    .attrs_size = sizeof(repeat_attrs), .affine_in = HN_IN(0),
    .infer = infer, .forward = forward, .backward = backward, .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_repeat(hn_graph *g, hn_node *x, hn_ints times)
{
    return HN_APPLY(g, &hn_op_repeat, &((repeat_attrs){ times }), x);
}
