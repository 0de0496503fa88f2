/* The list of backends, and devices opened by name. */
#include "backend/backend.h"

#include <stdio.h>
#include <string.h>

#define HN_BACKEND(name) extern const hn_backend hn_backend_##name;
#include "backend/backends.def"
#undef HN_BACKEND

const hn_backend *const hn_backends[] = {
#define HN_BACKEND(name) &hn_backend_##name,
#include "backend/backends.def"
#undef HN_BACKEND
    NULL,
};

const hn_backend *hn_backend_find(const char *name)
{
    for (int i = 0; hn_backends[i]; i++)
        if (!strcmp(hn_backends[i]->name, name))
            return hn_backends[i];
    return NULL;
}

static void supports(const void *device, const hn_call *call, hn_support *out)
{
    const hn_device *d = device;
    d->backend->supports(d, call, out);
}

hn_target hn_device_target(const hn_device *device)
{
    return (hn_target){ .device = device, .n_threads = device->n_threads, .supports = supports };
}

static hn_status open_one(hn_heap *heap, const char *word, size_t length, int index,
                          const hn_device_options *options, hn_device **out)
{
    char kind[16] = "", name[24];
    HN_REQUIRE(length && length < sizeof kind, HN_ERR_ARGUMENT, "device '%.*s': expected cpu",
               (int)(length > 40 ? 40 : length), word);
    memcpy(kind, word, length);
    const hn_backend *backend = hn_backend_find(kind);
    HN_REQUIRE(backend, HN_ERR_ARGUMENT, "device '%s': no such backend: expected cpu", kind);
    hn_device_options own = options ? *options : (hn_device_options){ 0 };
    snprintf(name, sizeof name, index ? "%s%d" : "%s", kind, index);
    own.name = name;
    return backend->open(out, heap, &own);
}

hn_status hn_devices_open(hn_heap *heap, const char *names, const hn_device_options *options,
                          int *n, hn_device *devices[HN_MAX_DEVICES])
{
    *n = 0;
    hn_status status = HN_OK;
    for (const char *at = names; status == HN_OK; at++) {
        const size_t length = strcspn(at, ",");
        if (*n == HN_MAX_DEVICES)
            status = hn_fail(HN_ERR_ARGUMENT, "more than %d devices", HN_MAX_DEVICES);
        else
            status = open_one(heap, at, length, *n, options, &devices[*n]);
        if (status == HN_OK)
            (*n)++;
        at += length;
        if (!*at)
            break;
    }
    if (status != HN_OK) {
        hn_devices_close(*n, devices);
        *n = 0;
    }
    return status;
}

void hn_devices_close(int n, hn_device *const *devices)
{
    for (int i = 0; i < n; i++)
        devices[i]->backend->close(devices[i]);
}
