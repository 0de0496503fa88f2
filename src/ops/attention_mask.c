/* attention_mask: y[t,j] is 0 where query t sees key j and -inf where it does not, by the rules of
 * attention (attention_span.h): what is added to scores that are materialised. Of q [T, ..] and
 * k [N, ..] only the numbers of rows are read. */
#include "ops/attention_span.h"
#include "ops/ops.h"

#include <math.h>

enum { Q, K, SEGMENTS };

typedef struct attention_mask {
    bool causal;
    int64_t window; /* 0: none */
} attention_mask;

static const hn_attr attrs[] = { HN_ATTR_BOOL(attention_mask, causal, "1"),
                                 HN_ATTR_INT(attention_mask, window, "0"), HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_expect_rank_between(call, Q, 1, HN_MAX_RANK));
    HN_TRY(hn_expect_rank_between(call, K, 1, HN_MAX_RANK));
    const int64_t n_q = call->in[Q]->type.dim[0], n_k = call->in[K]->type.dim[0];
    if (((const attention_mask *)call->attrs)->window < 0)
        return hn_refuse(call, "window is %lld",
                         (long long)((const attention_mask *)call->attrs)->window);
    if (call->in[SEGMENTS]) {
        const hn_type *s = &call->in[SEGMENTS]->type;
        HN_TRY(hn_expect_integer(call, SEGMENTS));
        HN_TRY(hn_expect_rank_between(call, SEGMENTS, 1, 2));
        HN_TRY(hn_expect_dim(call, SEGMENTS, 0, n_q));
        if (s->rank == 2)
            HN_TRY(hn_expect_dim(call, SEGMENTS, 1, 3));
        else if (n_q != n_k)
            return hn_refuse(call, "segment ids of %lld queries for %lld keys", (long long)n_q,
                             (long long)n_k);
    } else if (n_q > n_k) {
        return hn_refuse(call, "%lld queries of %lld keys", (long long)n_q, (long long)n_k);
    }
    const int64_t dim[2] = { n_q, n_k };
    return hn_type_make(out, HN_F32, 2, dim);
}

static hn_status check(const hn_call *call)
{
    return hn_spans_check(call, SEGMENTS, call->in[K]->type.dim[0]);
}

static void forward(const hn_call *call)
{
    const attention_mask *own = call->attrs;
    const hn_attention_attrs at = { .causal = own->causal, .window = own->window };
    const int64_t n_q = call->in[Q]->type.dim[0], n_k = call->in[K]->type.dim[0];
    for (int64_t t = 0; t < n_q; t++) {
        int64_t from, to;
        hn_attention_keys(&at, hn_attention_span(call->in[SEGMENTS], t, n_q, n_k), &from, &to);
        for (int64_t j = 0; j < n_k; j++)
            hn_set(call->out[0], t * n_k + j, j >= from && j < to ? 0 : -(double)INFINITY);
    }
}

static const char *const cases[] = { "f32[1,1] f32[1,1]",
                                     "f32[5,4,8] f32[5,2,8] i32[5]{seg}",
                                     "f32[7,2] f32[7,2] i32[7]{seg} window=3",
                                     "f32[6,2] f32[6,2] i32[6]{seg} causal=0",
                                     "f32[3,4] f32[9,4] i32[3,3]{span:9} window=4",
                                     "f32[2,2] bf16[6,1] - causal=0 window=2",
                                     NULL };
/* clang-format off */
const hn_op hn_op_attention_mask = {
    .name = "attention_mask", .summary = "y = 0 where a query sees a key, -inf elsewhere",
    .inputs = "q!~ k!~ segments?!", .attrs = attrs, .attrs_size = sizeof(attention_mask),
    .infer = infer, .forward = forward, .no_gradient = "made of integers",
    .check = check, .checks = HN_IN(SEGMENTS),
    .cases = cases,
};
/* clang-format on */
hn_node *hn_attention_mask(hn_graph *g, hn_node *q, hn_node *k, hn_node *segments, bool causal,
                           int64_t window)
{
    return HN_APPLY(g, &hn_op_attention_mask, &((attention_mask){ causal, window }), q, k,
                    segments);
}
