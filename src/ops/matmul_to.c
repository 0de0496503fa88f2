/* matmul_to: a * b as in matmul, summed over the batches that share a matrix of `like`: the
 * gradient of an operand that was broadcast, or shared by heads. Each element is one chain,
 * from `acc` where given, over the batches in ascending order and K within each. It is f32, as
 * a sum over tokens. */
#include "ops/product.h"

enum { A, B, LIKE, ACC };

static const hn_attr attrs[] = PRODUCT_TABLE;

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(product_check(call));
    const product p = product_of(call);
    const hn_type *like = &call->in[LIKE]->type;
    HN_TRY(hn_expect_rank_between(call, LIKE, 2, HN_MAX_RANK));
    HN_TRY(hn_expect_dim(call, LIKE, like->rank - 2, p.m));
    HN_TRY(hn_expect_dim(call, LIKE, like->rank - 1, p.n));
    HN_TRY(product_fits(call, LIKE, &p));
    HN_TRY(hn_type_as(out, like, HN_F32));
    if (!call->in[ACC])
        return HN_OK;
    HN_TRY(hn_expect_dtype(call, ACC, HN_F32));
    return hn_expect_same(call, ACC, LIKE);
}

static void forward(const hn_call *call)
{
    const product p = product_of(call);
    const hn_tensor *y = call->out[0], *acc = call->in[ACC];
    const int64_t size = p.m * p.n, n_matrices = hn_count(&y->type) / size;
    for (int64_t at = 0; at < n_matrices * size; at++) {
        double sum = acc ? hn_get(acc, at) : 0;
        for (int64_t batch = 0; batch < hn_count(&p.batch); batch++)
            if (product_matrix(&y->type, &p, batch) == at / size)
                sum = product_element(call, &p, batch, at % size / p.n, at % p.n, sum);
        hn_set(y, at, sum);
    }
}

static const char *const cases[] = { "f32[1,1] f32[1,1] f32[1,1]",
                                     "f32[5,3] f32[5,17] f32[3,17] ta=1",
                                     "f32[5,3] f32[5,17] f32[3,17] f32[3,17] ta=1",
                                     "f32[4,5] f32[3,5] f32[4,3] tb=1",
                                     "f32[6,3,4] f32[6,3,5] f32[2,4,5] f32[2,4,5] ta=1",
                                     "f32[2,4,3,5] f32[2,4,5,7] f32[1,2,3,7]",
                                     "f32[4,2,3] f32[2,3,5] f32[2,5]",
                                     "bf16[3,4,8] bf16[3,4,16] bf16[8,16] ta=1",
                                     NULL };
/* clang-format off */
const hn_op hn_op_matmul_to = {
    .name = "matmul_to", .summary = "y = acc + a * b summed to the shape of like",
    .inputs = "a b like~ acc?", .attrs = attrs, .attrs_size = sizeof(matmul_attrs),
    .affine_in = HN_IN(A) | HN_IN(B), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided", .flops = product_flops,
    .acc = { { HN_INPUT(ACC), 0 } }, .cases = cases, .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_matmul_to(hn_graph *g, hn_node *a, hn_node *b, hn_node *like, hn_node *acc, bool ta,
                      bool tb)
{
    return HN_APPLY(g, &hn_op_matmul_to, &((matmul_attrs){ ta, tb }), a, b, like, acc);
}
