/* model_proof.h: the certificate for one model, its data and this machine.
 *
 * Of every trained tensor, derivatives along directions are compared with differences of the loss:
 * along the gradient, the gradient weighed at random, and random signs. Losses are sums of rows' losses in double, of
 * f32 forwards, so steps are chosen by how the difference answers, and the bound is what the
 * answers' own spread allows. Then the bits: every plan, recomputation, micro-batch cut, thread
 * count and instruction-set level must give the same gradient.
 *
 * Numerics that round make steps of the loss, of which differences say nothing. There the derivatives are
 * those of f32, the gradient must be near that one, and the bits are its own. Where nothing is trained (answer_proof.h)
 * it is the logits that must be near.
 *
 * By default on a slice of the model: embedding, head, the first, the last and one layer of every
 * kind, at full width. */
#ifndef HN_PROVE_MODEL_PROOF_H
#define HN_PROVE_MODEL_PROOF_H

#include "prove/report.h"
#include "train/learner.h"

typedef struct hn_model_proof_options {
    const hn_tune_targets *targets; /* NULL: every matrix, low-rank */
    hn_objective_options objective; /* goal and factors; sizes are chosen */
    uint64_t seed;
    int directions; /* of each tensor; 0 means 2 */
    bool full;      /* all layers */
    hn_heap *heap;
    hn_run_spec run; /* the first device does the work; bits are compared on all */
    int n_levels;    /* and on these, of weaker instructions */
    hn_device *const *levels;
    int n_others;    /* and on these, of backends that promise the CPU's bits */
    hn_device *const *others;
    const hn_run_options *ends; /* what ends its programs; NULL: nothing */
    bool (*progress)(void *context, double done, const char *what); /* false stops */
    void *progress_context;
} hn_model_proof_options;

/* `batch`: examples of the run's data. *left_out says, for people, what was not looked at. */
hn_status hn_model_prove(const hn_model *model, const hn_batch *batch,
                         const hn_model_proof_options *options, hn_report *report, hn_str *left_out);

#endif
