/* trial.h: a case of an op as a graph, made so that a given thing must happen to its inputs. */
#ifndef HN_PROVE_TRIAL_H
#define HN_PROVE_TRIAL_H

#include "prove/case.h"
#include "prove/oracle.h"
#include "prove/runner.h"

typedef enum hn_wrap {
    HN_WRAP_NONE,   /* the op reads the leaf: its memory may not be taken */
    HN_WRAP_COPY,   /* the op is the only reader of a copy: its memory may be taken */
    HN_WRAP_STRIDED, /* the op reads a transposed view of a leaf */
    HN_WRAP_APART,   /* the op reads a view whose rows lie apart, in blocks too */
    HN_WRAP_PACKED   /* the op reads a packed weight */
} hn_wrap;

typedef struct hn_trial_options {
    hn_wrap wrap[HN_MAX_IN];
    const hn_layout *layout; /* of what is packed */
    int same_as[HN_MAX_IN]; /* 1 + an earlier input: the very same node */
    bool with_gradients;
    bool on_two_devices;
    bool stays; /* what is not wrapped lies on the device for good: no copy of it can be taken over */
} hn_trial_options;

enum { HN_TRIAL_WANTED = HN_MAX_OUT + HN_MAX_IN + 1 };

typedef struct hn_trial {
    const hn_case *c;
    hn_graph *g;
    hn_node *leaf[HN_MAX_IN];
    hn_node *in[HN_MAX_IN]; /* what the op reads: the leaf, or a copy or view of it */
    hn_node *weight[HN_MAX_OUT]; /* random factors of the outputs in the loss */
    hn_node *loss;               /* NULL without gradients */
    int n_outputs, n_params;
    int param[HN_MAX_IN];             /* which input */
    hn_node *wanted[HN_TRIAL_WANTED]; /* outputs, then gradients */
    int n_wanted;
    hn_leaf_values values;
} hn_trial;

/* Builds the graph and the seeded data of its leaves. A case that has no gradient gives a trial
 * without a loss. */
hn_status hn_trial_new(hn_trial *t, hn_heap *heap, const hn_case *c, uint64_t seed,
                       const hn_trial_options *options);
void hn_trial_free(hn_trial *t);

/* Gives the oracle what the leaves start with. */
hn_status hn_trial_give(const hn_trial *t, hn_oracle *o);

#endif
