/* cast: the same values in another element type, rounded to nearest even; floats become
 * integers by rounding halves to even and clamping, NaN by 0. The gradient goes back in x's
 * type. */
#include "ops/attrs.h"
#include "ops/ops.h"

/* In the order of hn_dtype. */
static const hn_attr attrs[] = {
    HN_ATTR_ENUM(cast_attrs, to, NULL, "f32|f16|bf16|f64|i32|i64|u8"), HN_ATTR_END
};

static hn_status infer(const hn_call *call, hn_type *out)
{
    return hn_type_as(out, &call->in[0]->type, (hn_dtype)((const cast_attrs *)call->attrs)->to);
}

static void forward(const hn_call *call) { hn_tensor_copy(call->out[0], call->in[0]); }

static void backward(hn_grad *d)
{
    d->din[0] = hn_cast(d->g, d->dout[0], d->in[0]->type.dtype);
}

static const char *const cases[] = {
    "f32[1] to=f32",         "f32[3,5] to=bf16",  "bf16[2,3,17] to=f32",
    "f32[33] to=f16",        "f16[7,9] to=bf16",  "i32[5]{-9:9} to=f32",
    "f32[4,6]{-9:9} to=i32", "q8_0[2,64] to=f32", NULL
};
/* clang-format off */
const hn_op hn_op_cast = {
    .name = "cast", .summary = "y = x in another element type", .inputs = "x", .attrs = attrs,
    .attrs_size = sizeof(cast_attrs), .affine_in = HN_IN(0),
    .infer = infer, .forward = forward, .backward = backward,
    .may_overwrite = { HN_IN(0) }, .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_cast(hn_graph *g, hn_node *x, hn_dtype to)
{
    if (x->type.dtype == to)
        return x;
    return HN_APPLY(g, &hn_op_cast, &((cast_attrs){ (int)to }), x);
}
