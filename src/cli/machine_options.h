/* machine_options.h: what a command computes with: its threads, devices, instruction set and numerics, in one
 * table and one parse. A command's args have a field `machine`, its table one of these lines:
 *
 *     HN_MACHINE_OPTIONS   runs a model
 *     HN_DEVICE_OPTIONS    computes, in numerics that are not asked for
 *     HN_THREADS_OPTION    works on files
 */
#ifndef HN_CLI_MACHINE_OPTIONS_H
#define HN_CLI_MACHINE_OPTIONS_H

#include "base/pool.h"
#include "cli/command.h"
#include "infer/run_spec.h"

typedef struct hn_machine_args {
    const char *device, *isa, *numerics;
    int64_t threads;
} hn_machine_args;

#define HN_THREADS_OPTION(type)                                                                \
    HN_INT(type, machine.threads, "threads", "N", 1, 256, "default: one a processor")

#define HN_DEVICE_OPTIONS(type)                                                                \
    HN_TEXT(type, machine.device, "device", "LIST", "of those that `hone devices` shows, layers on them in turn; default: cpu"), \
        HN_THREADS_OPTION(type),                                                               \
        HN_TEXT(type, machine.isa, "isa", "LEVEL", "of those that `devices --levels` prints; default: the best")

#define HN_NUMERICS_OF_RUNS  "f32 (the default); bf16: rounded where Transformers rounds; mixed: as trained so"
#define HN_NUMERICS_OF_LOSSES "f32 (the default) or mixed"

#define HN_MACHINE_OPTIONS(type, numerics_help)                                                \
    HN_TEXT(type, machine.numerics, "numerics", "MODE", numerics_help), HN_DEVICE_OPTIONS(type)

typedef struct hn_machine {
    hn_device *devices[HN_MAX_DEVICES];
    hn_run_spec run; /* of these: it stays where it was opened */
} hn_machine;

/* Nothing is open after a failure. */
hn_status hn_machine_open(hn_machine *machine, hn_heap *heap, const hn_machine_args *args);
void hn_machine_close(hn_machine *machine); /* takes a zeroed one */

/* Threads alone. */
hn_status hn_machine_pool(const hn_machine_args *args, hn_heap *heap, hn_pool **out);

#endif
