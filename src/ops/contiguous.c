/* contiguous: a copy in row-major order; also the copy between devices. */
#include "ops/ops.h"

static hn_status infer(const hn_call *call, hn_type *out)
{
    *out = call->in[0]->type;
    hn_type_pack(out);
    return HN_OK;
}

static void forward(const hn_call *call)
{
    hn_tensor_copy(call->out[0], call->in[0]);
}

static void backward(hn_grad *d)
{
    d->din[0] = d->dout[0];
}

static const char *const cases[] = { "f32[7]", "f32[3,5,2]", "f16[4,4]", "bf16[2,9]", NULL };
/* clang-format off */
const hn_op hn_op_contiguous = {
    .name = "contiguous", .summary = "y = x, in row-major order", .inputs = "x",
    .affine_in = HN_IN(0),
    .infer = infer, .forward = forward, .backward = backward, .cases = cases,
};
/* clang-format on */
hn_node *hn_contiguous(hn_graph *g, hn_node *x)
{
    return HN_APPLY(g, &hn_op_contiguous, NULL, x);
}
