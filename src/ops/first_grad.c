/* first_grad: dy goes to the first element of x that equals y along the dimension, zero to all
 * others: the gradient of reduce_max and reduce_min. */
#include "ops/reduction.h"

enum { X, Y, DY };

static const hn_attr attrs[] = REDUCTION_TABLE;

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_same(call, Y, DY));
    return reduction_back(call, DY, X, call->in[DY]->type.dtype, out);
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *dx = call->out[0];
    const axis a = axis_of(&x->type, reduction_of(call->attrs)->dim);
    for (int64_t o = 0; o < a.outer; o++)
        for (int64_t i = 0; i < a.inner; i++) {
            const int64_t row = o * a.inner + i;
            bool is_found = false;
            for (int64_t k = 0; k < a.n; k++) {
                const int64_t at = (o * a.n + k) * a.inner + i;
                const bool is_it = !is_found && hn_get(x, at) == hn_get(call->in[Y], row);
                hn_set(dx, at, is_it ? hn_get(call->in[DY], row) : 0);
                is_found = is_found || is_it;
            }
        }
}

static const char *const cases[] = {
    "f32[1] f32[] f32[]",
    "f32[3,33]{0:4} f32[3]{0:4} f32[3]",
    "f32[6,4]{iota} f32[4]{0:24} f32[4] dim=0",
    "f32[3,7,5]{mask} f32[3,1,5]{mask} f32[3,1,5] dim=1 keep=1",
    "bf16[4,8]{mask} bf16[4]{mask} bf16[4]",
    NULL
};
/* clang-format off */
const hn_op hn_op_first_grad = {
    .name = "first_grad", .summary = "dx = dy where x first equals y, else 0",
    .inputs = "x! y! dy", .outputs = "dx",
    .attrs = attrs, .attrs_size = sizeof(reduction_attrs),
    .affine_in = HN_IN(DY), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops_per_element = 1,
    .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_first_grad(hn_graph *g, hn_node *x, hn_node *y, hn_node *dy, int64_t dim, bool keep)
{
    return HN_APPLY(g, &hn_op_first_grad, &((reduction_attrs){ dim, keep }), x, y, dy);
}
