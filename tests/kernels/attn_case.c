#include "tests/kernels/attn_case.h"
#include "base/half.h"
#include "tests/harness/kernel_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
const attn_case attn_cases[] = {
    /* name          Tq   Tk    H  G  D   Dv   lengths           cap W  causal sinks type */
    { "one",         1,   1,    1, 1, 1,  1,   { 1 },            0,  0, true,  false, HN_ELEM_f32 },
    { "causal",      150, 150,  2, 2, 16, 16,  { 150 },          0,  0, true,  false, HN_ELEM_f32 },
    { "grouped",     70,  70,   6, 2, 20, 36,  { 70 },           0,  0, true,  true,  HN_ELEM_f32 },
    { "both ways",   90,  90,   2, 1, 8,  8,   { 90 },           0,  0, false, false, HN_ELEM_f32 },
    { "window",      200, 200,  2, 2, 8,  24,  { 200 },          0,  70, true, true,  HN_ELEM_f32 },
    { "window both", 140, 140,  1, 1, 8,  8,   { 140 },          0,  33, false, false, HN_ELEM_f32 },
    { "capped",      100, 100,  2, 1, 12, 12,  { 100 },          5,  0, true,  false, HN_ELEM_f32 },
    { "sequences",   160, 165,  2, 1, 16, 16,  { 67, 3, 90 },    0,  0, true,  false, HN_ELEM_f32 },
    { "suffixes",    30,  400,  4, 2, 16, 16,  { 130, 7, 250 },  0,  0, true,  true,  HN_ELEM_f32 },
    { "f16 keys",    40,  100,  2, 1, 16, 8,   { 100 },          0,  0, true,  false, HN_ELEM_f16 },
    { "bf16 keys",   33,  90,   2, 2, 8,  16,  { 40, 50 },       0,  9, true,  true,  HN_ELEM_bf16 },
    { "long",        3,   4500, 2, 1, 8,  8,   { 4500 },         0,  0, true,  true,  HN_ELEM_f32 },
    { "long window", 5,   4400, 2, 1, 8,  8,   { 2100, 2290 },   20, 2060, true, false, HN_ELEM_f32 },
    { "few rows",    3,   4500, 14, 7, 8, 8,  { 2100, 2390 },   0,  0, true,  true,  HN_ELEM_f16 },
    { "many chunks", 2,   33000, 6, 3, 8, 8,  { 33000 },        0,  0, true,  false, HN_ELEM_f32 },
    { "wide",        20,  80,   2, 2, 128, 80, { 80 },           0,  0, true,  false, HN_ELEM_f32 },
};
/* clang-format on */
const int n_attn_cases = sizeof attn_cases / sizeof attn_cases[0];

static hn_attn_rows rows_of(float *data, int64_t heads, int64_t width)
{
    return (hn_attn_rows){ data, heads * width, width };
}

/* Each sequence's queries are its last tokens; the first sequence's take what is left over. */
static hn_attn_span *make_spans(const attn_case *c, int64_t n_spare)
{
    hn_attn_span *spans = kc_blank_bytes((size_t)c->n_q * sizeof *spans);
    int n = 0;
    while (n < 4 && c->lengths[n])
        n++;
    int64_t t = 0, key = n_spare;
    for (int i = 0; i < n; i++) {
        int64_t queries = i == n - 1 ? c->n_q - t : c->n_q / n;
        if (queries > c->lengths[i])
            queries = c->lengths[i];
        if (c->n_q == c->n_k - n_spare)
            queries = c->lengths[i];
        const int64_t end = key + c->lengths[i];
        for (int64_t j = end - queries; j < end; j++)
            spans[t++] = (hn_attn_span){ (int32_t)key, (int32_t)j, (int32_t)end };
        key = end;
    }
    for (; t < c->n_q; t++) /* without keys */
        spans[t] = (hn_attn_span){ (int32_t)key, (int32_t)key - 1, (int32_t)key };
    return spans;
}

static void *stored(float *values, size_t n, hn_elem type)
{
    if (type == HN_ELEM_f32)
        return values;
    uint16_t *half = kc_blank_bytes(2 * n);
    for (size_t i = 0; i < n; i++)
        half[i] = type == HN_ELEM_f16 ? hn_f32_to_f16(values[i]) : hn_f32_to_bf16(values[i]);
    return half;
}

void attn_blank(hn_attn_args *x)
{
    const int64_t h = x->n_head, g = x->n_kv_head;
    x->o = rows_of(kc_blank((size_t)(x->n_q * h * x->d_v)), h, x->d_v);
    x->lse = rows_of(kc_blank((size_t)(x->n_q * h)), h, 1);
    x->dq = rows_of(kc_blank((size_t)(x->n_q * h * x->d)), h, x->d);
    x->dk = rows_of(kc_blank((size_t)(x->n_k * g * x->d)), g, x->d);
    x->dv = rows_of(kc_blank((size_t)(x->n_k * g * x->d_v)), g, x->d_v);
    if (x->sinks) {
        x->dsinks = kc_blank((size_t)h);
        memset(x->dsinks, 0, (size_t)h * sizeof *x->dsinks);
    }
}

void attn_make(hn_attn_args *x, const attn_case *c)
{
    int64_t total = 0;
    for (int i = 0; i < 4 && c->lengths[i]; i++)
        total += c->lengths[i];
    *x = (hn_attn_args){ .n_q = c->n_q,
                         .n_k = c->n_k,
                         .n_head = c->heads,
                         .n_kv_head = c->kv_heads,
                         .d = c->d,
                         .d_v = c->d_v,
                         .kv_type = c->kv_type,
                         .scale = 0.3f,
                         .softcap = c->softcap,
                         .window = c->window,
                         .is_causal = c->is_causal };
    x->spans = make_spans(c, c->n_k - total);
    const size_t nk = (size_t)(c->n_k * c->kv_heads * c->d),
                 nv = (size_t)(c->n_k * c->kv_heads * c->d_v);
    float *k = kc_floats_in(nk, -2, 2), *v = kc_floats_in(nv, -2, 2);
    for (int64_t key = 0; key < c->n_k; key++) { /* unseen keys must not be touched */
        bool seen = false;
        for (int64_t t = 0; t < c->n_q && !seen; t++)
            seen = key >= x->spans[t].first && key < x->spans[t].end &&
                   (!c->is_causal || key <= x->spans[t].self) &&
                   (!c->window ||
                    (key > x->spans[t].self - c->window && key < x->spans[t].self + c->window));
        for (int64_t i = 0; i < c->kv_heads * c->d && !seen; i++)
            k[key * c->kv_heads * c->d + i] = NAN;
        for (int64_t i = 0; i < c->kv_heads * c->d_v && !seen; i++)
            v[key * c->kv_heads * c->d_v + i] = NAN;
    }
    x->k = rows_of(stored(k, nk, c->kv_type), c->kv_heads, c->d);
    x->v = rows_of(stored(v, nv, c->kv_type), c->kv_heads, c->d_v);
    x->q = rows_of(kc_floats_in((size_t)(c->n_q * c->heads * c->d), -2, 2), c->heads, c->d);
    x->dout =
        rows_of(kc_floats_in((size_t)(c->n_q * c->heads * c->d_v), -1, 1), c->heads, c->d_v);
    if (c->has_sinks)
        x->sinks = kc_floats_in((size_t)c->heads, -1, 1);
    attn_blank(x);
}

void attn_run(const hn_attn_kernels *kernels, const hn_attn_args *x, bool backward, int threads)
{
    hn_attn_plan plan;
    (backward ? hn_attn_plan_backward : hn_attn_plan_forward)(&plan, x, threads);
    void *scratch = kc_blank_bytes(hn_attn_scratch_bytes(x->d, x->d_v));
    void *shared =
        kc_blank_bytes(hn_attn_shared_bytes(x->n_q, x->n_k, x->n_head, x->d_v, threads));
    for (int phase = 0; phase < HN_ATTN_PHASES; phase++) {
        const int64_t n = plan.units[phase], step = n > 1 ? 1 + kc_random() % n : 1;
        for (int64_t start = step; start-- > 0;)
            for (int64_t unit = start; unit < n; unit += step)
                (backward ? kernels->backward : kernels->forward)(&plan, phase, unit, unit + 1,
                                                                  scratch, shared);
    }
}

static double value(const hn_attn_rows *x, hn_elem type, int64_t t, int64_t h, int64_t i)
{
    const int64_t at = t * x->token_stride + h * x->head_stride + i;
    if (type == HN_ELEM_f32)
        return (double)((const float *)x->data)[at];
    const uint16_t half = ((const uint16_t *)x->data)[at];
    return (double)(type == HN_ELEM_f16 ? hn_f16_to_f32(half) : hn_bf16_to_f32(half));
}

typedef struct naive {
    double *dq, *dk, *dv, *dsinks;
    double worst, top;
} naive;

static void compare(naive *n, double want, double got)
{
    n->worst = fmax(n->worst, fabs(want - got));
    n->top = fmax(n->top, fabs(want));
    if (isnan(got) || isnan(want))
        n->worst = INFINITY;
}

/* One query: its output compared, its part of the gradients added. */
static void one_query(const hn_attn_args *x, int64_t t, int64_t h, bool backward, naive *n)
{
    const hn_attn_span *span = x->spans + t;
    const int64_t g = h / (x->n_head / x->n_kv_head);
    double *p = calloc((size_t)x->n_k, sizeof *p), *th = calloc((size_t)x->n_k, sizeof *th);
    double sum = x->sinks ? exp((double)x->sinks[h]) : 0, delta = 0;
    for (int64_t j = span->first; j < (x->is_causal ? span->self + 1 : span->end); j++) {
        if (x->window && (j <= span->self - x->window || j >= span->self + x->window))
            continue;
        double s = 0;
        for (int64_t i = 0; i < x->d; i++)
            s += value(&x->q, HN_ELEM_f32, t, h, i) * value(&x->k, x->kv_type, j, g, i);
        s *= (double)x->scale;
        if (x->softcap > 0)
            th[j] = tanh(s / (double)x->softcap), s = (double)x->softcap * th[j];
        sum += p[j] = exp(s);
    }
    for (int64_t i = 0; i < x->d_v; i++) {
        double o = 0;
        for (int64_t j = 0; j < x->n_k; j++)
            if (p[j] > 0)
                o += p[j] / sum * value(&x->v, x->kv_type, j, g, i);
        delta += o * value(&x->dout, HN_ELEM_f32, t, h, i);
        if (!backward)
            compare(n, o, value(&x->o, HN_ELEM_f32, t, h, i));
    }
    if (!backward && sum > 0)
        compare(n, log(sum), value(&x->lse, HN_ELEM_f32, t, h, 0));
    if (backward && x->sinks)
        n->dsinks[h] -= exp((double)x->sinks[h]) / sum * delta;
    for (int64_t j = 0; backward && j < x->n_k; j++) {
        if (!(p[j] > 0))
            continue;
        double dp = 0;
        for (int64_t i = 0; i < x->d_v; i++) {
            dp += value(&x->dout, HN_ELEM_f32, t, h, i) * value(&x->v, x->kv_type, j, g, i);
            n->dv[(j * x->n_kv_head + g) * x->d_v + i] +=
                p[j] / sum * value(&x->dout, HN_ELEM_f32, t, h, i);
        }
        const double ds = p[j] / sum * (dp - delta) * (1 - th[j] * th[j]) * (double)x->scale;
        for (int64_t i = 0; i < x->d; i++) {
            n->dq[(t * x->n_head + h) * x->d + i] += ds * value(&x->k, x->kv_type, j, g, i);
            n->dk[(j * x->n_kv_head + g) * x->d + i] += ds * value(&x->q, HN_ELEM_f32, t, h, i);
        }
    }
    free(p);
    free(th);
}

double attn_error(const hn_attn_args *x, bool backward)
{
    const size_t nq = (size_t)(x->n_q * x->n_head * x->d);
    const size_t nk = (size_t)(x->n_k * x->n_kv_head * x->d);
    const size_t nv = (size_t)(x->n_k * x->n_kv_head * x->d_v);
    naive n = { .dq = calloc(nq, 8), .dk = calloc(nk, 8), .dv = calloc(nv, 8) };
    n.dsinks = calloc((size_t)x->n_head, 8);
    for (int64_t t = 0; t < x->n_q; t++)
        for (int64_t h = 0; h < x->n_head; h++)
            one_query(x, t, h, backward, &n);
    double error = n.worst / fmax(n.top, 1);
    if (backward) {
        const struct {
            const double *want;
            const float *got;
            size_t n;
        } parts[] = { { n.dq, x->dq.data, nq },
                      { n.dk, x->dk.data, nk },
                      { n.dv, x->dv.data, nv },
                      { n.dsinks, x->dsinks, x->dsinks ? (size_t)x->n_head : 0 } };
        error = 0;
        for (int i = 0; i < 4; i++) {
            n.worst = n.top = 0;
            for (size_t j = 0; j < parts[i].n; j++)
                compare(&n, parts[i].want[j], (double)parts[i].got[j]);
            error = fmax(error, n.worst / fmax(n.top, 1));
        }
    }
    free(n.dq), free(n.dk), free(n.dv), free(n.dsinks);
    return error;
}
