/* lion: one step by the sign of a mixture of gradient and momentum, in place; formulas in update.h. decay
 * is decoupled, as in adamw. There is one state, and every element moves by the rate: rates of a third to
 * a tenth of adamw's are usual. */
#include "ops/ops.h"
#include "ops/update.h"

static const hn_attr attrs[] = {
    HN_ATTR_FLOAT(hn_lion_attrs, beta1, "0.9"), HN_ATTR_FLOAT(hn_lion_attrs, beta2, "0.99"),
    HN_ATTR_FLOAT(hn_lion_attrs, decay, "0"), HN_ATTR_FLOAT(hn_lion_attrs, toward, "0"),
    HN_ATTR_FLOAT(hn_lion_attrs, gclip, "0"), HN_ATTR_END
};

enum { W, G, M, HYPER, CLIP };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_lion_attrs *at = call->attrs;
    HN_TRY(hn_update_expect(call, G, HYPER, CLIP));
    HN_TRY(hn_expect_dtype(call, M, HN_F32));
    HN_TRY(hn_expect_same(call, M, W));
    if (!(at->beta1 >= 0 && at->beta1 < 1 && at->beta2 >= 0 && at->beta2 < 1))
        return hn_refuse(call, "beta1 %g, beta2 %g: expected both in [0, 1)", (double)at->beta1,
                         (double)at->beta2);
    out[0] = call->in[W]->type;
    out[1] = call->in[M]->type;
    return HN_OK;
}

static hn_status check(const hn_call *call) { return hn_update_check(call, HYPER); }

static void forward(const hn_call *call)
{
    const hn_lion_attrs *at = call->attrs;
    const hn_tensor *w = call->in[W];
    const double lr = hn_get(call->in[HYPER], 0), keep = 1 - lr * (double)at->decay;
    const double clip = call->in[CLIP] ? hn_get(call->in[CLIP], 0) : 1;
    for (int64_t i = 0; i < hn_count(&w->type); i++) {
        const double g = hn_update_gradient(hn_get(call->in[G], i), clip, at->gclip);
        const double m = hn_get(call->in[M], i);
        const double mixed = m + (1 - (double)at->beta1) * (g - m);
        const double sign = mixed > 0 ? 1 : mixed < 0 ? -1 : mixed; /* 0, and NaN stays */
        if (call->out[1])
            hn_set(call->out[1], i, m + (1 - (double)at->beta2) * (g - m));
        hn_set(call->out[0], i, hn_update_kept(hn_get(w, i), keep, at->toward) - lr * sign);
    }
}

static const char *const cases[] = {
    "f32[1] f32[1] f32[1] f32[2]{1:3}",
    "f32[5,7] f32[5,7] f32[5,7] f32[2]{1:3} f32[]{0.2:0.9} decay=0.1",
    "f32[33] f32[33] f32[33] f32[2]{1:3} - beta1=0.5 beta2=0.7 gclip=0.7",
    "f32[19] f32[19] f32[19] f32[2]{1:3} - decay=0.2 toward=1",
    "bf16[3,9] f32[3,9] f32[3,9] f32[2]{1:3}", NULL
};
/* clang-format off */
const hn_op hn_op_lion = {
    .name = "lion", .summary = "w, m one step of Lion later",
    .inputs = "w! g! m! hyper! clip?!", .outputs = "w! m!", .attrs = attrs,
    .attrs_size = sizeof(hn_lion_attrs), .infer = infer, .forward = forward,
    .no_gradient = "an update of state", .check = check, .checks = HN_IN(HYPER), .flops_per_element = 7,
    .updates = { HN_INPUT(W), HN_INPUT(M) }, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_lion(hn_graph *g, hn_node *w, hn_node *gradient, hn_node *m, hn_node *hyper, hn_node *clip,
                 float beta1, float beta2, float decay, float toward, float gclip)
{
    const hn_lion_attrs own = { beta1, beta2, decay, toward, gclip };
    return HN_APPLY(g, &hn_op_lion, &own, w, gradient, m, hyper, clip);
}
