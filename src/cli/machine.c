#include "cli/machine.h"

#include <string.h>

hn_status hn_machine_open(hn_machine *m, hn_heap *heap, const hn_machine_args *args)
{
    *m = (hn_machine){ .run = { 0, m->devices, HN_NUMERICS_F32 } };
    const hn_device_options open = { .n_threads = (int)args->threads, .isa = args->isa };
    int n;
    HN_TRY(hn_numerics_parse(args->numerics, &m->run.numerics));
    HN_TRY(hn_devices_open(heap, args->device ? args->device : "cpu", &open, &n, m->devices));
    m->run.n_devices = n;
    return HN_OK;
}

void hn_machine_close(hn_machine *m)
{
    hn_devices_close(m->run.n_devices, m->devices);
    m->run.n_devices = 0;
}

hn_status hn_machine_pool(const hn_machine_args *args, hn_heap *heap, hn_pool **out)
{
    return hn_pool_new(heap, (int)args->threads, out);
}

_Static_assert((int)HN_MAX_IGNORED == (int)HN_MAX_LIST, "one for each --ignore");

hn_ignored hn_ignored_of(const hn_list *keys)
{
    hn_ignored ignored = { .n = keys->n };
    memcpy(ignored.at, keys->at, sizeof ignored.at);
    return ignored;
}
