/* Devices are opened in the order of the words, and the one for experts last, if it is not among them: its number
 * in the list is what a split says. */
#include "infer/run_spec.h"

#include <stdio.h>
#include <string.h>

nn_split hn_run_split(const hn_run_spec *run, int64_t n_layer)
{
    nn_split split = run->split;
    split.n = split.n ? split.n : run->n_devices;
    for (int d = 0; run->streams && d < split.n; d++)
        if (!hn_device_is_host(run->devices[d]))
            split.streamed[d] = n_layer;
    return split;
}

/* The index of the device with this name, else of the first of a backend of this name; -1: none. */
static int find(int n, hn_device *const *devices, const char *word)
{
    for (int d = 0; d < n; d++)
        if (!strcmp(devices[d]->name, word))
            return d;
    for (int d = 0; d < n; d++)
        if (!strcmp(devices[d]->backend->name, word))
            return d;
    return -1;
}

static hn_status open_experts(hn_run_spec *run, hn_device **devices, hn_heap *heap, const char *word,
                              const hn_device_options *options)
{
    int at = find(run->n_devices, devices, word);
    if (at < 0) {
        const hn_backend *backend = hn_backend_find(word);
        hn_device_options own = *options;
        char name[24];
        HN_REQUIRE(backend, HN_ERR_ARGUMENT, "experts on '%.40s': expected a device of the list, or a backend", word);
        HN_REQUIRE(run->n_devices < HN_MAX_DEVICES, HN_ERR_ARGUMENT, "more than %d devices", HN_MAX_DEVICES);
        at = run->n_devices;
        snprintf(name, sizeof name, "%s%d", backend->name, at);
        own.name = name;
        HN_TRY(backend->open(&devices[at], heap, &own));
        run->n_devices++;
    }
    run->split.experts = at + 1;
    return HN_OK;
}

hn_status hn_run_open(hn_run_spec *run, hn_device *devices[HN_MAX_DEVICES], hn_heap *heap, const hn_run_words *words,
                      const hn_device_options *options)
{
    *run = (hn_run_spec){ 0, devices, HN_NUMERICS_F32 };
    HN_TRY(hn_devices_open(heap, words->devices ? words->devices : "cpu", options, &run->n_devices, devices));
    run->split.n = run->n_devices;
    run->fits = words->fits;
    run->streams = words->streams;
    const hn_status status = words->experts ? open_experts(run, devices, heap, words->experts, options) : HN_OK;
    if (status != HN_OK) {
        hn_devices_close(run->n_devices, devices);
        run->n_devices = 0;
    }
    return status;
}
