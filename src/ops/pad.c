/* pad: x with `before` and `after` elements of one value around it, as many as each dimension
 * says; a list that is left out is all zeros. */
#include "ops/axis.h"

static const hn_attr attrs[] = { HN_ATTR_INTS(pad_attrs, before, ""),
                                 HN_ATTR_INTS(pad_attrs, after, ""),
                                 HN_ATTR_FLOAT(pad_attrs, value, "0"), HN_ATTR_END };

static int64_t at(const hn_ints *list, int i) { return list->n ? list->at[i] : 0; }

static hn_status infer(const hn_call *call, hn_type *out)
{
    const pad_attrs *a = call->attrs;
    const hn_type *x = &call->in[0]->type;
    HN_TRY(axis_refuse_blocks(call, 0));
    if ((a->before.n && a->before.n != x->rank) || (a->after.n && a->after.n != x->rank))
        return hn_refuse(call, "%d and %d sizes for an input of rank %d", a->before.n,
                         a->after.n, x->rank);
    int64_t dim[HN_MAX_RANK];
    for (int i = 0; i < x->rank; i++) {
        const int64_t before = at(&a->before, i), after = at(&a->after, i);
        if (before < 0 || after < 0 || before > INT32_MAX || after > INT32_MAX)
            return hn_refuse(call, "dimension %d would get %lld and %lld more", i,
                             (long long)before, (long long)after);
        dim[i] = x->dim[i] + before + after;
    }
    return hn_type_make(out, x->dtype, x->rank, dim);
}

/* The element of x that lies at `index` of y, or -1. */
static int64_t source(const pad_attrs *a, const hn_type *x, const hn_type *y, int64_t index)
{
    int64_t from = 0, step = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        const int64_t i = index % y->dim[d] - at(&a->before, d);
        if (i < 0 || i >= x->dim[d])
            return -1;
        from += i * step;
        step *= x->dim[d];
        index /= y->dim[d];
    }
    return from;
}

static void forward(const hn_call *call)
{
    const pad_attrs *a = call->attrs;
    const hn_tensor *x = call->in[0], *y = call->out[0];
    for (int64_t i = 0; i < hn_count(&y->type); i++) {
        const int64_t from = source(a, &x->type, &y->type, i);
        if (from < 0)
            hn_set(y, i, (double)a->value);
        else
            axis_move(y, i, x, from);
    }
}

static void backward(hn_grad *d)
{
    const pad_attrs *a = d->attrs;
    hn_node *dx = d->dout[0];
    for (int i = 0; i < d->in[0]->type.rank; i++)
        if (at(&a->before, i) || at(&a->after, i))
            dx = hn_slice(d->g, dx, i, at(&a->before, i), -at(&a->after, i), 1);
    d->din[0] = dx;
}

static const char *const cases[] = { "f32[1] before=1",
                                     "f32[5] before=2 after=3 value=-1",
                                     "f32[3,4] before=1,0 after=0,2",
                                     "f32[2,3,4] after=0,1,5",
                                     "bf16[3,3] before=1,1 after=1,1 value=2",
                                     "i32[4]{0:9} after=3 value=-1",
                                     NULL };
/* clang-format off */
const hn_op hn_op_pad = {
    .name = "pad", .summary = "y = x with `value` around it", .inputs = "x", .attrs = attrs,
    .attrs_size = sizeof(pad_attrs), .affine_in = HN_IN(0),
    .infer = infer, .forward = forward, .backward = backward, .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_pad(hn_graph *g, hn_node *x, hn_ints before, hn_ints after, float value)
{
    return HN_APPLY(g, &hn_op_pad, &((pad_attrs){ before, after, value }), x);
}
