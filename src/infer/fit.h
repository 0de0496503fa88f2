/* fit.h: a model's layers over devices by the memory that each has.
 *
 * The first device takes as many layers as fit there, the next as many of the rest, and so on: what is counted is
 * what a plan with that split says that each device would take, weights, cache, sums and workspace, less what lies
 * there already; what a device has it says itself. Devices in the host's memory share it. The last device takes what is
 * left, and where its own memory is too small for that, it is sent the weights of some layers in each run. */
#ifndef HN_INFER_FIT_H
#define HN_INFER_FIT_H

#include "backend/executable.h"
#include "infer/run_spec.h"

/* Plans what is to be run with run->split and gives, by hn_fit_count, what it takes; nothing is made. */
typedef hn_status hn_fit_plan(void *context, const hn_run_spec *run, hn_device_bytes on[HN_MAX_DEVICES]);

/* Chooses run->split, and clears run->fits; nothing where that is not set. HN_ERR_MEMORY: no split fits; it names the
 * device, what is needed there and what it has. */
hn_status hn_fit_layers(hn_run_spec *run, int64_t n_layer, hn_fit_plan *plan, void *context);

/* What all of these take on the devices of a run, in its order, then on the host of the first. */
void hn_fit_count(const hn_run_spec *run, int n, const hn_executable *const *all, hn_device_bytes on[HN_MAX_DEVICES]);

#endif
