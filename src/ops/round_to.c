/* round_to: x rounded to what a narrower type can hold, to nearest even, in x's own type: where a
 * model's reference stores an activation narrowly. The gradient passes unchanged, in x's type.
 *
 * In double, where meanings are compared, rounding is precision and not meaning: x itself. */
#include "ops/map.h"

/* In the order of hn_dtype. */
static const hn_attr attrs[] = { HN_ATTR_ENUM(cast_attrs, to, NULL, "f32|f16|bf16"),
                                 HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, 0));
    return map_infer(call, out);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[0];
    const hn_dtype to = (hn_dtype)((const cast_attrs *)call->attrs)->to;
    const bool is_exact = call->out[0]->type.dtype == HN_F64;
    float room = 0;
    const hn_type scalar = { .dtype = to };
    const hn_tensor narrow = hn_tensor_at(&scalar, &room);
    for (int64_t i = 0; i < hn_count(&x->type); i++) {
        hn_set(&narrow, 0, hn_get(x, i));
        hn_set(call->out[0], i, is_exact ? hn_get(x, i) : hn_get(&narrow, 0));
    }
}

static void backward(hn_grad *d) { d->din[0] = d->dout[0]; }

static const char *const cases[] = { "f32[1] to=bf16", "f32[3,5] to=bf16", "f32[2,3,1031] to=f16",
                                     "f32[4,6] to=f32", "f16[33] to=bf16", NULL };
/* clang-format off */
const hn_op hn_op_round_to = {
    .name = "round_to", .summary = "y = x rounded to a narrower type, in x's own", .inputs = "x",
    .attrs = attrs, .attrs_size = sizeof(cast_attrs), .infer = infer, .forward = forward,
    .backward = backward, .flops_per_element = 1, .may_overwrite = { HN_IN(0) }, .cases = cases,
    .rounding = cast_rounding,
};
/* clang-format on */
hn_node *hn_round_to(hn_graph *g, hn_node *x, hn_dtype to)
{
    return HN_APPLY(g, &hn_op_round_to, &((cast_attrs){ (int)to }), x);
}
