/* rope: turns pairs (a, b) of each head of x [T, H, D] by the angle of its token's position:
 *     a' = a cos - b sin,   b' = b cos + a sin.
 * Which columns are pairs, and by how much they turn: ops/rope_table.h. Without `pos`, token t
 * is at position t. The gradient turns back, by the same table. */
#include "ops/rope_table.h"

enum { X, POS, FACTORS };

static const hn_attr attrs[] = {
    HN_ATTR_FLOAT(hn_rope_spec, base, "10000"),
    HN_ATTR_INT(hn_rope_spec, n_rot, "0"),
    HN_ATTR_INT(hn_rope_spec, offset, "0"),
    HN_ATTR_ENUM(hn_rope_spec, layout, "half", "half|adjacent"),
    HN_ATTR_ENUM(hn_rope_spec, scaling, "none",
                 "none|linear|llama3|yarn|longrope|proportional"),
    HN_ATTR_FLOAT(hn_rope_spec, factor, "1"),
    HN_ATTR_INT(hn_rope_spec, original, "0"),
    HN_ATTR_FLOAT(hn_rope_spec, low_freq, "1"),
    HN_ATTR_FLOAT(hn_rope_spec, high_freq, "4"),
    HN_ATTR_FLOAT(hn_rope_spec, beta_fast, "32"),
    HN_ATTR_FLOAT(hn_rope_spec, beta_slow, "1"),
    HN_ATTR_FLOAT(hn_rope_spec, attn_factor, "0"),
    HN_ATTR_BOOL(hn_rope_spec, fractional, "0"),
    HN_ATTR_BOOL(hn_rope_spec, narrow_angle, "0"),
    HN_ATTR_BOOL(hn_rope_spec, inverse, "0"),
    HN_ATTR_END,
};

static hn_status check_columns(const hn_call *call, const hn_rope_spec *s)
{
    const int64_t head = hn_last_dim(&call->in[X]->type);
    if (s->offset < 0 || s->offset >= head || s->n_rot < 0 || s->n_rot > head - s->offset)
        return hn_refuse(call, "columns %lld to %lld of %lld", (long long)s->offset,
                         (long long)(s->offset + s->n_rot), (long long)head);
    const int64_t width = hn_rope_width(s, head);
    if (width % 2 || s->n_rot % 2 || width > 2 * HN_ROPE_MAX_PAIRS)
        return hn_refuse(call, "%lld columns: expected an even number, at most %d",
                         (long long)width, 2 * HN_ROPE_MAX_PAIRS);
    if (call->in[FACTORS]) {
        HN_TRY(hn_expect_float(call, FACTORS));
        HN_TRY(hn_expect_vector(call, FACTORS, width / 2));
    }
    return HN_OK;
}

static hn_status check_scaling(const hn_call *call, const hn_rope_spec *s)
{
    const bool divides_log = s->scaling == HN_ROPE_YARN; /* by that of the base */
    if (!(s->base >= 1) || (divides_log && !(s->base > 1)) ||
        !(s->scaling == HN_ROPE_LINEAR ? s->factor < 0 || s->factor > 0 : s->factor > 0))
        return hn_refuse(call, "base is %g, factor is %g", (double)s->base, (double)s->factor);
    const bool needs_original = s->scaling == HN_ROPE_LLAMA3 || s->scaling == HN_ROPE_YARN ||
                                (s->scaling == HN_ROPE_LONGROPE && s->attn_factor == 0);
    if (needs_original && s->original < 2)
        return hn_refuse(call,
                         "original is %lld: this scaling needs the context length that the "
                         "model was first trained with",
                         (long long)s->original);
    if (s->scaling == HN_ROPE_LLAMA3 && !(s->high_freq > s->low_freq && s->low_freq > 0))
        return hn_refuse(call, "low_freq is %g, high_freq is %g", (double)s->low_freq,
                         (double)s->high_freq);
    if (s->scaling == HN_ROPE_YARN && !(s->beta_fast > 0 && s->beta_slow > 0))
        return hn_refuse(call, "beta_fast is %g, beta_slow is %g", (double)s->beta_fast,
                         (double)s->beta_slow);
    if (s->scaling == HN_ROPE_LONGROPE && !call->in[FACTORS])
        return hn_refuse(call, "longrope needs factors");
    return HN_OK;
}

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_rope_spec s = hn_rope_filled(call->attrs);
    HN_TRY(hn_expect_rank_between(call, X, 2, HN_MAX_RANK));
    HN_TRY(check_columns(call, &s));
    HN_TRY(check_scaling(call, &s));
    if (call->in[POS]) {
        HN_TRY(hn_expect_integer(call, POS));
        HN_TRY(hn_expect_vector(call, POS, call->in[X]->type.dim[0]));
    }
    return hn_infer_like(call, X, out);
}

static void turn(const hn_call *call, const hn_rope_spec *s, int64_t head_at, int64_t n_pairs,
                 const float *cosines, const float *sines)
{
    const hn_tensor *x = call->in[X], *y = call->out[0];
    const bool is_half = s->layout == HN_ROPE_HALF;
    for (int64_t i = 0; i < n_pairs; i++) {
        const int64_t a_at = head_at + s->offset + (is_half ? i : 2 * i);
        const int64_t b_at = a_at + (is_half ? n_pairs : 1);
        const double a = hn_get(x, a_at), b = hn_get(x, b_at);
        const double c = (double)cosines[i], sine = (double)(s->inverse ? -sines[i] : sines[i]);
        hn_set(y, a_at, a * c - b * sine);
        hn_set(y, b_at, b * c + a * sine);
    }
}

static void forward(const hn_call *call)
{
    const hn_tensor *x = call->in[X], *pos = call->in[POS];
    const hn_rope_spec s = hn_rope_filled(call->attrs);
    const int64_t head = hn_last_dim(&x->type), n_pairs = hn_rope_width(&s, head) / 2;
    const int64_t n_tokens = x->type.dim[0], token = hn_count(&x->type) / n_tokens;
    float inv_freq[HN_ROPE_MAX_PAIRS], cosines[HN_ROPE_MAX_PAIRS], sines[HN_ROPE_MAX_PAIRS];
    hn_rope_frequencies(&s, head, call->in[FACTORS], inv_freq);
    hn_tensor_copy(call->out[0], x);
    for (int64_t t = 0; t < n_tokens; t++) {
        hn_rope_angles(&s, n_pairs, inv_freq, pos ? hn_get_int(pos, t) : t, cosines, sines);
        for (int64_t at = t * token; at < (t + 1) * token; at += head)
            turn(call, &s, at, n_pairs, cosines, sines);
    }
}

static void backward(hn_grad *d)
{
    hn_rope_spec back = *(const hn_rope_spec *)d->attrs;
    back.inverse = !back.inverse;
    d->din[X] = hn_rope(d->g, d->dout[0], d->in[POS], d->in[FACTORS], &back);
}

static const char *const cases[] = {
    "f32[1,1,2]",
    "f32[5,3,8] i32[5]{0:9}",
    "f32[4,2,12] i32[4]{0:99} offset=4 n_rot=6",
    "f32[3,2,10] i32[3]{0:99} layout=adjacent offset=1 n_rot=8",
    "f32[4,2,34] i32[4]{0:999} offset=2 inverse=1 base=500",
    "f32[3,1,16] i32[3]{0:9999} scaling=linear factor=4",
    "f32[3,2,64] i32[3]{0:40000} layout=adjacent scaling=llama3 base=500000 factor=8 "
    "original=8192",
    "f32[3,2,64] i32[3]{0:40000} scaling=yarn factor=32 original=4096 base=150000 fractional=1",
    "f32[3,2,16] i32[3]{0:9999} f32[6]{1:9} scaling=longrope n_rot=12 factor=32 original=4096",
    "f32[3,2,32] i32[3]{0:9999} scaling=proportional n_rot=8 base=1000000 factor=2",
    "bf16[4,2,32] i32[4]{0:99} f32[16]{1:9}",
    "f32[3,2,32] i32[3]{0:99999} narrow_angle=1",
    NULL,
};
/* clang-format off */
const hn_op hn_op_rope = {
    .name = "rope", .summary = "pairs of x, turned by the angles of their positions",
    .inputs = "x pos?! factors?!", .attrs = attrs, .attrs_size = sizeof(hn_rope_spec),
    .affine_in = HN_IN(X), .infer = infer, .forward = forward, .backward = backward,
    .flops_per_element = 3, .may_overwrite = { HN_IN(X) }, .cases = cases, .tolerance = 4e-7,
};
/* clang-format on */
hn_node *hn_rope(hn_graph *g, hn_node *x, hn_node *pos, hn_node *factors,
                 const hn_rope_spec *spec)
{
    const hn_rope_spec filled = hn_rope_filled(spec);
    return HN_APPLY(g, &hn_op_rope, &filled, x, pos, factors);
}
