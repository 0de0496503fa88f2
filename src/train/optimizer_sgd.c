/* A velocity where there is momentum, and nothing otherwise. */
#include "ops/ops.h"
#include "train/descent.h"

hn_node *hn_optimizer_sgd_update(const hn_update_site *u)
{
    hn_node *m = u->o->momentum > 0 ? hn_update_state(u, "momentum", HN_F32) : NULL;
    return hn_sgd(u->g, u->w, u->gradient, m, u->hyper, u->clip, u->o->momentum, false, u->decay,
                  u->toward, u->o->gclip);
}
