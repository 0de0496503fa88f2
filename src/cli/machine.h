/* machine.h: the inner devices and numerics of a machine's options, for the commands that look inside. */
#ifndef HN_CLI_MACHINE_H
#define HN_CLI_MACHINE_H

#include "base/pool.h"
#include "cli/machine_options.h"
#include "infer/run_spec.h"
#include "nn/config.h"

typedef struct hn_machine {
    hn_device *devices[HN_MAX_DEVICES];
    hn_run_spec run; /* of these: it stays where it was opened */
} hn_machine;

/* Nothing is open after a failure. */
hn_status hn_machine_open(hn_machine *machine, hn_heap *heap, const hn_machine_args *args);
void hn_machine_close(hn_machine *machine); /* takes a zeroed one */

/* Threads alone. */
hn_status hn_machine_pool(const hn_machine_args *args, hn_heap *heap, hn_pool **out);

/* Of --ignore. Points into the list's texts. */
hn_ignored hn_ignored_of(const hn_list *keys);

#endif
