/* The inner half, which few commands have: those that only run models open an engine by machine_options.c. */
#include "cli/machine.h"

#include <string.h>

hn_status hn_machine_open(hn_machine *m, hn_heap *heap, const hn_machine_args *args)
{
    *m = (hn_machine){ .run = { 0, m->devices } };
    const hn_device_options open = { .n_threads = (int)args->threads, .isa = args->isa };
    const hn_run_words words = { args->device, args->experts, args->fit, args->stream };
    hn_numerics numerics;
    size_t limit;
    HN_TRY(hn_machine_memory(args, &limit));
    heap->limit_bytes = limit;
    HN_TRY(hn_numerics_parse(args->numerics, &numerics));
    HN_TRY(hn_run_open(&m->run, m->devices, heap, &words, &open));
    m->run.numerics = numerics;
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
