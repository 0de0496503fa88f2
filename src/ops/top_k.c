/* top_k: where the k largest of each row lie, the largest first, of equal ones the lower index
 * first, NaN last. take reads the values, with their gradient. */
#include "ops/attrs.h"
#include "ops/ops.h"

static const hn_attr attrs[] = { HN_ATTR_INT(top_k_attrs, k, NULL), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const int64_t k = ((const top_k_attrs *)call->attrs)->k;
    const hn_type *x = &call->in[0]->type;
    HN_TRY(hn_expect_float(call, 0));
    HN_TRY(hn_expect_rank_between(call, 0, 1, HN_MAX_RANK));
    if (k < 1 || k > hn_last_dim(x))
        return hn_refuse(call, "k is %lld of %lld elements", (long long)k,
                         (long long)hn_last_dim(x));
    int64_t dim[HN_MAX_RANK];
    for (int i = 0; i < x->rank; i++)
        dim[i] = x->dim[i];
    dim[x->rank - 1] = k;
    return hn_type_make(out, HN_I32, x->rank, dim);
}

static bool is_before(double a, int64_t a_index, double b, int64_t b_index)
{
    if (isnan(a) || isnan(b))
        return isnan(a) == isnan(b) ? a_index < b_index : isnan(b);
    return a != b ? a > b : a_index < b_index;
}

/* The first of those that come after element `last` (-1: of all). */
static int64_t next(const hn_tensor *x, int64_t row, int64_t n, int64_t last)
{
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++) {
        const double value = hn_get(x, row * n + i);
        const bool is_left = last < 0 || is_before(hn_get(x, row * n + last), last, value, i);
        if (is_left && (best < 0 || is_before(value, i, hn_get(x, row * n + best), best)))
            best = i;
    }
    return best;
}

static void forward(const hn_call *call)
{
    const int64_t k = ((const top_k_attrs *)call->attrs)->k;
    const hn_tensor *x = call->in[0];
    for (int64_t row = 0; row < hn_rows(&x->type); row++) {
        int64_t last = -1;
        for (int64_t i = 0; i < k; i++) {
            last = next(x, row, hn_last_dim(&x->type), last);
            hn_set_int(call->out[0], row * k + i, last);
        }
    }
}

static double flops(const hn_call *call)
{
    return (double)hn_count(&call->in[0]->type) * (double)((const top_k_attrs *)call->attrs)->k;
}

static const char *const cases[] = { "f32[1] k=1",         "f32[5,17] k=4",
                                     "f32[3,8]{mask} k=8", "f32[2,3,33]{0:9} k=5",
                                     "bf16[4,64] k=8",     NULL };
/* clang-format off */
const hn_op hn_op_top_k = {
    .name = "top_k", .summary = "ids = the places of the k largest of each row", .inputs = "x",
    .outputs = "ids", .attrs = attrs, .attrs_size = sizeof(top_k_attrs), .infer = infer,
    .forward = forward, .no_gradient = "integer output", .flops = flops, .cases = cases,
};
/* clang-format on */
hn_node *hn_top_k(hn_graph *g, hn_node *x, int64_t k)
{
    return HN_APPLY(g, &hn_op_top_k, &((top_k_attrs){ k }), x);
}
