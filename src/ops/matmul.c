/* matmul: y[.., M, N] = a[.., M, K] * b[.., K, N], either of them stored transposed. Batches
 * are broadcast, and heads may share: ops/product.h. Each element is one chain over K. */
#include "ops/product.h"

static const hn_attr attrs[] = PRODUCT_TABLE;

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(product_check(call));
    const product p = product_of(call);
    int64_t dim[HN_MAX_RANK];
    for (int i = 0; i < p.batch.rank; i++)
        dim[i] = p.batch.dim[i];
    dim[p.batch.rank] = p.m;
    dim[p.batch.rank + 1] = p.n;
    return hn_type_make(out, call->in[0]->type.dtype, p.batch.rank + 2, dim);
}

static void forward(const hn_call *call)
{
    const product p = product_of(call);
    for (int64_t batch = 0; batch < hn_count(&p.batch); batch++)
        for (int64_t row = 0; row < p.m; row++)
            for (int64_t col = 0; col < p.n; col++)
                hn_set(call->out[0], (batch * p.m + row) * p.n + col,
                       product_element(call, &p, batch, row, col, 0));
}

/* Both are sums: over what was broadcast, and over N or M, which may be tokens. */
static void backward(hn_grad *d)
{
    hn_graph *g = d->g;
    hn_node *a = d->in[0], *b = d->in[1], *dy = d->dout[0];
    const bool ta = ((const matmul_attrs *)d->attrs)->ta,
               tb = ((const matmul_attrs *)d->attrs)->tb;
    if (d->wants[0])
        d->din[0] = ta ? hn_matmul_to(g, b, dy, a, NULL, tb, true)
                       : hn_matmul_to(g, dy, b, a, NULL, false, !tb);
    if (d->wants[1])
        d->din[1] = tb ? hn_matmul_to(g, dy, a, b, NULL, true, ta)
                       : hn_matmul_to(g, a, dy, b, NULL, !ta, false);
}

static const char *const cases[] = { "f32[1,1] f32[1,1]",
                                     "f32[5,33] f32[33,17]",
                                     "f32[4,3] f32[4,5] ta=1",
                                     "f32[3,4] f32[5,4] tb=1",
                                     "f32[2,4,3] f32[2,5,4] ta=1 tb=1",
                                     "f32[2,3,4] f32[4,5]",
                                     "f32[6,3,4] f32[2,4,5]",
                                     "f32[2,4,3,5] f32[1,2,7,5] tb=1",
                                     "f32[3,2] f32[4,2,5]",
                                     "bf16[2,4,32] bf16[2,32,16]",
                                     NULL };
/* clang-format off */
const hn_op hn_op_matmul = {
    .name = "matmul", .summary = "y[..,M,N] = a[..,M,K] * b[..,K,N]", .inputs = "a b",
    .attrs = attrs, .attrs_size = sizeof(matmul_attrs), .affine_in = HN_IN(0) | HN_IN(1),
    .infer = infer, .forward = forward, .backward = backward, .flops = product_flops,
    .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_matmul(hn_graph *g, hn_node *a, hn_node *b, bool ta, bool tb)
{
    return HN_APPLY(g, &hn_op_matmul, &((matmul_attrs){ ta, tb }), a, b);
}
