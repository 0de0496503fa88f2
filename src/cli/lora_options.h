/* lora_options.h: the options of every command that runs a model with adapters, and their opening. */
#ifndef HN_CLI_LORA_OPTIONS_H
#define HN_CLI_LORA_OPTIONS_H

#include "cli/command.h"
#include "infer/adapter.h"

typedef struct hn_lora_args {
    hn_list files;
    bool force;
} hn_lora_args;

/* Of a command whose args have a field `lora`. */
#define HN_LORA_OPTIONS(type)                                                                  \
    HN_LIST(type, lora.files, "lora", "FILE[:SCALE]", "an adapter; applied in this order"),    \
        HN_FLAG(type, lora.force, "force", "take adapters of another base, tokenizer or template")

/* Opens and tries them all; `out` may be empty. Close it also after a failure. What --force let
 * pass is told on stderr. */
hn_status hn_lora_open(const hn_lora_args *args, hn_heap *heap, const hn_adapter_use *use,
                       hn_adapters *out);

#endif
