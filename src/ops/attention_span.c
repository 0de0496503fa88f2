/* Ids are compared, never ordered: any numbers name segments, so long as equal ones are side by
 * side. */
#include "ops/attention_span.h"

#include <math.h>

hn_status hn_attention_expect(const hn_call *call)
{
    const hn_attention_attrs *at = call->attrs;
    for (int i = HN_ATTENTION_Q; i <= HN_ATTENTION_V; i++) {
        if (i == HN_ATTENTION_Q || !hn_is_block(call->in[i]->type.dtype)) /* a cache may be in blocks */
            HN_TRY(hn_expect_float(call, i));
        HN_TRY(hn_expect_rank(call, i, 3));
    }
    const hn_type *q = &call->in[HN_ATTENTION_Q]->type, *k = &call->in[HN_ATTENTION_K]->type;
    HN_TRY(hn_expect_dim(call, HN_ATTENTION_K, 2, q->dim[2]));
    HN_TRY(hn_expect_dim(call, HN_ATTENTION_V, 0, k->dim[0]));
    HN_TRY(hn_expect_dim(call, HN_ATTENTION_V, 1, k->dim[1]));
    if (q->dim[1] % k->dim[1])
        return hn_refuse(call, "%lld query heads do not divide among %lld heads of keys",
                         (long long)q->dim[1], (long long)k->dim[1]);
    if (at->window < 0 || !(at->softcap >= 0) || !isfinite(at->scale) || !isfinite(at->softcap))
        return hn_refuse(call,
                         "window %lld, scale %g, softcap %g: expected finite numbers, and "
                         "none below zero but the scale",
                         (long long)at->window, (double)at->scale, (double)at->softcap);
    if (call->in[HN_ATTENTION_SINKS]) {
        HN_TRY(hn_expect_float(call, HN_ATTENTION_SINKS));
        HN_TRY(hn_expect_vector(call, HN_ATTENTION_SINKS, q->dim[1]));
    }
    const hn_tensor *segments = call->in[HN_ATTENTION_SEGMENTS];
    const bool has_spans = segments && segments->type.rank == 2; /* rows of k, or keys that a table finds */
    if (segments) {
        HN_TRY(hn_expect_integer(call, HN_ATTENTION_SEGMENTS));
        HN_TRY(hn_expect_rank_between(call, HN_ATTENTION_SEGMENTS, 1, 2));
        HN_TRY(hn_expect_dim(call, HN_ATTENTION_SEGMENTS, 0, q->dim[0]));
    }
    if (has_spans)
        return hn_expect_dim(call, HN_ATTENTION_SEGMENTS, 1, 3);
    if (q->dim[0] > k->dim[0] || (segments && q->dim[0] != k->dim[0]))
        return hn_refuse(call, "%lld queries on %lld keys without spans: expected %s",
                         (long long)q->dim[0], (long long)k->dim[0],
                         segments ? "as many of both" : "no more queries than keys");
    return HN_OK;
}

double hn_attention_scale(const hn_call *call)
{
    const float scale = ((const hn_attention_attrs *)call->attrs)->scale;
    return scale != 0 ? (double)scale : 1 / sqrt((double)call->in[HN_ATTENTION_Q]->type.dim[2]);
}

/* Ids that only rise, the usual ones, need one pass. */
hn_status hn_segments_check(const hn_call *call, int input)
{
    const hn_tensor *ids = call->in[input];
    const int64_t n = ids->type.dim[0];
    bool rises = true;
    for (int64_t i = 1; i < n && rises; i++)
        rises = hn_get_int(ids, i) >= hn_get_int(ids, i - 1);
    for (int64_t i = 1; i < n && !rises; i++) {
        const int64_t id = hn_get_int(ids, i);
        for (int64_t j = 0; id != hn_get_int(ids, i - 1) && j < i; j++)
            HN_REQUIRE(hn_get_int(ids, j) != id, HN_ERR_ARGUMENT,
                       "%s: segment %lld is at token %lld and again at token %lld: expected "
                       "equal ids side by side",
                       call->op->name, (long long)id, (long long)j, (long long)i);
    }
    return HN_OK;
}

hn_status hn_attention_check(const hn_call *call)
{
    return hn_spans_check(call, HN_ATTENTION_SEGMENTS, call->in[HN_ATTENTION_K]->type.dim[0]);
}

hn_status hn_spans_check(const hn_call *call, int input, int64_t n_k)
{
    const hn_tensor *segments = call->in[input];
    if (!segments)
        return HN_OK;
    if (segments->type.rank == 1)
        return hn_segments_check(call, input);
    for (int64_t t = 0; t < segments->type.dim[0]; t++) {
        const int64_t first = hn_get_int(segments, 3 * t),
                      self = hn_get_int(segments, 3 * t + 1);
        const int64_t end = hn_get_int(segments, 3 * t + 2);
        HN_REQUIRE(0 <= first && first <= self && self < end && end <= n_k, HN_ERR_ARGUMENT,
                   "%s: the span of query %lld is first %lld, self %lld, end %lld: expected "
                   "0 <= first <= self < end <= %lld",
                   call->op->name, (long long)t, (long long)first, (long long)self,
                   (long long)end, (long long)n_k);
    }
    return HN_OK;
}

hn_key_span hn_attention_span(const hn_tensor *segments, int64_t t, int64_t n_q, int64_t n_k)
{
    if (!segments)
        return (hn_key_span){ 0, (int32_t)(t + n_k - n_q), (int32_t)n_k };
    if (segments->type.rank == 2)
        return (hn_key_span){ (int32_t)hn_get_int(segments, 3 * t),
                              (int32_t)hn_get_int(segments, 3 * t + 1),
                              (int32_t)hn_get_int(segments, 3 * t + 2) };
    const int64_t id = hn_get_int(segments, t);
    int64_t first = t, end = t + 1;
    while (first > 0 && hn_get_int(segments, first - 1) == id)
        first--;
    while (end < n_k && hn_get_int(segments, end) == id)
        end++;
    return (hn_key_span){ (int32_t)first, (int32_t)t, (int32_t)end };
}

void hn_attention_spans(const hn_tensor *segments, int64_t n_q, int64_t n_k, hn_key_span *spans)
{
    for (int64_t t = 0; t < n_q; t++) {
        const bool is_inside = segments && segments->type.rank == 1 && t &&
                               hn_get_int(segments, t) == hn_get_int(segments, t - 1);
        spans[t] = is_inside ? spans[t - 1] : hn_attention_span(segments, t, n_q, n_k);
        if (is_inside)
            spans[t].self = (int32_t)t;
    }
}

void hn_attention_keys(const hn_attention_attrs *attrs, hn_key_span span, int64_t *from,
                       int64_t *to)
{
    *from = span.first;
    *to = attrs->causal ? (int64_t)span.self + 1 : span.end;
    if (attrs->window <= 0)
        return;
    if (span.self - attrs->window + 1 > *from)
        *from = span.self - attrs->window + 1;
    if (span.self + attrs->window < *to)
        *to = span.self + attrs->window;
}
