/* stop_gradient: x, beyond which reverse mode does not go; a view. */
#include "ops/ops.h"

static hn_status infer(const hn_call *call, hn_type *out)
{
    *out = call->in[0]->type;
    return HN_OK;
}

static void forward(const hn_call *call) { hn_tensor_copy(call->out[0], call->in[0]); }

static const char *const cases[] = { "f32[1]", "f32[3,5]", "bf16[2,3,4]", "i32[6]{0:9}", NULL };
/* clang-format off */
const hn_op hn_op_stop_gradient = {
    .name = "stop_gradient", .summary = "y = x, whose gradient is not asked for", .inputs = "x!",
    .infer = infer, .forward = forward, .no_gradient = "gradients end here on purpose",
    .stops_gradient = true, .view_of = HN_INPUT(0), .cases = cases,
};
/* clang-format on */
hn_node *hn_stop_gradient(hn_graph *g, hn_node *x)
{
    return HN_APPLY(g, &hn_op_stop_gradient, NULL, x);
}
