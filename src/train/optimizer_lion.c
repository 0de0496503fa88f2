/* One momentum in f32; a step goes by its sign alone. */
#include "ops/ops.h"
#include "train/descent.h"

hn_node *hn_optimizer_lion_update(const hn_update_site *u)
{
    hn_node *m = hn_update_state(u, "m", HN_F32);
    return hn_lion(u->g, u->w, u->gradient, m, u->hyper, u->clip, u->beta1, u->beta2, u->decay, u->toward,
                   u->o->gclip);
}
