/* all_devices.h: a model over all devices that were opened where a test asked for cpu. That is one, or those of HN_TEST_DEVICES
 * (far/far.h): of cpu,far the first alone would be the host. */
#ifndef TESTS_HARNESS_ALL_DEVICES_H
#define TESTS_HARNESS_ALL_DEVICES_H

#include "infer/run_spec.h"

/* Its layers in equal shares, in f32. */
static inline hn_run_spec on_all_devices(int n, hn_device *const *devices)
{
    return (hn_run_spec){ .n_devices = n, .devices = devices, .numerics = HN_NUMERICS_F32 };
}

#endif
