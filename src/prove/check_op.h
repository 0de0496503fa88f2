/* check_op.h: everything that is proved of one op, case by case. */
#ifndef HN_PROVE_CHECK_OP_H
#define HN_PROVE_CHECK_OP_H

#include "prove/env.h"
#include "prove/trial.h"

/* Failures of checks go to the report; the status is for what could not be checked at all. */
hn_status hn_check_op(hn_prove_env *env, const hn_op *op);

/* gradient.c: backward against central differences, kernels against the oracle. */
hn_status hn_check_gradient(hn_prove_env *env, const hn_case *c);
/* finite.c: what must be finite and is not is refused by its row. */
hn_status hn_check_finite(hn_prove_env *env, const hn_case *c);
/* bits.c: plans, aliases, threads, levels, devices and strides against one separate run. */
typedef struct hn_alias_tally {
    unsigned allowed, taken; /* inputs, as masks: by op and kernel; in some run */
} hn_alias_tally;
hn_status hn_check_bits(hn_prove_env *env, const hn_case *c, hn_alias_tally *tally);
/* outputs.c: each output whose neighbours nobody reads. */
hn_status hn_check_outputs(hn_prove_env *env, const hn_case *c);

#endif
