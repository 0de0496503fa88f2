/* The list of backends, and devices opened by name. */
#include "backend/backend.h"

#include <stdio.h>
#include <string.h>

#define HN_BACKEND(name) extern const hn_backend hn_backend_##name;
#include "backend/backends.def"
#undef HN_BACKEND

static const hn_backend *const built_in[] = {
#define HN_BACKEND(name) &hn_backend_##name,
#include "backend/backends.def"
#undef HN_BACKEND
};
enum { N_BUILT_IN = sizeof built_in / sizeof *built_in };

static const hn_backend *added;
static const char *instead;

const hn_backend *hn_backend_at(int index)
{
    return index < N_BUILT_IN ? built_in[index] : index == N_BUILT_IN ? added : NULL;
}

const hn_backend *hn_backend_find(const char *name)
{
    const hn_backend *backend;
    for (int i = 0; (backend = hn_backend_at(i)) != NULL; i++)
        if (!strcmp(backend->name, name))
            return backend;
    return NULL;
}

bool hn_backend_is_cpu(const hn_backend *backend)
{
    const size_t n = strlen(backend->name);
    bool is = false;
    for (const char *at = instead ? instead : "cpu"; *at && !is; at += strcspn(at, ","), at += *at == ',')
        is = strcspn(at, ",") == n && !memcmp(at, backend->name, n);
    return is;
}

hn_status hn_layout_find(const char *name, const hn_layout **out)
{
    const hn_backend *backend;
    char known[256] = "plain";
    *out = NULL;
    if (!strcmp(name, known))
        return HN_OK;
    for (int i = 0; (backend = hn_backend_at(i)) != NULL; i++)
        for (int k = 0; backend->layouts[k]; k++) {
            const size_t n = strlen(known);
            if (!strcmp(backend->layouts[k]->name, name)) {
                *out = backend->layouts[k];
                return HN_OK;
            }
            snprintf(known + n, sizeof known - n, " or %s", backend->layouts[k]->name);
        }
    return hn_fail(HN_ERR_ARGUMENT, "layout '%.40s': expected %s", name, known);
}

void hn_backend_add(const hn_backend *backend, const char *instead_of_cpu)
{
    added = backend;
    instead = instead_of_cpu;
}

static void supports(const void *device, const hn_call *call, hn_support *out)
{
    const hn_device *d = device;
    d->backend->supports(d, call, out);
}

hn_target hn_device_target(const hn_device *device)
{
    return (hn_target){ .device = device, .n_threads = device->n_threads,
                        .is_host = hn_device_is_host(device), .is_spare = device->is_spare,
                        .layouts = device->backend->layouts, .supports = supports };
}

/* ---- copies between devices ---- */

bool hn_copy_stages(const hn_device *to, const hn_device *from)
{
    return !hn_device_is_host(to) && !hn_device_is_host(from) && to->backend != from->backend;
}

hn_status hn_device_read(hn_device *device, void *to, const void *from, size_t bytes)
{
    hn_event done;
    HN_TRY(device->backend->fetch(device, to, from, bytes));
    device->backend->record(device, &done);
    if (done.device)
        device->backend->reach(&done);
    return HN_OK;
}

/* What is submitted to `device` from here on comes after all that was submitted to `other`. */
static hn_status follow(hn_device *device, hn_device *other)
{
    hn_event now;
    if (device == other)
        return HN_OK;
    other->backend->record(other, &now);
    return now.device ? device->backend->await(device, &now) : HN_OK;
}

/* The source goes on once the bytes are in the stage, and waits there for those of the copy before. */
static hn_status copy_staged(hn_device *to, void *at, hn_device *source, const void *from, size_t bytes, hn_stage *stage)
{
    if (stage->used.device)
        HN_TRY(source->backend->await(source, &stage->used));
    HN_TRY(source->backend->fetch(source, stage->at, from, bytes));
    HN_TRY(follow(to, source));
    HN_TRY(to->backend->send(to, at, stage->at, bytes));
    to->backend->record(to, &stage->used);
    return HN_OK;
}

/* What did everything at once may do the next thing as soon as this returns. */
static hn_status copy_from_host(hn_device *to, void *at, hn_device *source, const void *from, size_t bytes)
{
    hn_event made;
    source->backend->record(source, &made);
    if (!made.device)
        return to->backend->write(to, at, from, bytes);
    HN_TRY(to->backend->await(to, &made));
    HN_TRY(to->backend->send(to, at, from, bytes));
    return follow(source, to);
}

hn_status hn_device_copy(hn_device *to, void *at, hn_device *source, const void *from, size_t bytes,
                         hn_stage *stage)
{
    if (to->backend == source->backend) {
        HN_TRY(follow(to, source));
        HN_TRY(to->backend->copy(to, at, source, from, bytes));
        return follow(source, to);
    }
    if (hn_copy_stages(to, source))
        return copy_staged(to, at, source, from, bytes, stage);
    if (hn_device_is_host(source))
        return copy_from_host(to, at, source, from, bytes);
    HN_TRY(follow(source, to));
    HN_TRY(source->backend->fetch(source, at, from, bytes));
    return follow(to, source);
}

/* Whether a list has devices of more than one backend: the host's own stand beside others. */
static bool is_mixed(const char *names)
{
    const size_t n = strcspn(names, ",");
    for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") != n || memcmp(at, names, n) != 0)
            return true;
    return false;
}

static hn_status open_one(hn_heap *heap, const char *names, const char *word, int index, const hn_device_options *options,
                          hn_device **out)
{
    const size_t length = strcspn(word, ",");
    char kind[16] = "", name[24];
    HN_REQUIRE(length && length < sizeof kind, HN_ERR_ARGUMENT, "device '%.*s': expected cpu",
               (int)(length > 40 ? 40 : length), word);
    memcpy(kind, word, length);
    const hn_backend *backend = hn_backend_find(kind);
    HN_REQUIRE(backend, HN_ERR_ARGUMENT, "device '%s': no such backend: expected cpu", kind);
    hn_device_options own = options ? *options : (hn_device_options){ 0 };
    snprintf(name, sizeof name, index ? "%s%d" : "%s", kind, index);
    own.name = name;
    own.beside_others = own.beside_others || is_mixed(names);
    return backend->open(out, heap, &own);
}

hn_status hn_devices_open(hn_heap *heap, const char *names, const hn_device_options *options,
                          int *n, hn_device *devices[HN_MAX_DEVICES])
{
    *n = 0;
    hn_status status = HN_OK;
    if (instead && !strcmp(names, "cpu"))
        names = instead;
    for (const char *at = names; status == HN_OK; at++) {
        const size_t length = strcspn(at, ",");
        if (*n == HN_MAX_DEVICES)
            status = hn_fail(HN_ERR_ARGUMENT, "more than %d devices", HN_MAX_DEVICES);
        else
            status = open_one(heap, names, at, *n, options, &devices[*n]);
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

hn_status hn_devices_add_host(int *n, hn_device *devices[HN_MAX_DEVICES])
{
    for (int d = 0; d < *n; d++)
        if (hn_device_is_host(devices[d]))
            return HN_OK;
    HN_REQUIRE(*n < HN_MAX_DEVICES, HN_ERR_ARGUMENT,
               "%d devices, none of them the host: expected at most %d", *n, HN_MAX_DEVICES - 1);
    devices[*n] = devices[0]->host;
    ++*n;
    return HN_OK;
}

void hn_devices_close(int n, hn_device *const *devices)
{
    for (int i = 0; i < n; i++)
        devices[i]->backend->close(devices[i]);
}

hn_status hn_device_open(hn_device **out, hn_heap *heap, int index, const hn_device_options *options)
{
    const char *words = instead ? instead : "cpu", *at = words;
    int n = 1;
    for (const char *c = words; *c; c++)
        n += *c == ',';
    for (int i = index % n; i > 0; i--)
        at += strcspn(at, ",") + 1;
    return open_one(heap, words, at, 0, options, out);
}

hn_status hn_device_open_spare(hn_device **out, hn_heap *heap, const hn_device_options *of)
{
    const hn_device_options own = { "cpu", of->n_threads, of->isa, .beside_others = true };
    HN_TRY(hn_backend_find("cpu")->open(out, heap, &own));
    (*out)->is_spare = true;
    return HN_OK;
}
