/* run_spec.h: what a model is computed by: devices and numerics. Whoever computes takes one and hands it on whole,
 * so that what is added here reaches every session, evaluation, training step and self-test. */
#ifndef HN_INFER_RUN_SPEC_H
#define HN_INFER_RUN_SPEC_H

#include "backend/backend.h"
#include "nn/numerics.h"
#include "nn/split.h"

typedef struct hn_run_spec {
    int n_devices;
    hn_device *const *devices; /* layers lie on them as `split` says; they outlive what they are given to */
    hn_numerics numerics;
    nn_split split;
    bool fits; /* how many layers each device takes is found when something is planned: fit.h */
    bool streams; /* the weights of all layers stay with the host, and are sent to devices with memory of their own */
} hn_run_spec;

/* On one device, in f32. */
static inline hn_run_spec hn_run_on(hn_device *const *device)
{
    return (hn_run_spec){ .n_devices = 1, .devices = device, .numerics = HN_NUMERICS_F32 };
}

/* Where a model's weights are to lie, in a user's words. */
typedef struct hn_run_words {
    const char *devices; /* as hn_devices_open takes them; NULL: cpu */
    const char *experts; /* one of them by its name, or a backend's, which is opened if none is; NULL: with their layer */
    bool fits, streams;
} hn_run_words;

/* Opens the devices, which hn_devices_close takes, and says how layers lie on them, in f32. After a failure none is
 * open and n_devices is 0. */
hn_status hn_run_open(hn_run_spec *run, hn_device *devices[HN_MAX_DEVICES], hn_heap *heap, const hn_run_words *words,
                      const hn_device_options *options);
/* The split with what is left out filled in: what a build takes of a model of so many layers. */
nn_split hn_run_split(const hn_run_spec *run, int64_t n_layer);

#endif
