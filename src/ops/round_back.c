/* round_back: x itself, a view, whose gradient is rounded to what a narrower type can hold: where
 * a product's gradient is to be multiplied narrowly too. In double nothing is rounded: round_to. */
#include "ops/map.h"

/* In the order of hn_dtype. */
static const hn_attr attrs[] = { HN_ATTR_ENUM(cast_attrs, to, NULL, "f32|f16|bf16"),
                                 HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, 0));
    *out = call->in[0]->type;
    return HN_OK;
}

static void forward(const hn_call *call) { hn_tensor_copy(call->out[0], call->in[0]); }

static void backward(hn_grad *d)
{
    d->din[0] = hn_round_to(d->g, d->dout[0], (hn_dtype)((const cast_attrs *)d->attrs)->to);
}

static const char *const cases[] = { "f32[1] to=bf16", "f32[3,5] to=bf16", "f32[2,3,131] to=f16",
                                     "bf16[33] to=bf16", NULL };
/* clang-format off */
const hn_op hn_op_round_back = {
    .name = "round_back", .summary = "y = x, whose gradient is rounded to a narrower type",
    .inputs = "x", .attrs = attrs, .attrs_size = sizeof(cast_attrs), .infer = infer,
    .forward = forward, .backward = backward, .view_of = HN_INPUT(0), .cases = cases,
    .rounding = cast_rounding,
};
/* clang-format on */
hn_node *hn_round_back(hn_graph *g, hn_node *x, hn_dtype to)
{
    return HN_APPLY(g, &hn_op_round_back, &((cast_attrs){ (int)to }), x);
}
