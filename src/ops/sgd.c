/* sgd: one step of gradient descent in place, with momentum where a velocity m is given;
 * formulas in update.h. decay is decoupled, as in adamw: PyTorch's weight_decay, which enters
 * the velocity, is another thing. */
#include "ops/ops.h"
#include "ops/update.h"

static const hn_attr attrs[] = { HN_ATTR_FLOAT(hn_sgd_attrs, momentum, "0"),
                                 HN_ATTR_BOOL(hn_sgd_attrs, nesterov, "0"),
                                 HN_ATTR_FLOAT(hn_sgd_attrs, decay, "0"),
                                 HN_ATTR_FLOAT(hn_sgd_attrs, toward, "0"),
                                 HN_ATTR_FLOAT(hn_sgd_attrs, gclip, "0"), HN_ATTR_END };

enum { W, G, M, HYPER, CLIP };

static hn_status infer(const hn_call *call, hn_type *out)
{
    const hn_sgd_attrs *at = call->attrs;
    HN_TRY(hn_update_expect(call, G, HYPER, CLIP));
    out[0] = call->in[W]->type;
    out[1] = (hn_type){ .dtype = HN_F32 };
    if (call->in[M]) {
        HN_TRY(hn_expect_dtype(call, M, HN_F32));
        HN_TRY(hn_expect_same(call, M, W));
        out[1] = call->in[M]->type;
    } else if (at->momentum != 0 || at->nesterov) {
        return hn_refuse(call, "momentum needs the state m");
    }
    return HN_OK;
}

static hn_status check(const hn_call *call) { return hn_update_check(call, HYPER); }

static void forward(const hn_call *call)
{
    const hn_sgd_attrs *at = call->attrs;
    const hn_tensor *w = call->in[W], *m = call->in[M];
    const double lr = hn_get(call->in[HYPER], 0), keep = 1 - lr * (double)at->decay;
    const double clip = call->in[CLIP] ? hn_get(call->in[CLIP], 0) : 1;
    if (call->out[1] && !m)
        hn_set(call->out[1], 0, 0);
    for (int64_t i = 0; i < hn_count(&w->type); i++) {
        const double g = hn_update_gradient(hn_get(call->in[G], i), clip, at->gclip);
        const double u = m ? (double)at->momentum * hn_get(m, i) + g : g;
        const double move = at->nesterov ? (double)at->momentum * u + g : u;
        if (m && call->out[1])
            hn_set(call->out[1], i, u);
        hn_set(call->out[0], i, hn_update_kept(hn_get(w, i), keep, at->toward) - lr * move);
    }
}

static const char *const cases[] = {
    "f32[1] f32[1] - f32[2]{1:3}",
    "f32[5,7] f32[5,7] f32[5,7] f32[2]{1:3} f32[]{0.2:0.9} momentum=0.9 decay=0.1",
    "f32[33] f32[33] f32[33] f32[2]{1:3} - momentum=0.5 nesterov=1 gclip=0.7",
    "f32[19] f32[19] f32[19] f32[2]{1:3} - momentum=0.5 decay=0.2 toward=1",
    "bf16[3,9] f32[3,9] - f32[2]{1:3}", NULL
};
/* clang-format off */
const hn_op hn_op_sgd = {
    .name = "sgd", .summary = "w, m one step of gradient descent later",
    .inputs = "w! g! m?! hyper! clip?!", .outputs = "w! m!", .attrs = attrs,
    .attrs_size = sizeof(hn_sgd_attrs), .infer = infer, .forward = forward,
    .no_gradient = "an update of state", .check = check, .checks = HN_IN(HYPER), .flops_per_element = 6,
    .updates = { HN_INPUT(W), HN_INPUT(M) }, .cases = cases, .tolerance = 1e-6,
};
/* clang-format on */
hn_node *hn_sgd(hn_graph *g, hn_node *w, hn_node *gradient, hn_node *m, hn_node *hyper,
                hn_node *clip, float momentum, bool nesterov, float decay, float toward, float gclip)
{
    const hn_sgd_attrs own = { momentum, nesterov, decay, toward, gclip };
    return HN_APPLY(g, &hn_op_sgd, &own, w, gradient, m, hyper, clip);
}
