/* Sum over pairs of softplus(-beta * margin), divided by their number; margin the sum over both answers'
 * tokens of log-probabilities beyond the base's, of the chosen less of the rejected. */
#include "train/objective.h"

#include "ops/ops.h"

hn_node *hn_goal_dpo_loss(hn_objective *o)
{
    hn_graph *g = o->g;
    hn_node *base = NULL;
    hn_objective_nll(o, &o->policy, &o->nll);
    hn_objective_nll(o, &o->base, &base);
    hn_node *gain = hn_mul(g, hn_sub(g, base, o->nll), o->sign);
    o->margins = hn_objective_by_pair(o, gain);
    hn_node *each = hn_softplus(g, hn_scale(g, o->margins, -hn_objective_beta(o), 0));
    hn_node *sum = hn_sum(g, hn_reshape(g, each, (hn_ints){ 1, { -1 } }), NULL, 0, false);
    return hn_div(g, sum, o->count);
}

/* It begins there: the model is its base. */
hn_goal_blind hn_goal_dpo_blind(double n_vocab, const hn_objective_options *o)
{
    (void)n_vocab, (void)o;
    return (hn_goal_blind){ hn_math_log(2), "ln 2", "the rejected answers are preferred" };
}
