/* Over labelled examples, sum of weight * (1 - sigmoid(beta * label * (gain - anchor))) divided by the sum
 * of examples' weights: gain is the answer's log-probability beyond the base's, label 1 or -1, and weight
 * the example's times what its label counts. The anchor is of the whole step and has no gradient: the mean
 * gain of its prompts with each other's answers, 0 at least. https://arxiv.org/abs/2402.01306, as in TRL. */
#include "train/objective.h"

#include "ops/ops.h"

static float or_one(float x) { return x > 0 ? x : 1; }

hn_node *hn_goal_kto_loss(hn_objective *o)
{
    hn_graph *g = o->g;
    hn_node *base = NULL;
    const float desirable = or_one(o->o.desirable), undesirable = or_one(o->o.undesirable);
    hn_objective_nll(o, &o->policy, &o->nll);
    hn_objective_nll(o, &o->base, &base);
    o->margins = hn_objective_by_pair(o, hn_mul(g, hn_sub(g, base, o->nll), o->sign));
    hn_node *beyond = hn_mul(g, hn_sub(g, o->margins, o->anchor), o->example_labels);
    hn_node *each = hn_sigmoid(g, hn_scale(g, beyond, -hn_objective_beta(o), 0));
    hn_node *counts = hn_scale(g, o->example_labels, (desirable - undesirable) / 2,
                               (desirable + undesirable) / 2);
    each = hn_mul(g, hn_mul(g, each, counts), o->pair_weights);
    hn_node *sum = hn_sum(g, hn_reshape(g, each, (hn_ints){ 1, { -1 } }), NULL, 0, false);
    return hn_div(g, sum, o->count);
}

/* It begins with half of what its labels count: the model is its base. */
hn_goal_blind hn_goal_kto_blind(double n_vocab, const hn_objective_options *o)
{
    const double desirable = (double)or_one(o->desirable), undesirable = (double)or_one(o->undesirable);
    (void)n_vocab;
    return (hn_goal_blind){ (desirable > undesirable ? desirable : undesirable) / 2,
                            "half of what a label counts", "the base tells answers apart better" };
}
