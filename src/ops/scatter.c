/* scatter: zeros of the shape of `like`, with row ids[i] = x[i]. Ids are distinct, so its
 * gradient is gather. */
#include "ops/ids.h"
#include "ops/ops.h"

enum { X, IDS, LIKE };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_float(call, X));
    HN_TRY(hn_expect_rank(call, X, 2));
    HN_TRY(hn_expect_rank(call, LIKE, 2));
    HN_TRY(hn_expect_integer(call, IDS));
    HN_TRY(hn_expect_vector(call, IDS, call->in[X]->type.dim[0]));
    HN_TRY(hn_expect_dim(call, X, 1, call->in[LIKE]->type.dim[1]));
    return hn_type_make(out, call->in[X]->type.dtype, 2, call->in[LIKE]->type.dim);
}

/* Ascending ids, the usual ones, are known to be distinct in one pass. */
static hn_status check(const hn_call *call)
{
    const hn_tensor *ids = call->in[IDS];
    const int64_t n = hn_count(&ids->type);
    HN_TRY(hn_check_ids(call, IDS, 0, call->in[LIKE]->type.dim[0]));
    bool ascends = true;
    for (int64_t i = 1; i < n && ascends; i++)
        ascends = hn_get_int(ids, i) > hn_get_int(ids, i - 1);
    for (int64_t i = 1; i < n && !ascends; i++)
        for (int64_t j = 0; j < i; j++)
            HN_REQUIRE(
                hn_get_int(ids, i) != hn_get_int(ids, j), HN_ERR_ARGUMENT,
                "scatter: elements %lld and %lld of ids are both %lld: expected distinct "
                "rows",
                (long long)j, (long long)i, (long long)hn_get_int(ids, i));
    return HN_OK;
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *ids = call->in[IDS], *y = call->out[0];
    const int64_t c = hn_last_dim(&x->type), n = hn_count(&ids->type);
    for (int64_t i = 0; i < hn_count(&y->type); i++)
        hn_set(y, i, 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < c; j++)
            hn_set(y, hn_get_int(ids, i) * c + j, hn_get(x, i * c + j));
}

static void backward(hn_grad *d) { d->din[X] = hn_gather(d->g, d->dout[0], d->in[IDS]); }

static const char *const cases[] = { "f32[1,4] i32[1]{0:3} f32[3,4]",
                                     "f32[5,7] i32[5]{perm} f32[9,7]",
                                     "f32[4,33] i32[4]{perm} bf16[4,33]",
                                     "bf16[3,16] i32[3]{iota} f32[5,16]", NULL };
/* clang-format off */
const hn_op hn_op_scatter = {
    .name = "scatter", .summary = "y = zeros with rows ids = x", .inputs = "x ids! like~",
    .affine_in = HN_IN(X), .infer = infer, .forward = forward, .backward = backward,
    .check = check, .checks = HN_IN(IDS), .cases = cases, .tolerance = 1e-7,
};
/* clang-format on */
hn_node *hn_scatter(hn_graph *g, hn_node *x, hn_node *ids, hn_node *like)
{
    return HN_APPLY(g, &hn_op_scatter, NULL, x, ids, like);
}
