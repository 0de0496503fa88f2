/* attention: y[t,h] = sum over visible keys j of p_j * v[j,g], g = h / (H / G), where p is the
 * softmax of s_j = scale * q[t,h] . k[j,g], or softcap * tanh(s_j / softcap). A sink is one
 * more logit of a head: it takes its share of the sum and has no value. lse[t,h] is the log of
 * the sum, kept for the gradient. Visible keys: attention_span.h. */
#include "ops/attention_span.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_ATTENTION_ATTRS;

enum { Q, K, V, SINKS, SEGMENTS };
enum { CHANNELS = 64 }; /* of y that are summed at a time */

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_attention_expect(call));
    const hn_type *q = &call->in[Q]->type, *v = &call->in[V]->type;
    const int64_t dim[3] = { q->dim[0], q->dim[1], v->dim[2] };
    HN_TRY(hn_type_make(&out[0], q->dtype, 3, dim));
    return hn_type_make(&out[1], HN_F32, 2, dim);
}

/* One query and head, and the keys it sees. */
typedef struct query {
    const hn_call *call;
    int64_t row, n_group, group, from, to;
    const hn_tensor *table; /* of blocks, or NULL */
    double scale, softcap;
} query;

static int64_t row_of(const query *x, int64_t key)
{
    const int64_t in = key % HN_KEY_BLOCK;
    const int64_t row = x->table ? hn_get_int(x->table, key / HN_KEY_BLOCK) * HN_KEY_BLOCK + in : key;
    return row * x->n_group + x->group;
}

static double score(const query *x, int64_t key)
{
    const hn_tensor *q = x->call->in[Q], *k = x->call->in[K];
    const int64_t d = q->type.dim[2], at = row_of(x, key) * d;
    double s = 0;
    for (int64_t i = 0; i < d; i++)
        s += hn_get(q, x->row * d + i) * hn_get(k, at + i);
    s *= x->scale;
    return x->softcap > 0 ? x->softcap * hn_math_tanh(s / x->softcap) : s;
}

static double log_sum(const query *x, const double *sink)
{
    double most = sink ? *sink : score(x, x->from);
    for (int64_t j = x->from; j < x->to; j++)
        most = fmax(most, score(x, j));
    double sum = sink ? hn_math_exp(*sink - most) : 0;
    for (int64_t j = x->from; j < x->to; j++)
        sum += hn_math_exp(score(x, j) - most);
    return most + hn_math_log(sum);
}

void hn_attention_forward(const hn_call *call)
{
    const hn_attention_attrs *at = call->attrs;
    const hn_tensor *v = call->in[V], *sinks = call->in[SINKS];
    const hn_type *q = &call->in[Q]->type;
    const int64_t n_head = q->dim[1], d_v = v->type.dim[2];
    query x = { .call = call,
                .n_group = v->type.dim[1],
                .table = hn_attention_table(call),
                .scale = hn_attention_scale(call),
                .softcap = (double)at->softcap };
    for (x.row = 0; x.row < q->dim[0] * n_head; x.row++) {
        const int64_t t = x.row / n_head, head = x.row % n_head;
        const hn_key_span span =
            hn_attention_span(call->in[SEGMENTS], t, q->dim[0], v->type.dim[0]);
        const double sink = sinks ? hn_get(sinks, head) : 0;
        hn_attention_keys(at, span, &x.from, &x.to);
        x.group = head / (n_head / x.n_group);
        const double lse = log_sum(&x, sinks ? &sink : NULL);
        if (call->op->outputs && call->out[1])
            hn_set(call->out[1], x.row, lse);
        for (int64_t c = 0; c < d_v; c += CHANNELS) {
            const int64_t n = d_v - c < CHANNELS ? d_v - c : CHANNELS;
            double sum[CHANNELS] = { 0 };
            for (int64_t j = x.from; j < x.to; j++) {
                const double p = hn_math_exp(score(&x, j) - lse);
                for (int64_t i = 0; i < n; i++)
                    sum[i] += p * hn_get(v, row_of(&x, j) * d_v + c + i);
            }
            for (int64_t i = 0; i < n; i++)
                hn_set(call->out[0], x.row * d_v + c + i, sum[i]);
        }
    }
}

/* Of all keys, or half of them when causal: what spans hide is known only while running. */
double hn_attention_flops(const hn_call *call)
{
    const hn_type *q = &call->in[Q]->type, *v = &call->in[V]->type;
    const double pairs = (double)q->dim[0] * (double)q->dim[1] * (double)hn_attention_most_keys(call);
    return pairs * 2 * (double)(q->dim[2] + v->dim[2]) *
           (((const hn_attention_attrs *)call->attrs)->causal ? 0.5 : 1);
}

static void backward(hn_grad *d)
{
    hn_node *dq = HN_APPLY(d->g, &hn_op_attention_grad, d->attrs, d->in[Q], d->in[K], d->in[V],
                           d->in[SINKS], d->in[SEGMENTS], d->out[0], d->out[1], d->dout[0]);
    for (int i = Q; i <= SINKS; i++)
        if (d->wants[i])
            d->din[i] = hn_output(dq, i);
}

static const char *const cases[] = {
    "f32[1,1,1] f32[1,1,1] f32[1,1,1]",
    "f32[5,4,8] f32[5,2,8] f32[5,2,6] f32[4] softcap=2",
    "f32[7,2,4] f32[7,1,4] f32[7,1,4] - i32[7]{seg} window=3",
    "f32[6,2,5] f32[6,2,5] f32[6,2,5] - i32[6]{seg} causal=0 scale=0.3",
    "f32[3,4,4] f32[9,4,4] f32[9,4,4] f32[4] i32[3,3]{span:9} window=4",
    "f32[2,2,4] f32[6,1,4] f32[6,1,4] causal=0 window=2",
    "f32[3,2,66] f16[5,1,66] bf16[5,1,70] - i32[3,3]{span:5} causal=0",
    "bf16[4,2,16] bf16[4,2,16] bf16[4,2,16]",
    "f32[3,4,32] q8_0[70,2,32] q8_0[70,2,64] - i32[3,3]{span:70}",
    "f32[2,4,64] q4_0[9,4,64] q4_0[9,4,32] f32[4] i32[2,3]{span:9} window=4",
    NULL
};
/* clang-format off */
const hn_op hn_op_attention = {
    .name = "attention",
    .summary = "y = softmax(scale * q k^T) v over the keys that each query sees",
    .inputs = "q k v sinks? segments?!", .outputs = "y lse!", .attrs = attrs,
    .attrs_size = sizeof(hn_attention_attrs), .infer = infer, .forward = hn_attention_forward,
    .backward = backward,
    .check = hn_attention_check, .checks = HN_IN(SEGMENTS), .flops = hn_attention_flops, .cases = cases,
    .tolerance = 4e-6,
};
/* clang-format on */
hn_node *hn_attention(hn_graph *g, hn_node *q, hn_node *k, hn_node *v, hn_node *sinks,
                      hn_node *segments, bool causal, int64_t window, float scale,
                      float softcap)
{
    const hn_attention_attrs own = { causal, window, scale, softcap };
    return HN_APPLY(g, &hn_op_attention, &own, q, k, v, sinks, segments);
}
