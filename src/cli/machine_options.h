/* machine_options.h: what a command computes with: its threads, devices, instruction set and numerics, in one
 * table and one parse. A command's args have a field `machine`, its table one of these lines:
 *
 *     HN_MACHINE_OPTIONS   runs a model
 *     HN_DEVICE_OPTIONS    computes, in numerics that are not asked for
 *     HN_ENGINE_OPTIONS    the same without threads and memory: `train` keeps these in its run's record, with its numerics, so
 *                          they are settings of the library there; `replay` runs on one thread, in its recipe's numerics
 *     HN_THREADS_OPTION    works on files
 *     HN_PROOF_OPTIONS     compares ways of computing: processors always, and other devices
 *
 * An option that is new stands in HN_ENGINE_OPTIONS: every command that computes has it then, but for a proof.
 */
#ifndef HN_CLI_MACHINE_OPTIONS_H
#define HN_CLI_MACHINE_OPTIONS_H

#include "cli/command.h"
#include "hone/model.h"

typedef struct hn_machine_args {
    const char *device, *experts, *isa, *numerics, *memory;
    int64_t threads;
    bool fit, stream;
} hn_machine_args;

#define HN_THREADS_OPTION(type)                                                                \
    HN_INT(type, machine.threads, "threads", "N", 1, 256, "default: one a processor")

#define HN_MEMORY_OPTION(type)                                                                 \
    HN_TEXT(type, machine.memory, "memory", "SIZE", "at most, as 8G, beside the model's file; default: no bound")

#define HN_ISA_OPTION(type)                                                                    \
    HN_TEXT(type, machine.isa, "isa", "LEVEL", "of those that `devices --levels` prints; default: the best")

#define HN_ENGINE_OPTIONS(type)                                                                \
    HN_TEXT(type, machine.device, "device", "LIST", "of those that `hone devices` shows, layers on them in turn; default: cpu"), \
        HN_FLAG(type, machine.fit, "fit", "as many layers on each of these as its memory has room for, in their order"), \
        HN_FLAG(type, machine.stream, "stream", "weights of layers stay with the host and are sent ahead of their work"), \
        HN_TEXT(type, machine.experts, "experts", "DEVICE", "where experts lie; default: with their layer"), \
        HN_ISA_OPTION(type)

#define HN_DEVICE_OPTIONS(type)                                                                \
    HN_ENGINE_OPTIONS(type), HN_THREADS_OPTION(type), HN_MEMORY_OPTION(type)

#define HN_NUMERICS_OF_RUNS  "f32 (the default); bf16: rounded where Transformers rounds; mixed: as trained so; int8: block formats in whole numbers"
#define HN_NUMERICS_OF_PROOFS "of a model: f32 (the default), mixed; bf16, int8: of its logits"
#define HN_NUMERICS_OF_LOSSES "f32 (the default) or mixed"

#define HN_MACHINE_OPTIONS(type, numerics_help)                                                \
    HN_TEXT(type, machine.numerics, "numerics", "MODE", numerics_help), HN_DEVICE_OPTIONS(type)

#define HN_PROOF_OPTIONS(type)                                                                 \
    HN_TEXT(type, machine.numerics, "numerics", "MODE", HN_NUMERICS_OF_PROOFS),                \
        HN_TEXT(type, machine.device, "device", "LIST", "beside the processors, which always are: devices that are proved too"), \
        HN_INT(type, machine.threads, "threads", "N", 2, 8, "compare 1 to N threads; default: processors + 1, of a model 3"), \
        HN_ISA_OPTION(type), HN_MEMORY_OPTION(type)

/* What is computed by the host's kernels and by nothing else: refuses, by name, whatever of these says otherwise. */
hn_status hn_machine_of_host(const hn_machine_args *args, const char *what);

/* What --memory says, in bytes; 0: no bound. HN_ERR_ARGUMENT of a text that is no size. */
hn_status hn_machine_memory(const hn_machine_args *args, size_t *out);
/* An engine of these, which Ctrl-C and its like cancel while a command watches for them (cli/interrupt.h): one at a
 * time. Its numerics are a model's: hn_machine_numerics. */
hn_status hn_machine_engine(const hn_machine_args *args, hn_engine **out);
void hn_machine_engine_free(hn_engine *engine); /* takes NULL */
hn_status hn_machine_numerics(const hn_machine_args *args, hn_lm_numerics *out);

#endif
