/* reshape: the same elements in another shape, as a view; a copy is made first where strides do
 * not allow one. In `shape`, 0 keeps the input's dimension and one -1 takes what is left. */
#include "ops/shape.h"

static const hn_attr attrs[] = { HN_ATTR_INTS(shape_attrs, shape, NULL), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *x = &call->in[0]->type;
    if (!hn_is_contiguous(x) || hn_is_block(x->dtype))
        return hn_refuse(call, "the input is strided or in blocks: expected a contiguous one");
    return shape_resolve(call, &((const shape_attrs *)call->attrs)->shape, out);
}

static void forward(const hn_call *call) { hn_tensor_copy(call->out[0], call->in[0]); }

static void backward(hn_grad *d) { d->din[0] = hn_reshape_as(d->g, d->dout[0], d->in[0]); }

static const char *const cases[] = { "f32[6] shape=2,3", "f32[2,3,4] shape=0,-1",
                                     "f32[4,6] shape=-1", "bf16[8] shape=2,2,2", NULL };
/* clang-format off */
const hn_op hn_op_reshape = {
    .name = "reshape", .summary = "y = x in another shape", .inputs = "x", .attrs = attrs,
    .attrs_size = sizeof(shape_attrs), .infer = infer, .forward = forward, .backward = backward,
    .view_of = HN_INPUT(0), .needs_contiguous = true, .cases = cases,
};
/* clang-format on */
hn_node *hn_reshape(hn_graph *g, hn_node *x, hn_ints shape)
{
    return HN_APPLY(g, &hn_op_reshape, &((shape_attrs){ shape }), hn_packed(g, x));
}
