/* optimizer.h: what updates parameters: optimizers.def as a table. What differs is asked here. */
#ifndef HN_TRAIN_OPTIMIZER_H
#define HN_TRAIN_OPTIMIZER_H

#include "base/status.h"
#include "graph/graph.h"

typedef enum hn_optimizer {
#define HN_OPTIMIZER(name, NAME, takes, beta1, beta2, options, help) HN_##NAME,
#include "train/optimizers.def"
#undef HN_OPTIMIZER
    HN_N_OPTIMIZERS
} hn_optimizer;

enum { HN_TAKES_MOMENTS = 1, HN_TAKES_CHANCE = 2, HN_TAKES_MASTER = 4 };

struct hn_descent_options;

/* One parameter and what its update reads. */
typedef struct hn_update_site {
    hn_graph *g;
    hn_node *w, *gradient, *hyper, *clip; /* clip may be NULL */
    float beta1, beta2;                   /* as given, or the optimiser's own */
    float decay, toward;
    const struct hn_descent_options *o;
} hn_update_site;

typedef struct hn_optimizer_spec {
    const char *name;
    int takes;
    double beta1, beta2;
    const char *options; /* words */
    hn_node *(*update)(const hn_update_site *site);
} hn_optimizer_spec;

/* What optimizer_<name>.c defines. */
#define HN_OPTIMIZER(name, NAME, takes, beta1, beta2, options, help)                            \
    hn_node *hn_optimizer_##name##_update(const hn_update_site *site);
#include "train/optimizers.def"
#undef HN_OPTIMIZER

const hn_optimizer_spec *hn_optimizer_spec_of(hn_optimizer optimizer);
/* "a, b or c": those that read this option; NULL: all. */
void hn_optimizer_names(const char *option, char *to, size_t room);
/* `what` begins the message: "--optimizer x". */
hn_status hn_optimizer_parse(const char *what, const char *name, hn_optimizer *out);

/* What moments may be of, by the type's name. `what` as above. */
hn_status hn_moments_parse(const char *what, const char *name, hn_dtype *out);

/* A state like the parameter, which checkpoints keep as "<parameter>.<what>". */
hn_node *hn_update_state(const hn_update_site *site, const char *what, hn_dtype dtype);

/* Help of --optimizer, after two bytes that part its lines. */
extern const char hn_optimizers_help[];

#endif
