/* view: the same elements in another shape, never copied: reshape for those who must know.
 * Strides are allowed where the new dimensions split or join whole dimensions of x; else it is
 * refused. */
#include "ops/shape.h"

static const hn_attr attrs[] = { HN_ATTR_INTS(shape_attrs, shape, NULL), HN_ATTR_END };

/* Dimensions of x that lie one after the other in memory make a run, which the new dimensions
 * must fill exactly. Both are walked from the innermost. */
static bool find_strides(const hn_type *x, hn_type *out)
{
    int at = out->rank - 1;
    int64_t step = x->rank ? x->stride[x->rank - 1] : 0, run = 1, filled = 1;
    for (int d = x->rank - 1; d >= 0; d--) {
        run *= x->dim[d];
        if (d > 0 && (x->dim[d - 1] == 1 || x->stride[d - 1] == run * step))
            continue;
        while (at >= 0 && (filled < run || out->dim[at] == 1)) {
            out->stride[at] = filled * step;
            filled *= out->dim[at--];
        }
        if (filled != run)
            return false;
        if (d > 0)
            step = x->stride[d - 1];
        run = filled = 1;
    }
    return true;
}

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *x = &call->in[0]->type;
    if (hn_is_block(x->dtype))
        return hn_refuse(call, "the input is in blocks");
    HN_TRY(shape_resolve(call, &((const shape_attrs *)call->attrs)->shape, out));
    if (!find_strides(x, out))
        return hn_refuse(call, "the input's strides do not allow this shape without a copy");
    return HN_OK;
}

static void forward(const hn_call *call) { hn_tensor_copy(call->out[0], call->in[0]); }

static void backward(hn_grad *d) { d->din[0] = hn_reshape_as(d->g, d->dout[0], d->in[0]); }

static const char *const cases[] = { "f32[6] shape=2,3",
                                     "f32[2,12] shape=0,3,-1",
                                     "f32[6,5,4] shape=2,3,1,5,4",
                                     "bf16[8] shape=2,2,2",
                                     "f32[] shape=1,1",
                                     "i32[2,4]{0:9} shape=2,2,2",
                                     NULL };
/* clang-format off */
const hn_op hn_op_view = {
    .name = "view", .summary = "y = x in another shape, never copied", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(shape_attrs), .infer = infer, .forward = forward,
    .backward = backward, .view_of = HN_INPUT(0), .cases = cases,
};
/* clang-format on */
hn_node *hn_view(hn_graph *g, hn_node *x, hn_ints shape)
{
    return HN_APPLY(g, &hn_op_view, &((shape_attrs){ shape }), x);
}
