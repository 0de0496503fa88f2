/* attention_ring: attention with a window over keys that wrap around: key j lies in row j % N
 * of k and v [N, ..]. Spans {first, self, end} count keys, not rows, and may exceed N; a query
 * sees the last `window` keys up to itself, which N holds. N and every `first` are multiples of
 * 64, so that tiles of keys never wrap and bits are those of attention. */
#include "ops/attention_span.h"
#include "ops/ops.h"

enum { TILE = 64 };

static const hn_attr attrs[] = HN_ATTENTION_ATTRS;

hn_status hn_attention_ring_expect(const hn_call *call)
{
    const hn_attention_attrs *at = call->attrs;
    const hn_tensor *segments = call->in[HN_ATTENTION_SEGMENTS];
    const hn_type *q = &call->in[HN_ATTENTION_Q]->type, *v = &call->in[HN_ATTENTION_V]->type;
    if (!segments || segments->type.rank != 2)
        return hn_refuse(call, "expected spans, i32 [%lld,3]", (long long)q->dim[0]);
    if (!at->causal || at->window < 1 || at->window > v->dim[0] || v->dim[0] % TILE)
        return hn_refuse(
            call,
            "causal %d, window %lld over a ring of %lld: expected a causal window of 1 "
            "to all rows, and a multiple of %d of them",
            at->causal, (long long)at->window, (long long)v->dim[0], TILE);
    return HN_OK;
}

hn_status hn_attention_ring_check(const hn_call *call)
{
    const hn_tensor *spans = call->in[HN_ATTENTION_SEGMENTS];
    HN_TRY(hn_spans_check(call, HN_ATTENTION_SEGMENTS, INT32_MAX));
    for (int64_t t = 0; t < spans->type.dim[0]; t++)
        HN_REQUIRE(hn_get_int(spans, 3 * t) % TILE == 0, HN_ERR_ARGUMENT,
                   "%s: the span of query %lld begins at key %lld: expected a multiple of %d",
                   call->op->name, (long long)t, (long long)hn_get_int(spans, 3 * t), TILE);
    return HN_OK;
}

int64_t hn_attention_ring_rows(const hn_call *call)
{
    const bool wraps =
        call->op == &hn_op_attention_ring || ((const hn_attention_attrs *)call->attrs)->ring;
    return wraps ? call->in[HN_ATTENTION_V]->type.dim[0] : 0;
}

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_attention_expect(call));
    HN_TRY(hn_attention_ring_expect(call));
    const hn_type *q = &call->in[HN_ATTENTION_Q]->type, *v = &call->in[HN_ATTENTION_V]->type;
    const int64_t dim[3] = { q->dim[0], q->dim[1], v->dim[2] };
    HN_TRY(hn_type_make(&out[0], q->dtype, 3, dim));
    return hn_type_make(&out[1], HN_F32, 2, dim);
}

static const char *const cases[] = {
    "f32[3,4,8] f32[64,2,8] f32[64,2,6] f32[4] i32[3,3]{ring:200} window=50 softcap=2",
    "f32[5,2,66] f16[128,1,66] f16[128,1,70] - i32[5,3]{ring:1000} window=128",
    "f32[2,4,32] q8_0[64,4,32] q8_0[64,4,64] - i32[2,3]{ring:90} window=1",
    "f32[4,2,64] q4_0[192,2,64] q4_0[192,2,64] - i32[4,3]{ring:5000} window=130", NULL
};
/* clang-format off */
const hn_op hn_op_attention_ring = {
    .name = "attention_ring",
    .summary = "attention with a window, key j in row j % N",
    .inputs = "q k v sinks? segments!", .outputs = "y lse!", .attrs = attrs,
    .attrs_size = sizeof(hn_attention_attrs), .infer = infer, .forward = hn_attention_forward,
    .no_gradient = "keys in a ring are overwritten",
    .check = hn_attention_ring_check, .checks = HN_IN(HN_ATTENTION_SEGMENTS), .flops = hn_attention_flops,
    .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_attention_ring(hn_graph *g, hn_node *q, hn_node *k, hn_node *v, hn_node *sinks,
                           hn_node *segments, int64_t window, float scale, float softcap)
{
    const hn_attention_attrs own = { true, window, scale, softcap, false };
    return HN_APPLY(g, &hn_op_attention_ring, &own, q, k, v, sinks, segments);
}
