/* attention_grad: with p = exp(s - lse) and delta = y . dy of a query and head:
 *     ds = scale * p * (dy . v - delta),  times 1 - (s / softcap)^2 under a cap,
 *     dq = sum over keys of ds * k,   dk = sum over heads of the group, then queries, of ds *
 * q, dv = the same of p * dy,   dsinks = acc - sum over tokens of exp(sink - lse) * delta. dk
 * and dv are sums in f32 whatever type the keys are kept in. */
#include "ops/attention_span.h"
#include "ops/ops.h"

static const hn_attr attrs[] = HN_ATTENTION_ATTRS;

enum { Q, K, V, SINKS, SEGMENTS, Y, LSE, DY, ACC };
enum { DQ, DK, DV, DSINKS };
enum { CHANNELS = 64 };

static hn_status infer(const hn_call *call, hn_type *out)
{
    HN_TRY(hn_attention_expect(call));
    const hn_type *q = &call->in[Q]->type, *k = &call->in[K]->type, *v = &call->in[V]->type;
    HN_TRY(hn_expect_float(call, Y));
    HN_TRY(hn_expect_rank(call, Y, 3));
    HN_TRY(hn_expect_dim(call, Y, 0, q->dim[0]));
    HN_TRY(hn_expect_dim(call, Y, 1, q->dim[1]));
    HN_TRY(hn_expect_dim(call, Y, 2, v->dim[2]));
    HN_TRY(hn_expect_float(call, DY));
    HN_TRY(hn_expect_same(call, DY, Y));
    HN_TRY(hn_expect_dtype(call, LSE, HN_F32));
    HN_TRY(hn_expect_rank(call, LSE, 2));
    HN_TRY(hn_expect_dim(call, LSE, 0, q->dim[0]));
    HN_TRY(hn_expect_dim(call, LSE, 1, q->dim[1]));
    if (call->in[ACC]) {
        HN_TRY(hn_expect_dtype(call, ACC, HN_F32));
        HN_TRY(hn_expect_vector(call, ACC, q->dim[1]));
    }
    HN_TRY(hn_type_make(&out[DQ], q->dtype, 3, q->dim));
    HN_TRY(hn_type_make(&out[DK], HN_F32, 3, k->dim));
    HN_TRY(hn_type_make(&out[DV], HN_F32, 3, v->dim));
    return hn_type_make(&out[DSINKS], HN_F32, 1, &q->dim[1]);
}

static double dot(const hn_tensor *a, int64_t at, const hn_tensor *b, int64_t from, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += hn_get(a, at + i) * hn_get(b, from + i);
    return sum;
}

/* One query and head. */
typedef struct query {
    const hn_call *call;
    int64_t row, n_group, group, from, to;
    double scale, softcap, lse, delta;
} query;

/* ds of one key, and its p. */
static double slope(const query *x, int64_t key, double *p)
{
    const hn_tensor *const *in = x->call->in;
    const int64_t d = in[K]->type.dim[2], d_v = in[V]->type.dim[2];
    const int64_t at = key * x->n_group + x->group;
    double s = x->scale * dot(in[Q], x->row * d, in[K], at * d, d), bend = 1;
    if (x->softcap > 0) {
        const double tanh_s = hn_math_tanh(s / x->softcap);
        s = x->softcap * tanh_s;
        bend = 1 - tanh_s * tanh_s;
    }
    *p = hn_math_exp(s - x->lse);
    const double dp = dot(in[DY], x->row * d_v, in[V], at * d_v, d_v);
    return *p * (dp - x->delta) * bend * x->scale;
}

static void add_to_query(const query *x)
{
    const hn_tensor *k = x->call->in[K];
    const int64_t d = k->type.dim[2];
    for (int64_t c = 0; c < d; c += CHANNELS) {
        const int64_t n = d - c < CHANNELS ? d - c : CHANNELS;
        double sum[CHANNELS] = { 0 }, p;
        for (int64_t j = x->from; j < x->to; j++) {
            const double ds = slope(x, j, &p);
            for (int64_t i = 0; i < n; i++)
                sum[i] += ds * hn_get(k, (j * x->n_group + x->group) * d + c + i);
        }
        for (int64_t i = 0; i < n; i++)
            hn_set(x->call->out[DQ], x->row * d + c + i, sum[i]);
    }
}

/* y[at + i] += a * x[from + i], one link of each element's chain. */
static void add_scaled(const hn_tensor *y, int64_t at, double a, const hn_tensor *x,
                       int64_t from, int64_t n)
{
    for (int64_t i = 0; y && i < n; i++)
        hn_set(y, at + i, hn_get(y, at + i) + a * hn_get(x, from + i));
}

static void add_to_keys(const query *x)
{
    const hn_call *call = x->call;
    const int64_t d = call->in[K]->type.dim[2], d_v = call->in[V]->type.dim[2];
    for (int64_t j = x->from; (call->out[DK] || call->out[DV]) && j < x->to; j++) {
        double p;
        const double ds = slope(x, j, &p);
        const int64_t at = j * x->n_group + x->group;
        add_scaled(call->out[DK], at * d, ds, call->in[Q], x->row * d, d);
        add_scaled(call->out[DV], at * d_v, p, call->in[DY], x->row * d_v, d_v);
    }
}

static void clear(const hn_call *call)
{
    for (int o = DK; o <= DSINKS; o++) {
        const hn_tensor *y = call->out[o], *acc = o == DSINKS ? call->in[ACC] : NULL;
        for (int64_t i = 0; y && i < hn_count(&y->type); i++)
            hn_set(y, i, acc ? hn_get(acc, i) : 0);
    }
}

static void forward(const hn_call *call)
{
    const hn_attention_attrs *at = call->attrs;
    const hn_tensor *const *in = call->in;
    const hn_tensor *dsinks = call->out[DSINKS];
    const int64_t n_q = in[Q]->type.dim[0], n_head = in[Q]->type.dim[1];
    const int64_t d_v = in[V]->type.dim[2];
    query x = { .call = call,
                .n_group = in[K]->type.dim[1],
                .scale = hn_attention_scale(call),
                .softcap = (double)at->softcap };
    clear(call);
    for (int64_t head = 0; head < n_head; head++) {
        x.group = head / (n_head / x.n_group);
        for (int64_t t = 0; t < n_q; t++) {
            const hn_key_span span =
                hn_attention_span(in[SEGMENTS], t, n_q, in[K]->type.dim[0]);
            hn_attention_keys(at, span, &x.from, &x.to);
            x.row = t * n_head + head;
            x.lse = hn_get(in[LSE], x.row);
            x.delta = dot(in[DY], x.row * d_v, in[Y], x.row * d_v, d_v);
            add_to_query(&x);
            add_to_keys(&x);
            if (dsinks && in[SINKS])
                hn_set(dsinks, head,
                       hn_get(dsinks, head) -
                           hn_math_exp(hn_get(in[SINKS], head) - x.lse) * x.delta);
        }
    }
}

static double flops(const hn_call *call)
{
    const hn_type *q = &call->in[Q]->type, *v = &call->in[V]->type;
    const double pairs = (double)q->dim[0] * (double)q->dim[1] * (double)v->dim[0];
    return pairs * (double)(6 * q->dim[2] + 4 * v->dim[2]) *
           (((const hn_attention_attrs *)call->attrs)->causal ? 0.5 : 1);
}

static const char *const cases[] = {
    "f32[1,1,1] f32[1,1,1] f32[1,1,1] - - f32[1,1,1] f32[1,1] f32[1,1,1]",
    "f32[5,4,8] f32[5,2,8] f32[5,2,6] f32[4] - f32[5,4,6] f32[5,4]{2:4} f32[5,4,6] f32[4] "
    "softcap=2",
    "f32[7,2,4] f32[7,1,4] f32[7,1,4] - i32[7]{seg} f32[7,2,4] f32[7,2]{2:4} f32[7,2,4] "
    "window=3",
    "f32[3,2,66] f16[5,1,66] bf16[5,1,70] - i32[3,3]{span:5} f32[3,2,70] f32[3,2]{2:4} "
    "f32[3,2,70] causal=0",
    "bf16[4,2,16] bf16[4,2,16] bf16[4,2,16] - - bf16[4,2,16] f32[4,2]{2:4} bf16[4,2,16]",
    NULL
};
/* clang-format off */
const hn_op hn_op_attention_grad = {
    .name = "attention_grad", .summary = "dq, dk, dv, dsinks of attention",
    .inputs = "q k v sinks? segments?! y lse dy acc?", .outputs = "dq dk dv dsinks",
    .attrs = attrs, .attrs_size = sizeof(hn_attention_attrs), .infer = infer, .forward = forward,
    .no_gradient = "second derivatives are not provided",
    .check = hn_attention_check, .checks = HN_IN(SEGMENTS),
    .flops = flops, .acc = { { HN_INPUT(ACC), DSINKS } }, .cases = cases, .tolerance = 8e-6,
};
/* clang-format on */
hn_node *hn_attention_grad(hn_graph *g, hn_node *q, hn_node *k, hn_node *v, hn_node *sinks,
                           hn_node *segments, hn_node *y, hn_node *lse, hn_node *dy,
                           hn_node *acc, bool causal, int64_t window, float scale,
                           float softcap)
{
    const hn_attention_attrs own = { causal, window, scale, softcap };
    return HN_APPLY(g, &hn_op_attention_grad, &own, q, k, v, sinks, segments, y, lse, dy, acc);
}
