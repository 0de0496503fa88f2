/* dropout: y = x / (1 - p), or 0 with probability p. The random number of an element is a
 * function of seed, step, key and where the element is: sequence number and position of its
 * token (`at`) and channel, so no cut into batches changes it; without `at`, the element's
 * index. The gradient is dropout again, with the same key. */
#include "ops/dropout_key.h"
#include "ops/ops.h"

static const hn_attr attrs[] = { HN_ATTR_FLOAT(hn_dropout_attrs, p, "0.1"),
                                 HN_ATTR_INT(hn_dropout_attrs, seed, "0"),
                                 HN_ATTR_INT(hn_dropout_attrs, key, "0"), HN_ATTR_END };

enum { X, AT, STEP };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const float p = ((const hn_dropout_attrs *)call->attrs)->p;
    if (!(p >= 0 && p < 1))
        return hn_refuse(call, "p is %g: expected 0 <= p < 1", (double)p);
    if (call->in[AT]) {
        HN_TRY(hn_expect_rank_between(call, X, 1, HN_MAX_RANK));
        HN_TRY(hn_expect_rank(call, AT, 2));
        HN_TRY(hn_expect_integer(call, AT));
        HN_TRY(hn_expect_dim(call, AT, 0, call->in[X]->type.dim[0]));
        HN_TRY(hn_expect_dim(call, AT, 1, 2));
    }
    if (call->in[STEP]) {
        HN_TRY(hn_expect_integer(call, STEP));
        HN_TRY(hn_expect_scalar(call, STEP));
    }
    return hn_infer_like(call, X, out);
}

static void forward(const hn_call *call)
{
    const hn_dropout_attrs *own = call->attrs;
    const hn_tensor *x = call->in[X], *at = call->in[AT], *y = call->out[0];
    const int64_t n = hn_count(&x->type), width = at ? n / x->type.dim[0] : n;
    const hn_rng_key all =
        hn_dropout_key(own, call->in[STEP] ? hn_get_int(call->in[STEP], 0) : 0);
    for (int64_t first = 0, t = 0; first < n; first += width, t++) {
        const hn_rng_key key =
            at ? hn_dropout_token_key(all, hn_get_int(at, 2 * t), hn_get_int(at, 2 * t + 1))
               : all;
        for (int64_t i = 0; i < width; i++) {
            const bool is_kept = hn_rng_mass_uniform(key, (uint64_t)i) >= own->p;
            hn_set(y, first + i, is_kept ? hn_get(x, first + i) / (1 - (double)own->p) : 0);
        }
    }
}

static void backward(hn_grad *d)
{
    d->din[X] = HN_APPLY(d->g, &hn_op_dropout, d->attrs, d->dout[0], d->in[AT], d->in[STEP]);
}

static const char *const cases[] = { "f32[1]",
                                     "f32[3,50] p=0.5 seed=7",
                                     "f32[4,33] i32[4,2]{0:9} i32[]{0:9} key=5",
                                     "f32[3,2,9] i32[3,2]{0:9} - p=0.9",
                                     "f32[2,5] - i32[]{0:9}",
                                     "bf16[5,64] i32[5,2]{iota} p=0",
                                     NULL };
/* clang-format off */
const hn_op hn_op_dropout = {
    .name = "dropout", .summary = "y = x / (1 - p), or 0 with probability p",
    .inputs = "x at?! step?!", .attrs = attrs, .attrs_size = sizeof(hn_dropout_attrs),
    .affine_in = HN_IN(X), .infer = infer, .forward = forward, .backward = backward,
    .flops_per_element = 1, .may_overwrite = { HN_IN(X) }, .cases = cases, .tolerance = 3e-7,
};
/* clang-format on */
hn_node *hn_dropout(hn_graph *g, hn_node *x, hn_node *at, hn_node *step, float p, int64_t seed)
{
    const hn_dropout_attrs own = { p, seed, (int64_t)hn_graph_key(g, "dropout") };
    return HN_APPLY(g, &hn_op_dropout, &own, x, at, step);
}
