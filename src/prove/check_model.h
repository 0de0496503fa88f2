/* check_model.h: what is proved of whole transformers, dense and with experts. */
#ifndef HN_PROVE_CHECK_MODEL_H
#define HN_PROVE_CHECK_MODEL_H

#include "prove/env.h"
#include "prove/model_run.h"

/* Gradients along random directions in double; f32 against double; bits of every way of running. */
hn_status hn_check_model(hn_prove_env *env, const hn_model_spec *spec);

/* The fixed list, then random neighbours: shape number `index`, from the seed. */
int hn_model_spec_count(void);
void hn_model_spec_at(int index, uint64_t seed, hn_model_spec *out);

/* model_gradient.c */
hn_status hn_check_model_gradient(hn_prove_env *env, const hn_model_spec *spec,
                                  const hn_model_outcome *f32);

#endif
