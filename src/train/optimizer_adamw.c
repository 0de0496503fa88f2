/* Two moments, and the f32 master of narrow weights where it is asked for. */
#include "base/rng.h"
#include "ops/ops.h"
#include "train/descent.h"

hn_node *hn_optimizer_adamw_update(const hn_update_site *u)
{
    const hn_descent_options *o = u->o;
    const hn_dtype moments = o->moments == HN_BF16 ? HN_BF16 : HN_F32;
    const int64_t key = (int64_t)(hn_hash_text(u->w->leaf->name) & 0x7fffffff);
    hn_node *m = hn_update_state(u, "m", moments), *v = hn_update_state(u, "v", moments);
    hn_node *master = o->master && u->w->type.dtype != HN_F32 ? hn_update_state(u, "master", HN_F32) : NULL;
    return hn_adamw(u->g, u->w, u->gradient, m, v, u->hyper, u->clip, master, u->beta1, u->beta2,
                    o->eps > 0 ? o->eps : 1e-8f, u->decay, u->toward, o->gclip, o->stochastic,
                    (int64_t)(o->seed & 0x7fffffff), key);
}
