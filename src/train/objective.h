/* objective.h: a model's graph up to a loss, over packed sequences: that of its goal (goals.def), plus the
 * balance and z losses of routers, averages over layers. Only rows with a label go into the head. The
 * base is the model without what is trained, in the same graph.
 *
 * Inputs of a micro-batch have the extents tokens, rows and, of pairs and labelled examples, pairs; counts are
 * the step's. */
#ifndef HN_TRAIN_OBJECTIVE_H
#define HN_TRAIN_OBJECTIVE_H

#include "infer/adapter.h"
#include "train/goal.h"
#include "train/tuning.h"

typedef struct hn_objective_options {
    hn_goal goal;
    float beta;      /* how much a preference counts; 0 means 0.1 */
    float desirable, undesirable; /* what a label counts; 0 means 1 */
    float kl_weight; /* of the divergence from the base */
    float balance, z; /* factors of the routers' losses; 0: none */
    bool balances_batch; /* as Transformers does: over all tokens and layers at once */
    bool wants_logits;   /* for evaluation: the rows' logits are made as a whole */
    bool is_evaluation;  /* nothing drops out, no loads are counted */
    const hn_adapters *adapters; /* where there is no tuning; or NULL */
    int64_t max_tokens, max_rows, max_pairs;
    hn_run_spec run; /* set by the learner or evaluator that it is for: layers are spread over its devices */
} hn_objective_options;

typedef struct hn_objective {
    hn_objective_options o;
    const hn_goal_spec *goal;
    hn_graph *g;
    nn_build policy, base; /* base: where the goal needs it */
    int pairs_extent;
    hn_node *labels, *weights;       /* [R] */
    hn_node *count, *n_sequences, *n_tokens; /* f32 scalars of the step */
    hn_node *pair_of, *sign, *no_pairs; /* pairs: of each row; zeros [P,1] */
    hn_node *share[2];     /* pairs: of each row in its answer, the chosen one; the rejected; 0 elsewhere */
    hn_node *pair_weights; /* of pairs and labelled examples, [P,1] */
    hn_node *example_labels; /* [P,1]: 1, or -1 */
    hn_node *anchor; /* f32 scalar of the step */
    hn_node *loss;
    hn_node *nll;     /* [R] */
    hn_node *logits;  /* [R,V], if wanted */
    hn_node *margins; /* [P,1], of pairs and labelled examples: above 0 where the chosen answer is preferred */
    hn_node **loads;  /* by route of the policy: tokens of each expert [E,1], a running sum */
} hn_objective;

/* `tuning` may be NULL: the model as it is, for evaluation. */
hn_status hn_objective_build(hn_objective *out, hn_graph *g, const hn_model *model,
                             const hn_tuning *tuning, const hn_objective_options *options);

/* The leaves of what `tuning` trains, by tensor. Refuses a tensor that the graph never reads. */
hn_status hn_objective_params(const hn_objective *objective, const hn_tuning *tuning, hn_node **out);

/* Of the graph's extents, for so many tokens and rows and a pair: within their bounds. */
void hn_objective_sizes(const hn_objective *objective, int64_t tokens, int64_t rows, int64_t sizes[HN_MAX_EXTENTS]);

/* Whether the model routes tokens at all: balance and z are refused otherwise. */
bool hn_objective_has_routers(const hn_objective *objective);

/* ---- what losses are made of ---- */

/* Sum of weights * nll / count, and each row's nll. */
hn_node *hn_objective_nll(hn_objective *objective, nn_build *build, hn_node **nll);
hn_node *hn_objective_logits(nn_build *build); /* [R,V] */
/* Numbers of rows [R] added up by pair: [P,1]. */
hn_node *hn_objective_by_pair(hn_objective *objective, hn_node *of_rows);
float hn_objective_beta(const hn_objective *objective);

#endif
