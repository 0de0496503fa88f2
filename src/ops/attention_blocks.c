/* attention_blocks: attention over keys that lie in blocks of 64, wherever a table says.
 *
 *     keys      0 ..... 63  64 .... 127 | 192 ...            of sequences, one after another: sequence s has
 *     table     [0,0] = 5   [0,1] = 2   | [1,0] = 2          numbers from 64 * s * B on, B blocks at most
 *     rows      320 .. 383  128 .. 191  | 128 ...            of k and v [N, ..]
 *
 * Key j lies in row 64 * table[j / 64] + j % 64, for a table i32 [S, B]. Spans {first, self, end} count
 * keys; `first` is a multiple of 64, so that tiles of keys are blocks and bits are those of attention over
 * the sequence alone. Blocks of which no query sees a key need not be anywhere (-1); one block may serve
 * several sequences. */
#include "ops/attention_span.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_ATTENTION_ATTRS;

const hn_tensor *hn_attention_table(const hn_call *call)
{
    const bool has = call->op == &hn_op_attention_blocks || call->op == &hn_op_attention_eager;
    return has ? call->in[HN_ATTENTION_TABLE] : NULL;
}

int64_t hn_attention_most_keys(const hn_call *call)
{
    const hn_tensor *table = hn_attention_table(call);
    return table ? table->type.dim[1] * HN_KEY_BLOCK : call->in[HN_ATTENTION_K]->type.dim[0];
}

hn_status hn_attention_blocks_expect(const hn_call *call)
{
    const hn_attention_attrs *at = call->attrs;
    const hn_tensor *segments = call->in[HN_ATTENTION_SEGMENTS];
    const hn_type *q = &call->in[HN_ATTENTION_Q]->type, *v = &call->in[HN_ATTENTION_V]->type;
    HN_TRY(hn_expect_integer(call, HN_ATTENTION_TABLE));
    HN_TRY(hn_expect_rank(call, HN_ATTENTION_TABLE, 2));
    if (!segments || segments->type.rank != 2)
        return hn_refuse(call, "expected spans, i32 [%lld,3]", (long long)q->dim[0]);
    if (!at->causal || v->dim[0] % HN_KEY_BLOCK)
        return hn_refuse(call, "causal %d, %lld rows of keys: expected causal, and a multiple of %d of them",
                         at->causal, (long long)v->dim[0], HN_KEY_BLOCK);
    return HN_OK;
}

/* Blocks [from, to) of the table lie somewhere. */
static hn_status check_blocks(const hn_call *call, int64_t query, int64_t from, int64_t to)
{
    const hn_tensor *table = call->in[HN_ATTENTION_TABLE];
    const int64_t n = call->in[HN_ATTENTION_K]->type.dim[0] / HN_KEY_BLOCK;
    for (int64_t i = from; i < to; i++) {
        const int64_t at = hn_get_int(table, i);
        HN_REQUIRE(at >= 0 && at < n, HN_ERR_ARGUMENT,
                   "%s: query %lld sees block %lld of the table, which is block %lld of keys: there are %lld",
                   call->op->name, (long long)query, (long long)i, (long long)at, (long long)n);
    }
    return HN_OK;
}

/* Neighbours see the same blocks but for the last: those are looked at once. */
hn_status hn_attention_blocks_check(const hn_call *call)
{
    const hn_attention_attrs *at = call->attrs;
    const hn_tensor *spans = call->in[HN_ATTENTION_SEGMENTS], *table = call->in[HN_ATTENTION_TABLE];
    const int64_t each = table->type.dim[1] * HN_KEY_BLOCK;
    int64_t seen_from = 0, seen_to = 0;
    HN_TRY(hn_spans_check(call, HN_ATTENTION_SEGMENTS, table->type.dim[0] * each));
    for (int64_t t = 0; t < spans->type.dim[0]; t++) {
        const hn_key_span span = hn_attention_span(spans, t, 0, 0);
        int64_t from, to;
        HN_REQUIRE(span.first % HN_KEY_BLOCK == 0 && span.end - span.first <= each, HN_ERR_ARGUMENT,
                   "%s: the span of query %lld is first %d, end %d: expected to begin at a multiple of %d, and "
                   "%lld keys at most",
                   call->op->name, (long long)t, span.first, span.end, HN_KEY_BLOCK, (long long)each);
        hn_attention_keys(at, span, &from, &to);
        from = from / HN_KEY_BLOCK;
        to = (to + HN_KEY_BLOCK - 1) / HN_KEY_BLOCK;
        if (from < seen_from || from > seen_to)
            seen_from = seen_to = from;
        if (to > seen_to) {
            HN_TRY(check_blocks(call, t, seen_to, to));
            seen_to = to;
        }
    }
    return HN_OK;
}

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_attention_expect(call));
    HN_TRY(hn_attention_blocks_expect(call));
    const hn_type *q = &call->in[HN_ATTENTION_Q]->type, *v = &call->in[HN_ATTENTION_V]->type;
    const int64_t dim[3] = { q->dim[0], q->dim[1], v->dim[2] };
    HN_TRY(hn_type_make(&out[0], q->dtype, 3, dim));
    return hn_type_make(&out[1], HN_F32, 2, dim);
}

static const char *const cases[] = {
    "f32[1,1,1] f32[64,1,1] f32[64,1,1] - i32[1,3]{blocks:1*64} i32[1,1]{iota}",
    "f32[5,4,8] f32[192,2,8] f32[192,2,6] f32[4] i32[5,3]{blocks:3*128} i32[3,2]{0:3} softcap=2",
    "f32[3,4,8] f32[512,2,8] f32[512,2,6] f32[4] i32[3,3]{blocks:2*256} i32[2,4]{perm} window=50",
    "f32[5,2,66] f16[384,1,66] f16[384,1,70] - i32[5,3]{blocks:2*192} i32[2,3]{perm} window=128",
    "f32[2,4,32] q8_0[128,4,32] q8_0[128,4,64] - i32[2,3]{blocks:4*64} i32[4,1]{0:2} window=1",
    "f32[4,2,64] q4_0[128,2,64] q4_0[128,2,64] - i32[4,3]{blocks:1*128} i32[1,2]{perm}", NULL
};
/* clang-format off */
const hn_op hn_op_attention_blocks = {
    .name = "attention_blocks",
    .summary = "attention of many sequences over keys in blocks of 64 that a table finds",
    .inputs = "q k v sinks? segments! table!", .outputs = "y lse!", .attrs = attrs,
    .attrs_size = sizeof(hn_attention_attrs), .infer = infer, .forward = hn_attention_forward,
    .no_gradient = "blocks of keys are overwritten",
    .check = hn_attention_blocks_check, .checks = HN_IN(HN_ATTENTION_SEGMENTS) | HN_IN(HN_ATTENTION_TABLE),
    .flops = hn_attention_flops, .cases = cases, .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_attention_blocks(hn_graph *g, hn_node *q, hn_node *k, hn_node *v, hn_node *sinks, hn_node *segments,
                             hn_node *table, int64_t window, float scale, float softcap)
{
    const hn_attention_attrs own = { true, window, scale, softcap };
    return HN_APPLY(g, &hn_op_attention_blocks, &own, q, k, v, sinks, segments, table);
}
