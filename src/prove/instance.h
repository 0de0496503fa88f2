/* instance.h: a small model of one of the architectures, made up in memory with all that a step of
 * training needs: what whole-model proofs are of. The same spec gives the same model, tensors and batch. */
#ifndef HN_PROVE_INSTANCE_H
#define HN_PROVE_INSTANCE_H

#include "train/learner.h"

enum { HN_MAX_SEQUENCES = 16 };

/* 0 of a number: as the architecture has it, small. */
typedef struct hn_instance_spec {
    char name[48];
    const hn_arch *arch;
    int64_t vocab, width, n_layer, n_head, n_kv_head, head_dim, ffn;
    int64_t window; /* where the architecture has one */
    int64_t n_expert, n_used; /* 0: dense, where it can be */
    bool is_tied;
    const char *settings[5];  /* for hn_random_set, ended by NULL */
    const char *type;         /* of the matrices; NULL: f32 */
    const char *targets;      /* for hn_tune_targets_parse */
    float balance, z;
    int n_sequences;
    int64_t length[HN_MAX_SEQUENCES];
    uint64_t seed;
} hn_instance_spec;

typedef struct hn_instance {
    hn_heap *heap;
    hn_instance_spec spec;
    hn_model *model;
    hn_tune_targets targets;
    hn_batch batch; /* a sequence an example; tokens that are not supervised among them */
} hn_instance;

hn_status hn_instance_open(hn_instance *instance, hn_heap *heap, const hn_instance_spec *spec);
void hn_instance_close(hn_instance *instance); /* takes a zeroed one */

/* What is trained, as a step of it begins; matrices that begin at zero are random here, or nothing before
 * them would have a gradient. */
hn_status hn_instance_tune(const hn_instance *instance, hn_tuning **out);

/* For graphs of these sequences: all of them. */
hn_objective_options hn_instance_objective(const hn_instance *instance);

/* Whether a number of its files goes into the field. */
bool hn_arch_takes(const hn_arch *arch, hn_hp field);

/* Whether the architecture's layers may be dense, or of experts; neither: it cannot be run. */
bool hn_arch_may_be_dense(const hn_arch *arch);
bool hn_arch_may_be_moe(const hn_arch *arch);

#endif
