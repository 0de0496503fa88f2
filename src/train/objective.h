/* objective.h: a model's graph up to a loss, over packed sequences.
 *
 *     sft   sum of weights * nll / count
 *     kl    sft + kl_weight * sum of weights * KL(policy, base) / count
 *     dpo   sum over pairs of softplus(-beta * margin) / count, margin the sum over both answers'
 *           tokens of log-probabilities beyond the base's, of the chosen less of the rejected
 *
 * plus the balance and z losses of routers, averages over layers. Only rows with a label go into
 * the head. The base is the model without what is trained, in the same graph.
 *
 * Inputs of a micro-batch have the extents tokens, rows and (dpo) pairs; counts are the step's. */
#ifndef HN_TRAIN_OBJECTIVE_H
#define HN_TRAIN_OBJECTIVE_H

#include "infer/adapter.h"
#include "train/tuning.h"

typedef enum hn_goal { HN_GOAL_SFT, HN_GOAL_KL, HN_GOAL_DPO } hn_goal;

typedef struct hn_objective_options {
    hn_goal goal;
    float beta;      /* dpo; 0 means 0.1 */
    float kl_weight; /* kl */
    float balance, z; /* factors of the routers' losses; 0: none */
    bool balances_batch; /* as Transformers does: over all tokens and layers at once */
    bool wants_logits;   /* for evaluation: the rows' logits are made as a whole */
    bool is_evaluation;  /* nothing drops out, no loads are counted */
    hn_numerics numerics;
    const hn_adapters *adapters; /* where there is no tuning; or NULL */
    int64_t max_tokens, max_rows, max_pairs;
} hn_objective_options;

typedef struct hn_objective {
    hn_objective_options o;
    hn_graph *g;
    nn_build policy, base; /* base: used by kl and dpo alone */
    int pairs_extent;
    hn_node *labels, *weights;       /* [R] */
    hn_node *count, *n_sequences, *n_tokens; /* f32 scalars of the step */
    hn_node *pair_of, *sign, *no_pairs; /* dpo: of each row; zeros [P,1] */
    hn_node *loss;
    hn_node *nll;     /* [R] */
    hn_node *logits;  /* [R,V], if wanted */
    hn_node *margins; /* dpo, [P,1] */
    hn_node **loads;  /* by route of the policy: tokens of each expert [E,1], a running sum */
} hn_objective;

/* `tuning` may be NULL: the model as it is, for evaluation. */
hn_status hn_objective_build(hn_objective *out, hn_graph *g, const hn_model *model,
                             const hn_tuning *tuning, const hn_objective_options *options);

/* Whether the model routes tokens at all: balance and z are refused otherwise. */
bool hn_objective_has_routers(const hn_objective *objective);

#endif
