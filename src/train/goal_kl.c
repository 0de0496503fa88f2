/* sft's, plus kl_weight * sum of weight * KL(policy, base), word by word, divided alike. */
#include "train/objective.h"

#include "ops/ops.h"

hn_node *hn_goal_kl_loss(hn_objective *o)
{
    enum { REVERSE = 1 };
    hn_graph *g = o->g;
    hn_node *loss = hn_objective_nll(o, &o->policy, &o->nll);
    hn_node *kl = hn_kl(g, o->logits, hn_objective_logits(&o->base), o->weights, o->count, NULL, REVERSE);
    return hn_add(g, loss, hn_scale(g, kl, o->o.kl_weight, 0));
}

hn_goal_blind hn_goal_kl_blind(double n_vocab, const hn_objective_options *o)
{
    return hn_goal_blind_to_tokens(n_vocab, o);
}
