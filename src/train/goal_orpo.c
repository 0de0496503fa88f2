/* Over pairs, sum of weight * (x + beta * softplus(-margin)) divided by the sum of weights: x is the
 * chosen answer's mean nll a token, margin the log odds of its mean probability less those of the
 * rejected one's. There is no base. https://arxiv.org/abs/2403.07691, whose lambda is beta, as in TRL. */
#include "train/objective.h"

#include "ops/ops.h"

/* Of p = exp(-x): log(p / (1 - p)) = -log(exp(x) - 1), as -(log(tanh(x / 2)) + softplus(x)), which loses no
 * digit where p is near 1. What f32 cannot tell from 1 at all has finite odds. */
static hn_node *log_odds(hn_graph *g, hn_node *x)
{
    hn_node *held = hn_clamp(g, x, 1e-6f, INFINITY);
    hn_node *half = hn_log(g, hn_tanh(g, hn_scale(g, held, 0.5f, 0)));
    return hn_neg(g, hn_add(g, half, hn_softplus(g, held)));
}

hn_node *hn_goal_orpo_loss(hn_objective *o)
{
    hn_graph *g = o->g;
    hn_objective_nll(o, &o->policy, &o->nll);
    hn_node *chosen = hn_objective_by_pair(o, hn_mul(g, o->nll, o->share[0]));
    hn_node *rejected = hn_objective_by_pair(o, hn_mul(g, o->nll, o->share[1]));
    o->margins = hn_sub(g, log_odds(g, chosen), log_odds(g, rejected));
    hn_node *odds = hn_softplus(g, hn_neg(g, o->margins));
    hn_node *each = hn_add(g, chosen, hn_scale(g, odds, hn_objective_beta(o), 0));
    each = hn_reshape(g, hn_mul(g, each, o->pair_weights), (hn_ints){ 1, { -1 } });
    return hn_div(g, hn_sum(g, each, NULL, 0, false), o->count);
}

/* Both answers are as likely then: odds tell nothing either. */
hn_goal_blind hn_goal_orpo_blind(double n_vocab, const hn_objective_options *o)
{
    hn_goal_blind blind = hn_goal_blind_to_tokens(n_vocab, o);
    blind.loss += (double)o->beta * hn_math_log(2);
    blind.of = "ln(vocabulary) + beta ln 2";
    return blind;
}
