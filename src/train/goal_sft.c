/* Sum of weight * nll over supervised tokens, divided by the sum of their weights. */
#include "train/objective.h"

hn_node *hn_goal_sft_loss(hn_objective *o)
{
    return hn_objective_nll(o, &o->policy, &o->nll);
}

hn_goal_blind hn_goal_sft_blind(double n_vocab, const hn_objective_options *o)
{
    return hn_goal_blind_to_tokens(n_vocab, o);
}
