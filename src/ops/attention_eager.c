/* attention_eager: attention as Transformers' eager bf16 models compute it, for running them:
 * products, scaled scores, each step of a soft cap, probabilities and their sums of values are
 * rounded to bf16, and the softmax, in f32, is one over all scores of a query. The bits are
 * those of matmul, scale, softmax and round_to one after the other, but no more than a few rows
 * of scores are held. With a table keys lie in blocks, as in attention_blocks.
 *
 * In double, where meanings are compared, rounding is precision and not meaning: attention. */
#include "ops/attention_span.h"
#include "ops/ops.h"

static const hn_attr attrs[] = { HN_ATTR_BOOL(hn_attention_attrs, causal, "1"),
                                 HN_ATTR_INT(hn_attention_attrs, window, "0"),
                                 HN_ATTR_FLOAT(hn_attention_attrs, scale, "0"),
                                 HN_ATTR_FLOAT(hn_attention_attrs, softcap, "0"),
                                 HN_ATTR_END };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_type *q = &call->in[HN_ATTENTION_Q]->type, *v = &call->in[HN_ATTENTION_V]->type;
    HN_TRY(hn_attention_expect(call));
    if (hn_attention_table(call))
        HN_TRY(hn_attention_blocks_expect(call));
    const int64_t dim[3] = { q->dim[0], q->dim[1], v->dim[2] };
    return hn_type_make(&out[0], q->dtype, 3, dim);
}

static hn_status check(const hn_call *call)
{
    return hn_attention_table(call) ? hn_attention_blocks_check(call) : hn_attention_check(call);
}

static const char *const cases[] = {
    "f32[1,1,1] f32[1,1,1] f32[1,1,1]",
    "f32[5,4,8] f32[5,2,8] f32[5,2,6] f32[4] softcap=2",
    "f32[7,2,4] f32[7,1,4] f32[7,1,4] - i32[7]{seg} window=3",
    "f32[6,2,5] f32[6,2,5] f32[6,2,5] - i32[6]{seg} causal=0 scale=0.3",
    "f32[3,4,4] f32[9,4,4] f32[9,4,4] f32[4] i32[3,3]{span:9} window=4",
    "f32[3,2,66] f16[5,1,66] bf16[5,1,70] - i32[3,3]{span:5} causal=0",
    "f32[40,4,32] q8_0[70,2,32] q8_0[70,2,64] - i32[40,3]{span:70}",
    "f32[3,4,8] f32[64,2,8] f32[64,2,6] f32[4] i32[3,3]{blocks:4*64} i32[4,1]{0:1} window=50",
    "f32[5,2,66] bf16[960,1,66] bf16[960,1,70] - i32[5,3]{blocks:3*320} i32[3,5]{perm} window=128",
    NULL
};
/* clang-format off */
const hn_op hn_op_attention_eager = {
    .name = "attention_eager",
    .summary = "attention with every step rounded to bf16 and one softmax over all scores of a query",
    .inputs = "q k v sinks? segments?! table?!", .attrs = attrs, .attrs_size = sizeof(hn_attention_attrs),
    .infer = infer, .forward = hn_attention_forward,
    .no_gradient = "its steps are not kept",
    .check = check,
    .checks = HN_IN(HN_ATTENTION_SEGMENTS) | HN_IN(HN_ATTENTION_TABLE), .flops = hn_attention_flops,
    .cases = cases, .tolerance = 0.03,
};
/* clang-format on */
hn_node *hn_attention_eager(hn_graph *g, hn_node *q, hn_node *k, hn_node *v, hn_node *sinks,
                            hn_node *segments, hn_node *table, int64_t window, float scale,
                            float softcap)
{
    const hn_attention_attrs own = { true, window, scale, softcap };
    return HN_APPLY(g, &hn_op_attention_eager, &own, q, k, v, sinks, segments, table);
}
