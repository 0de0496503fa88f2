/* adamw: one step of a parameter and its moments, in place; formulas in update.h. With `master` the
 * step happens in f32 there, and w is its rounded copy. Without, bf16 weights are rounded to nearest,
 * or by chance with `stochastic`, so that small steps are not lost. Moments in bf16 are always
 * rounded by chance: to nearest, v would not move with beta2 near 1. */
#include "base/half.h"
#include "ops/ops.h"
#include "ops/update.h"

static const hn_attr attrs[] = {
    HN_ATTR_FLOAT(hn_adamw_attrs, beta1, "0.9"), HN_ATTR_FLOAT(hn_adamw_attrs, beta2, "0.999"),
    HN_ATTR_FLOAT(hn_adamw_attrs, eps, "1e-8"), HN_ATTR_FLOAT(hn_adamw_attrs, decay, "0"),
    HN_ATTR_FLOAT(hn_adamw_attrs, toward, "0"),
    HN_ATTR_FLOAT(hn_adamw_attrs, gclip, "0"), HN_ATTR_BOOL(hn_adamw_attrs, stochastic, "0"),
    HN_ATTR_INT(hn_adamw_attrs, seed, "0"), HN_ATTR_INT(hn_adamw_attrs, key, "0"), HN_ATTR_END
};

enum { W, G, M, V, HYPER, CLIP, MASTER };
enum { NEW_W, NEW_M, NEW_V, NEW_MASTER };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_adamw_attrs *at = call->attrs;
    HN_TRY(hn_update_expect(call, G, HYPER, CLIP));
    const hn_type *w = &call->in[W]->type;
    for (int i = M; i <= V; i++) {
        HN_TRY(hn_expect_same(call, i, W));
        if (call->in[i]->type.dtype != HN_BF16)
            HN_TRY(hn_expect_dtype(call, i, HN_F32));
        out[i - M + NEW_M] = call->in[i]->type;
    }
    if (call->in[M]->type.dtype != call->in[V]->type.dtype)
        return hn_refuse(call, "m is %s, v is %s: expected one type",
                         hn_dtype_name(call->in[M]->type.dtype),
                         hn_dtype_name(call->in[V]->type.dtype));
    if (!(at->beta1 >= 0 && at->beta1 < 1 && at->beta2 >= 0 && at->beta2 < 1 && at->eps >= 0))
        return hn_refuse(call, "beta1 %g, beta2 %g, eps %g: expected betas in [0, 1) and no "
                         "negative eps", (double)at->beta1, (double)at->beta2, (double)at->eps);
    if (at->stochastic && w->dtype == HN_F16)
        return hn_refuse(call, "w is f16: only bf16 is rounded by chance");
    out[NEW_W] = *w;
    out[NEW_MASTER] = (hn_type){ .dtype = HN_F32 };
    if (!call->in[MASTER])
        return HN_OK;
    HN_TRY(hn_expect_dtype(call, MASTER, HN_F32));
    HN_TRY(hn_expect_same(call, MASTER, W));
    out[NEW_MASTER] = call->in[MASTER]->type;
    if (w->dtype == HN_F32)
        return hn_refuse(call, "w is f32 and needs no master");
    return HN_OK;
}

static hn_status check(const hn_call *call)
{
    return hn_update_check(call, HYPER);
}

/* Up with the probability of the part that is cut off; types other than bf16 to nearest. */
static void set_by_chance(const hn_tensor *t, int64_t i, double value, uint32_t random)
{
    const uint32_t bits = hn_f32_bits((float)value);
    if (t->type.dtype == HN_BF16 && (bits & 0x7f800000u) != 0x7f800000u)
        value = (double)hn_f32_from_bits((bits + (random & 0xffff)) & 0xffff0000u);
    hn_set(t, i, value);
}

static void forward(const hn_call *call)
{
    const hn_adamw_attrs *at = call->attrs;
    const hn_tensor *master = call->in[MASTER], *w = master ? master : call->in[W];
    const hn_update s =
        hn_adamw_update(at, hn_get(call->in[HYPER], 0), hn_get(call->in[HYPER], 1),
                        call->in[CLIP] ? hn_get(call->in[CLIP], 0) : 1);
    if (call->out[NEW_MASTER] && !master)
        hn_set(call->out[NEW_MASTER], 0, 0);
    for (int64_t i = 0; i < hn_count(&w->type); i++) {
        const double g = hn_update_gradient(hn_get(call->in[G], i), s.clip, at->gclip);
        double m = hn_get(call->in[M], i), v = hn_get(call->in[V], i);
        m += (1 - (double)at->beta1) * (g - m);
        v += (1 - (double)at->beta2) * (g * g - v);
        const double move = m / (sqrt(v) * s.root + (double)at->eps);
        const double now = hn_update_kept(hn_get(w, i), s.keep, at->toward) - s.rate * move;
        const uint32_t random = hn_rng_mass_u32(s.key, (uint64_t)i);
        if (call->out[NEW_M])
            set_by_chance(call->out[NEW_M], i, m, random >> 16);
        if (call->out[NEW_V])
            set_by_chance(call->out[NEW_V], i, v, random * 0x9e3779b1u >> 16);
        if (at->stochastic && !master)
            set_by_chance(call->out[NEW_W], i, now, random);
        else
            hn_set(call->out[NEW_W], i, now);
        if (master && call->out[NEW_MASTER])
            hn_set(call->out[NEW_MASTER], i, now);
    }
}

static const char *const cases[] = {
    "f32[1] f32[1] f32[1] f32[1]{0.1:1} f32[2]{1:3}",
    "f32[5,7] f32[5,7] f32[5,7] f32[5,7]{0.1:1} f32[2]{1:3} f32[]{0.2:0.9} decay=0.1 gclip=0.5",
    "bf16[3,33] f32[3,33] f32[3,33] f32[3,33]{0.1:1} f32[2]{1:3} - f32[3,33] beta2=0.95",
    "bf16[64] f32[64] bf16[64] bf16[64]{0.1:1} f32[2]{1:3} f32[1] stochastic=1 seed=3 key=9",
    "f32[3,11] f32[3,11] f32[3,11] f32[3,11]{0.1:1} f32[2]{1:3} decay=0.2 toward=1",
    "bf16[17] f32[17] f32[17] f32[17]{0.1:1} f32[2]{1:3}",
    "f16[9] bf16[9] bf16[9] bf16[9]{0.1:1} f32[2]{1:3} - f32[9] eps=1e-6", NULL };
/* clang-format off */
const hn_op hn_op_adamw = {
    .name = "adamw", .summary = "w, m, v one step of AdamW later",
    .inputs = "w! g! m! v! hyper! clip?! master?!", .outputs = "w! m! v! master!", .attrs = attrs,
    .attrs_size = sizeof(hn_adamw_attrs), .infer = infer, .forward = forward,
    .no_gradient = "an update of state", .check = check, .checks = HN_IN(HYPER), .flops_per_element = 14,
    .updates = { HN_INPUT(W), HN_INPUT(M), HN_INPUT(V), HN_INPUT(MASTER) }, .cases = cases,
    .tolerance = 2e-6,
};
/* clang-format on */
hn_node *hn_adamw(hn_graph *g, hn_node *w, hn_node *gradient, hn_node *m, hn_node *v,
                  hn_node *hyper, hn_node *clip, hn_node *master, float beta1, float beta2,
                  float eps, float decay, float toward, float gclip, bool stochastic, int64_t seed, int64_t key)
{
    const hn_adamw_attrs own = { beta1, beta2, eps, decay, toward, gclip, stochastic, seed, key };
    return HN_APPLY(g, &hn_op_adamw, &own, w, gradient, m, v, hyper, clip, master);
}
