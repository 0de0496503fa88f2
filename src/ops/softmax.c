/* softmax: over the last dimension of scale * x + mask. A sink is one more logit of a row: it
 * takes its share of the sum, which is the second output, and no place in the first. A row of
 * -inf alone gives zeros. */
#include "ops/attrs.h"
#include "ops/ops.h"

enum { X, MASK, SINKS };

static const hn_attr attrs[] = { HN_ATTR_FLOAT(softmax_attrs, scale, "1"), HN_ATTR_END };

/* The shape of x without its last dimension. */
static hn_status leading(const hn_type *x, hn_type *out)
{
    return hn_type_make(out, x->dtype, x->rank - 1, x->dim);
}

static hn_status expect_broadcast(const hn_call *call, int input, const hn_type *shape)
{
    const hn_type *t = &call->in[input]->type;
    HN_TRY(hn_expect_float(call, input));
    HN_TRY(hn_expect_rank_between(call, input, 0, shape->rank));
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] != 1)
            HN_TRY(hn_expect_dim(call, input, i, shape->dim[shape->rank - t->rank + i]));
    return HN_OK;
}

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_rank_between(call, X, 1, HN_MAX_RANK));
    HN_TRY(hn_infer_like(call, X, &out[0]));
    HN_TRY(leading(&out[0], &out[1]));
    if (call->in[MASK])
        HN_TRY(expect_broadcast(call, MASK, &out[0]));
    return call->in[SINKS] ? expect_broadcast(call, SINKS, &out[1]) : HN_OK;
}

static double logit(const hn_call *call, int64_t index)
{
    const hn_tensor *x = call->in[X], *mask = call->in[MASK];
    const double z = (double)((const softmax_attrs *)call->attrs)->scale * hn_get(x, index);
    return mask ? z + hn_get(mask, hn_broadcast_index(&mask->type, &x->type, index)) : z;
}

/* Returns the sink's probability. */
static double one_row(const hn_call *call, int64_t row, int64_t n, double sink)
{
    double top = sink, sum = 0;
    for (int64_t i = 0; i < n; i++)
        top = logit(call, row * n + i) > top ? logit(call, row * n + i) : top;
    const bool is_empty = top == -(double)INFINITY;
    for (int64_t i = 0; i < n && !is_empty; i++)
        sum += hn_math_exp(logit(call, row * n + i) - top);
    sum += is_empty ? 0 : hn_math_exp(sink - top);
    for (int64_t i = 0; i < n; i++)
        hn_set(call->out[0], row * n + i,
               is_empty ? 0 : hn_math_exp(logit(call, row * n + i) - top) / sum);
    return is_empty ? 0 : hn_math_exp(sink - top) / sum;
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *sinks = call->in[SINKS];
    hn_type rows;
    leading(&x->type, &rows);
    for (int64_t row = 0; row < hn_count(&rows); row++) {
        const double sink = sinks ? hn_get(sinks, hn_broadcast_index(&sinks->type, &rows, row))
                                  : -(double)INFINITY;
        const double p = one_row(call, row, hn_last_dim(&x->type), sink);
        if (call->out[1])
            hn_set(call->out[1], row, p);
    }
}

static void backward(hn_grad *d)
{
    const float scale = ((const softmax_attrs *)d->attrs)->scale;
    hn_node *sink = d->in[SINKS] ? d->out[1] : NULL;
    hn_node *dx = hn_softmax_grad(d->g, d->out[0], d->dout[0], sink, scale);
    d->din[X] = dx;
    if (d->wants[SINKS])
        d->din[SINKS] = hn_unbroadcast(d->g, hn_output(dx, 1), d->in[SINKS]);
}

static const char *const cases[] = { "f32[1,1]",
                                     "f32[5,33] scale=0.5",
                                     "f32[3,7,9] f32[7,9]{-3:0}",
                                     "f32[4,3,8] - f32[4,1]",
                                     "f32[2,3,17] f32[1,17]{mask} f32[3] scale=2",
                                     "f32[6] - f32[]",
                                     "bf16[4,64]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_softmax = {
    .name = "softmax", .summary = "y = softmax(scale * x + mask), beside a sink",
    .inputs = "x mask?! sinks?", .outputs = "y sink!", .attrs = attrs,
    .attrs_size = sizeof(softmax_attrs), .infer = infer, .forward = forward,
    .backward = backward, .flops_per_element = 7, .may_overwrite = { HN_IN(X) },
    .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_softmax(hn_graph *g, hn_node *x, hn_node *mask, hn_node *sinks, float scale)
{
    return HN_APPLY(g, &hn_op_softmax, &((softmax_attrs){ scale }), x, mask, sinks);
}
