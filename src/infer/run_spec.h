/* run_spec.h: what a model is computed by: devices and numerics. Whoever computes takes one and hands it on whole,
 * so that what is added here reaches every session, evaluation, training step and self-test. */
#ifndef HN_INFER_RUN_SPEC_H
#define HN_INFER_RUN_SPEC_H

#include "backend/backend.h"
#include "nn/numerics.h"

typedef struct hn_run_spec {
    int n_devices;
    hn_device *const *devices; /* layers lie on them in order; they outlive what they are given to */
    hn_numerics numerics;
} hn_run_spec;

/* On one device, in f32. */
static inline hn_run_spec hn_run_on(hn_device *const *device)
{
    return (hn_run_spec){ 1, device, HN_NUMERICS_F32 };
}

#endif
