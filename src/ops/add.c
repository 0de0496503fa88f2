/* add: y = a + b, broadcast like numpy. */
#include "ops/ops.h"

static hn_status infer(const hn_call *call, hn_type *out)
{
    return hn_broadcast(call, 2, out);
}

static void forward(const hn_call *call)
{
    const hn_tensor *a = call->in[0], *b = call->in[1], *y = call->out[0];
    for (int64_t i = 0; i < hn_count(&y->type); i++)
        hn_set(y, i,
               hn_get(a, hn_broadcast_index(&a->type, &y->type, i)) +
                   hn_get(b, hn_broadcast_index(&b->type, &y->type, i)));
}

static void backward(hn_grad *d)
{
    for (int i = 0; i < 2; i++)
        if (d->wants[i])
            d->din[i] = hn_unbroadcast(d->g, d->dout[0], d->in[i]);
}

static const char *const cases[] = { "f32[1] f32[1]", "f32[3,5] f32[3,5]", "f32[2,3,5] f32[5]",
                                     "f32[4,1] f32[1,6]", "bf16[7,9] bf16[9]", NULL };
/* clang-format off */
const hn_op hn_op_add = {
    .name = "add", .summary = "y = a + b", .inputs = "a b",
    .affine_in = HN_IN(0) | HN_IN(1), .is_jointly_affine = true,
    .infer = infer, .forward = forward, .backward = backward, .flops_per_element = 1,
    .may_overwrite = { HN_IN(0) | HN_IN(1) }, .cases = cases, .tolerance = 2e-7,
};
/* clang-format on */
hn_node *hn_add(hn_graph *g, hn_node *a, hn_node *b)
{
    return HN_APPLY(g, &hn_op_add, NULL, a, b);
}
