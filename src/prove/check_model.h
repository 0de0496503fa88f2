/* check_model.h: what is proved of whole transformers, dense and with experts. */
#ifndef HN_PROVE_CHECK_MODEL_H
#define HN_PROVE_CHECK_MODEL_H

#include "prove/env.h"
#include "prove/model_run.h"

/* Gradients along random directions in double; f32 against double; bits of every way of running. */
hn_status hn_check_model(hn_prove_env *env, const hn_instance_spec *spec);

/* Every architecture that can be run, dense and of experts, with adapters and in full; then shapes that
 * engines have been wrong on; then random ones: number `index`, from the seed. */
int hn_instance_count(void);
void hn_instance_at(int index, uint64_t seed, hn_instance_spec *out);

/* model_gradient.c */
hn_status hn_check_model_gradient(hn_prove_env *env, hn_instance *instance, const hn_model_outcome *f32);

#endif
