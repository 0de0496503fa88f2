/* repeat_grad: the copies that repeat made, added in the order in which they lie in dy. */
#include "ops/axis.h"

enum { DY, X };

static const hn_attr attrs[] = { HN_ATTR_INTS(repeat_attrs, times, NULL), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_ints *times = &((const repeat_attrs *)call->attrs)->times;
    const hn_type *dy = &call->in[DY]->type, *x = &call->in[X]->type;
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_rank(call, DY, x->rank));
    if (times->n != x->rank)
        return hn_refuse(call, "%d numbers for an input of rank %d", times->n, x->rank);
    for (int i = 0; i < x->rank; i++)
        if (times->at[i] < 1 || dy->dim[i] / times->at[i] != x->dim[i] ||
            dy->dim[i] % times->at[i])
            return hn_refuse(call, "dimension %d: %lld is not %lld times %lld", i,
                             (long long)dy->dim[i], (long long)times->at[i],
                             (long long)x->dim[i]);
    return hn_type_as(out, x, dy->dtype);
}

/* Element `index` of dx in copy number `copy`. */
static int64_t place(const hn_ints *times, const hn_type *dx, int64_t index, int64_t copy)
{
    int64_t at = 0, step = 1;
    for (int d = dx->rank - 1; d >= 0; d--) {
        at += (copy % times->at[d] * dx->dim[d] + index % dx->dim[d]) * step;
        step *= dx->dim[d] * times->at[d];
        index /= dx->dim[d];
        copy /= times->at[d];
    }
    return at;
}

static void forward(const hn_call *call)
{
    const hn_ints *times = &((const repeat_attrs *)call->attrs)->times;
    const hn_tensor *dy = call->in[DY], *dx = call->out[0];
    const int64_t n = hn_count(&dx->type), n_copies = hn_count(&dy->type) / n;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t copy = 0; copy < n_copies; copy++)
            sum += hn_get(dy, place(times, &dx->type, i, copy));
        hn_set(dx, i, sum);
    }
}

static void backward(hn_grad *d)
{
    d->din[DY] = hn_repeat(d->g, d->dout[0], ((const repeat_attrs *)d->attrs)->times);
}

static double flops(const hn_call *call) { return (double)hn_count(&call->in[DY]->type); }

static const char *const cases[] = {
    "f32[1] f32[1] times=1",         "f32[12] f32[3] times=4",
    "f32[6,6] f32[2,3] times=3,2",   "f32[2,3,10] f32[2,1,5] times=1,3,2",
    "bf16[6,4] bf16[3,4] times=2,1", NULL
};
/* clang-format off */
const hn_op hn_op_repeat_grad = {
    .name = "repeat_grad", .summary = "dx = the sum of the copies in dy", .inputs = "dy x~",
    .outputs = "dx", .attrs = attrs, .attrs_size = sizeof(repeat_attrs), .affine_in = HN_IN(DY),
    .infer = infer, .forward = forward, .backward = backward, .flops = flops,
    .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_repeat_grad(hn_graph *g, hn_node *dy, hn_node *x, hn_ints times)
{
    return HN_APPLY(g, &hn_op_repeat_grad, &((repeat_attrs){ times }), dy, x);
}
