/* goal.h: what may be minimised: goals.def as a table. What differs between losses is asked here. */
#ifndef HN_TRAIN_GOAL_H
#define HN_TRAIN_GOAL_H

#include "base/status.h"
#include "graph/graph.h"

typedef enum hn_goal {
#define HN_GOAL(name, NAME, examples, base, logits, anchor, counts, options, help) HN_GOAL_##NAME,
#include "train/goals.def"
#undef HN_GOAL
    HN_N_GOALS
} hn_goal;

typedef enum hn_goal_examples { HN_SINGLES, HN_PAIRS, HN_LABELLED } hn_goal_examples;
typedef enum hn_goal_counts { HN_COUNTS_TOKENS, HN_COUNTS_EXAMPLES, HN_COUNTS_WEIGHTS } hn_goal_counts;

/* The loss of a model that tells nothing from anything, as words of a report have it. */
typedef struct hn_goal_blind {
    double loss;
    const char *of;    /* "ln 2" */
    const char *means; /* that a loss at the end is above it */
} hn_goal_blind;

struct hn_objective;
struct hn_objective_options;
struct hn_dataset;

typedef struct hn_goal_spec {
    const char *name;
    hn_goal_examples examples;
    bool needs_base, needs_logits, needs_anchor;
    hn_goal_counts counts;
    const char *options; /* words */
    /* Of a graph with its inputs: the sum over a micro-batch, divided by objective->count. Sets
     * objective->nll, and of pairs and labelled examples objective->margins. */
    hn_node *(*loss)(struct hn_objective *objective);
    hn_goal_blind (*blind)(double n_vocab, const struct hn_objective_options *with);
} hn_goal_spec;

/* What goal_<name>.c defines. */
#define HN_GOAL(name, NAME, examples, base, logits, anchor, counts, options, help)                      \
    hn_node *hn_goal_##name##_loss(struct hn_objective *objective);                            \
    hn_goal_blind hn_goal_##name##_blind(double n_vocab, const struct hn_objective_options *with);
#include "train/goals.def"
#undef HN_GOAL

const hn_goal_spec *hn_goal_spec_of(hn_goal goal);
/* "a, b or c": those that take such examples (below 0: any) and read this option (NULL: any). */
void hn_goal_names(int examples, const char *option, char *to, size_t room);
hn_status hn_goal_parse(const char *name, hn_goal *out);
/* What a dataset has. */
hn_goal_examples hn_goal_examples_of(const struct hn_dataset *dataset);
/* Refuses data of other examples than the goal takes. */
hn_status hn_goal_check_data(hn_goal goal, const struct hn_dataset *dataset);
/* The first that takes such data. */
hn_goal hn_goal_for(const struct hn_dataset *dataset);

/* Sequences of an example. */
static inline int hn_goal_parts(const hn_goal_spec *goal)
{
    return goal->examples == HN_PAIRS ? 2 : 1;
}

/* Whether tokens are added up by example, and those judged. */
static inline bool hn_goal_groups(const hn_goal_spec *goal)
{
    return goal->examples != HN_SINGLES;
}

/* Help of --goal, after two bytes that part its lines. */
extern const char hn_goals_help[];

/* What several have in common: the loss of a model that takes every token for equally likely. */
hn_goal_blind hn_goal_blind_to_tokens(double n_vocab, const struct hn_objective_options *with);

#endif
