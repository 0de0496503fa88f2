/* rope_angles: of the position of each token, the cosines and sines that rope turns by: y [T, width]
 * has width / 2 cosines of the token's pairs, then their sines (ops/rope_table.h). The numbers are
 * those of f32 in any element type. Without `pos`, token t of T = the rows of `like` is at position t. */
#include "ops/rope_table.h"

enum { POS, FACTORS, LIKE };

static const hn_attr attrs[] = {
    HN_ATTR_INT(hn_rope_spec, width, NULL),
    HN_ATTR_FLOAT(hn_rope_spec, base, "10000"),
    HN_ATTR_ENUM(hn_rope_spec, scaling, "none",
                 "none|linear|llama3|yarn|longrope|proportional"),
    HN_ATTR_INT(hn_rope_spec, n_rot, "0"),
    HN_ATTR_FLOAT(hn_rope_spec, factor, "1"),
    HN_ATTR_INT(hn_rope_spec, original, "0"),
    HN_ATTR_FLOAT(hn_rope_spec, low_freq, "1"),
    HN_ATTR_FLOAT(hn_rope_spec, high_freq, "4"),
    HN_ATTR_FLOAT(hn_rope_spec, beta_fast, "32"),
    HN_ATTR_FLOAT(hn_rope_spec, beta_slow, "1"),
    HN_ATTR_FLOAT(hn_rope_spec, attn_factor, "0"),
    HN_ATTR_BOOL(hn_rope_spec, fractional, "0"),
    HN_ATTR_BOOL(hn_rope_spec, narrow_angle, "0"),
    HN_ATTR_END,
};

static hn_status check_columns(const hn_call *call, const hn_rope_spec *s)
{
    if (s->width < 2 || s->width % 2 || s->width > 2 * HN_ROPE_MAX_PAIRS)
        return hn_refuse(call, "%lld columns: expected an even number, at most %d",
                         (long long)s->width, 2 * HN_ROPE_MAX_PAIRS);
    const bool stands = s->scaling == HN_ROPE_PROPORTIONAL;
    if (s->n_rot < 0 || s->n_rot % 2 || s->n_rot > (stands ? s->width : 0))
        return hn_refuse(call, "n_rot is %lld: expected an even number, at most %lld%s",
                         (long long)s->n_rot, (long long)(stands ? s->width : 0),
                         stands ? "" : " unless the scaling is proportional");
    if (call->in[FACTORS]) {
        HN_TRY(hn_expect_float(call, FACTORS));
        HN_TRY(hn_expect_vector(call, FACTORS, s->width / 2));
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
    HN_TRY(check_columns(call, &s));
    HN_TRY(check_scaling(call, &s));
    if (!call->in[POS] == !call->in[LIKE])
        return hn_refuse(call, "expected positions, or tokens to count");
    if (call->in[POS]) {
        HN_TRY(hn_expect_integer(call, POS));
        HN_TRY(hn_expect_rank(call, POS, 1));
    } else {
        HN_TRY(hn_expect_rank_between(call, LIKE, 1, HN_MAX_RANK));
    }
    const int64_t dim[2] = { call->in[call->in[POS] ? POS : LIKE]->type.dim[0], s.width };
    return hn_type_make(out, HN_F32, 2, dim);
}

static void forward(const hn_call *call)
{
    const hn_tensor *pos = call->in[POS], *y = call->out[0];
    const hn_rope_spec s = hn_rope_filled(call->attrs);
    float inv_freq[HN_ROPE_MAX_PAIRS], row[2 * HN_ROPE_MAX_PAIRS];
    hn_rope_frequencies(&s, call->in[FACTORS], inv_freq);
    for (int64_t t = 0; t < y->type.dim[0]; t++) {
        hn_rope_row(&s, inv_freq, pos ? hn_get_int(pos, t) : t, row);
        for (int64_t i = 0; i < s.width; i++)
            hn_set(y, t * s.width + i, (double)row[i]);
    }
}

static const char *const cases[] = {
    "i32[1]{0:9} width=2",
    "- - f32[5,3,8] width=6",
    "i32[4]{0:999} width=32 base=500",
    "i32[3]{0:9999} width=16 scaling=linear factor=4",
    "i32[3]{0:40000} width=64 scaling=llama3 base=500000 factor=8 original=8192",
    "i32[3]{0:40000} width=64 scaling=yarn factor=32 original=4096 base=150000 fractional=1",
    "i32[3]{0:9999} f32[6]{1:9} width=12 scaling=longrope factor=32 original=4096",
    "i32[3]{0:9999} width=32 scaling=proportional n_rot=8 base=1000000 factor=2",
    "- bf16[16]{1:9} i32[9,3]{0:9} width=32 attn_factor=1.5",
    "i32[65]{0:99999} width=32 narrow_angle=1",
    NULL,
};
/* clang-format off */
const hn_op hn_op_rope_angles = {
    .name = "rope_angles", .summary = "cosines and sines of the angles of positions",
    .inputs = "pos?! factors?! like?!~", .attrs = attrs, .attrs_size = sizeof(hn_rope_spec),
    .infer = infer, .forward = forward, .no_gradient = "made of integers",
    .flops_per_element = 40, .cases = cases, .tolerance = 2e-7,
};
/* clang-format on */
hn_node *hn_rope_angles(hn_graph *g, hn_node *pos, hn_node *factors, hn_node *like,
                        const hn_rope_spec *spec)
{
    const hn_rope_spec filled = hn_rope_filled(spec);
    return HN_APPLY(g, &hn_op_rope_angles, &filled, pos, factors, like);
}
